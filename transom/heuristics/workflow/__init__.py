"""Heuristics of workflows: list scheduling by rules, HEFT, and local search over priority lists."""
