"""Workloads from models, or like a trace."""
