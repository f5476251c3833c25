"""Heuristics of multi-objective selection."""
