"""Plans, tasks and rows."""
