"""A running Slurm: what waits and runs there as windows, and what a policy would do with them."""
