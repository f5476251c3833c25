"""Heuristics of the 0-1 knapsack problem."""
