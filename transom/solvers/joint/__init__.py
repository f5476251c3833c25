"""Exact search for the joint choice of jobs and nodes, and a bound of it."""
