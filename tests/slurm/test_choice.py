"""Slurm's own choice of nodes on topology/tree is never cheaper than ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.slurm_choice import run_cases
from tests.slurm.cluster import EmulatedSlurm


@pytest.mark.parametrize("jobs", [6, pytest.param(50, marks=pytest.mark.long)])
def test_slurms_choice_is_never_cheaper(emulated_slurm: Callable[..., EmulatedSlurm], jobs: int) -> None:
    cases = run_cases(emulated_slurm(nodes=32, leaf=8), jobs, 2)
    assert sum(each.limited for each in cases) == jobs // 2
    assert all(each.slurms >= each.ours for each in cases)
