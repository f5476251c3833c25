"""Experiments of papers/dras: the test protocol with its conditions, and figures 4 to 9."""
