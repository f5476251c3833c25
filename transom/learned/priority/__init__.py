"""Learned priorities of tasks: a scorer that orders tasks and chooses machines, and rollouts on top of it."""
