"""Which nodes jobs get, and what that costs."""
