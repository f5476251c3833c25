"""Passes over the queue, compiled: plain, EASY, conservative."""
