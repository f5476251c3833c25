"""How much of a test with many random cases `make test` does; `make test-long` does the rest."""

from __future__ import annotations

import pytest


def numbers(few: int, many: int) -> pytest.MarkDecorator:
    """The argument ``numbers`` of a test: the first of its cases, and in a `long` test all others."""
    rest = pytest.param(range(few, many), id=f"{few}-to-{many}", marks=pytest.mark.long)
    return pytest.mark.parametrize("numbers", [pytest.param(range(few), id=f"first-{few}"), rest])


def numbers_by_rule(**counts: tuple[int, int]) -> pytest.MarkDecorator:
    """The arguments ``rule`` and ``numbers`` of a test, as :func:`numbers` for each rule of allocations."""
    first = [pytest.param(rule, range(few), id=f"{rule}-first-{few}") for rule, (few, _) in counts.items()]
    rest = [
        pytest.param(rule, range(few, many), id=f"{rule}-{few}-to-{many}", marks=pytest.mark.long)
        for rule, (few, many) in counts.items()
    ]
    return pytest.mark.parametrize(("rule", "numbers"), first + rest)
