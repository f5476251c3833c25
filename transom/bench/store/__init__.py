"""The result store: rows in a folder that survive a crash."""
