"""Evaluation of rows: gaps, statistics, comparisons."""
