"""Policies, and how they are found by name."""
