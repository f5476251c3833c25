"""The locked environment: jobs are picked one by one, and a picked one is locked until it starts."""
