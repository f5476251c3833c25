"""Recorded decisions, and the ways of updating an agent by them."""
