"""The state of a replay, its events, and what comes of it."""
