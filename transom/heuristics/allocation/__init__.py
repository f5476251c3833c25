"""Heuristics of contiguous allocation."""
