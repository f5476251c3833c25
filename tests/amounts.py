"""How much of a test with many random cases `make test` does; `make test-long` does the rest."""

from __future__ import annotations

import pytest


def numbers(few: int, many: int) -> pytest.MarkDecorator:
    """The argument ``numbers`` of a test: the first of its cases, and in a `long` test all others."""
    rest = pytest.param(range(few, many), id=f"{few}-to-{many}", marks=pytest.mark.long)
    return pytest.mark.parametrize("numbers", [pytest.param(range(few), id=f"first-{few}"), rest])
