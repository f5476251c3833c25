"""Learned repair of allocations: the neural simulated annealing of papers/nsa, section V."""
