"""Fixtures of the bench."""

from tests.bench.faulty import faulty_solvers

__all__ = ["faulty_solvers"]
