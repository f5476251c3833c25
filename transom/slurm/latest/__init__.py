"""The latest starts of jobs: those of Slurm's own plan, and some time."""
