"""Exact search for workflows, and bounds."""
