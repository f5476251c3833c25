"""Runs in processes of their own, on this machine or on many."""
