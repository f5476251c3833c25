"""Execution of runs in isolated processes, on this machine or on a cluster."""
