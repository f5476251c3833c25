"""Further resources for the jobs of a workload."""
