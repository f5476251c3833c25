"""The compiler writes a third of the instructions for functions of records; what they return stays the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from transom._system.compiling import compiled, no_refcount


class Inner(NamedTuple):
    """A record within a record."""

    at: Any
    level: float


class Outer(NamedTuple):
    """Arrays, a number, a record."""

    first: Any
    second: Any
    number: int
    inner: Inner


def given() -> Outer:
    return Outer(np.arange(10), np.arange(10, 20), 3, Inner(np.linspace(0, 1, 6).reshape(2, 3), 0.5))


@compiled
def same(r: Outer) -> Any:
    return r


@compiled
def first_of(r: Outer) -> Any:
    return r.first


@compiled
def parts(r: Outer) -> Any:
    return r.inner, r.second, r.first[1:]


@compiled
def chosen(r: Outer) -> Any:
    taken = r.first
    if r.number > 2:
        taken = r.second
    other = taken
    for step in range(4):
        taken = other
        other = r.first if step == 1 else r.second
    return taken, other


@compiled
def early(r: Outer) -> Any:
    if r.number > 0:
        found = r.first
        if r.number > 1:
            return found
    return r.second


@compiled
def put_together(r: Outer) -> Any:
    made = np.empty(r.number + 2, np.int64)
    for place in range(len(made)):
        once = np.full(3, place, np.int64)
        made[place] = once.sum() + r.first[place]
        if place == 3:
            made = made.copy()
    return Outer(made, r.second, len(made), Inner(r.inner.at.T.copy(), r.inner.level + 1))


@compiled
def changed(r: Outer) -> Any:
    kept, r = r, Outer(r.second, r.first, r.number + 1, r.inner)
    r.first[0] = kept.first[0] - 1
    r.inner.at[1, 2] = 7
    return r.first, kept.first, r.inner.at


@no_refcount
def _sum(r: Outer, begin: int) -> float:
    total, place = 0.0, begin
    while place < len(r.first):
        if place % 2:
            total += r.first[place]
        else:
            total -= r.second[place]
            if total < -100:
                break
        last = total
        place += 1
    return total + last + r.inner.level


@compiled
def called(r: Outer) -> Any:
    total = 0.0
    for begin in range(r.number):
        total += _sum(r, begin) + _sum(Outer(r.second, r.first, 0, Inner(r.inner.at, 2.0)), begin)
    return total


@compiled
def views(r: Outer) -> Any:
    table, total = r.first.reshape(2, 5), 0
    for row in table:
        for number in row[::2]:
            total += number * row.size
    across = r.inner.at.T
    for number in r.inner.at.flat:
        total += number
    return table.shape, table.strides, across, across.shape, r.first[::-3], r.inner.at[:, 1], r.first[-2], total


FUNCTIONS: list[Callable[[Outer], Any]] = [
    same, first_of, parts, chosen, early, put_together, changed, called, views
]  # fmt: skip


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(np.array_equal(one, other))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_answers_are_those_of_plain_python(function: Any) -> None:
    assert equal(function(given()), function.py_func(given()))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_arrays_are_let_go(function: Any) -> None:
    record = given()
    arrays = [record.first, record.second, record.inner.at]
    function(record)
    before = [sys.getrefcount(each) for each in arrays]
    for _ in range(100):
        function(record)
    assert [sys.getrefcount(each) for each in arrays] == before


def test_memory_of_arrays_made_within_is_let_go() -> None:
    import psutil

    record, process = given(), psutil.Process()
    large = record._replace(number=1_000_000, first=np.zeros(1_000_002, np.int64))
    put_together(large)
    before = process.memory_info().rss
    for _ in range(20):
        put_together(large._replace(number=1_000_000))
    assert process.memory_info().rss - before < 40e6  # an array takes 8e6


def in_parallel(values: Any, first: Any, level: float) -> Any:
    total, made = 0.0, np.zeros(len(values))
    scale = level + 1
    for place in numba.prange(len(values)):
        made[place] = values[place] * scale + first[0]
        total += made[place]
    return total, made


def generated(record: Outer) -> Any:
    scale = record.inner.level
    for place in range(record.number):
        yield record.first[place] * scale, record.second


def test_functions_of_others_compile_as_well() -> None:
    called(given())  # the compiler is as we leave it
    values, others = np.arange(50.0), np.arange(3, 6)
    parallel = numba.njit(parallel=True)(in_parallel)
    assert equal(parallel(values, others, 0.5), in_parallel(values, others, 0.5))
    assert equal(tuple(numba.njit(generated)(given())), tuple(generated(given())))


# How many instructions the compiler writes, as it is or as we leave it.
WRITING = """
import json, sys
from numba.core.codegen import CPUCodeLibrary
from transom._system import lean_lowering

if sys.argv[1] == "less":
    lean_lowering.write_less()
lean_lowering.write_less = lambda: None
parse, written = CPUCodeLibrary.add_llvm_module, []

def noted(library, module):
    written.extend(str(each).split()[2] for function in module.functions for block in function.blocks
                   for each in block.instructions if " = " in str(each))
    parse(library, module)

CPUCodeLibrary.add_llvm_module = noted
from tests._system.test_lean_lowering import called, given
called(given())
print(json.dumps(written))
"""


def test_it_writes_less_than_half(tmp_path: Path) -> None:
    def written(how: str) -> list[str]:
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / how)}
        command = [sys.executable, "-c", WRITING, how]
        return json.loads(subprocess.run(command, capture_output=True, env=environment, check=True).stdout)

    whole, less = written("whole"), written("less")
    assert len(less) < 0.5 * len(whole)
    assert less.count("extractvalue") < 0.2 * whole.count("extractvalue")
