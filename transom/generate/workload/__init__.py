"""Workloads: models of them, and like a trace."""
