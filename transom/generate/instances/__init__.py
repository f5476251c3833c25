"""Instances of the problems, and recipes of them."""
