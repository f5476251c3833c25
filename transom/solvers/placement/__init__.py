"""Exact search for placements."""
