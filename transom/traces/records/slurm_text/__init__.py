"""What Slurm prints and is configured with: read here for imports, calibration and a running Slurm alike."""
