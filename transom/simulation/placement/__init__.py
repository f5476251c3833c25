"""Replay of tasks on machines: instances of waiting tasks are placed, and each machine has several capacities."""
