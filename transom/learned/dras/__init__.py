"""Agents that schedule by selecting job after job: Fan et al. (2021)."""
