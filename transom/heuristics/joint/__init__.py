"""Heuristics of the joint choice of jobs and nodes: one pass, and local search."""
