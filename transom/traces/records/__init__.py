"""The records of resource managers (Slurm, PBS, LSF) and traces of others, made into one kind of trace."""
