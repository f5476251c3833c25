"""Learned repair of allocations: the neural simulated annealing of Lan et al. (2023), section V."""
