"""Heuristics of placements: rules of one line, and local search."""
