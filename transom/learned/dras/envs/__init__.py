"""Scheduling as environments of Gymnasium."""
