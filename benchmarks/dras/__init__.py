"""Experiments of Fan et al. (2021): the test protocol with its conditions, and figures 4 to 9."""
