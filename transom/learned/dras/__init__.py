"""Agents that schedule by selecting job after job: papers/dras."""
