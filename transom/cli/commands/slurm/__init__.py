"""Commands about a running Slurm."""
