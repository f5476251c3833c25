"""What Slurm prints and is configured with, read in one place: for imports, calibration and a running Slurm alike."""
