"""Recorded replays as one self-contained HTML page to explore."""
