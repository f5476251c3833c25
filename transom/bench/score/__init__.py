"""What rows say: gaps, statistics, comparisons."""
