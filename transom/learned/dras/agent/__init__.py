"""Agents from checkpoints, as policies of the simulator, and their cards."""
