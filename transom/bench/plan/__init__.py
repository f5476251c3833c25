"""What is to be run: plans, tasks, rows."""
