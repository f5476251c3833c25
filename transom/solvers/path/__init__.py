"""Resource-constrained shortest paths."""
