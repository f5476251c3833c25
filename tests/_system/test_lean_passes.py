"""Functions that count no references are optimised once, others as the compiler does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba.core.codegen import CPUCodegen

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import IntArray


@no_refcount
def summed(values: IntArray) -> int:
    total = 0
    for place in range(len(values)):
        total += values[place]
    return total


@compiled
def running(values: IntArray) -> IntArray:
    sums = np.empty(len(values), np.int64)
    for place in range(len(values)):
        other = values[: place + 1].copy()
        sums[place] = other.sum()
    return sums


def test_functions_alone_where_they_count(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ask = [], CPUCodegen._function_pass_manager
    summed(np.arange(2))  # the compiler is as we leave it, and has all of its own

    def noted(codegen: Any, **options: Any) -> Any:
        asked.append(codegen)
        return ask(codegen, **options)

    monkeypatch.setattr(CPUCodegen, "_function_pass_manager", noted)
    from numba import int64, types

    numbers = types.Array(int64, 1, "C")
    for kernel, some in ((summed, False), (running, True)):
        del asked[:]
        kernel._compiler()._cache.flush()
        kernel._compiler().overloads.clear()
        kernel._compiler().compile((numbers,))
        assert bool(asked) == some


def test_answers() -> None:
    assert summed(np.arange(5)) == 10
    assert running(np.arange(5)).tolist() == [0, 1, 3, 6, 10]
