"""Exact solvers of multi-objective selection."""
