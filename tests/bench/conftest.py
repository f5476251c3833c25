"""Fixtures of the bench."""

from tests.bench.faulty import ends_spinning, faulty_solvers

__all__ = ["ends_spinning", "faulty_solvers"]
