"""Whole trainings: job sets, snapshots, validation, what is on disk."""
