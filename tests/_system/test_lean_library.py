"""What the compiler writes in place of its own functions: the same arrays, numbers and errors as NumPy and Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom._system.compiling import compiled


@compiled
def arrays(n: int, m: int, x: float, yes: bool) -> Any:
    ones = np.empty((n, m))
    ones[:, :] = 1
    return (
        ones,
        np.empty((0, n), np.int32),
        np.zeros(n),
        np.zeros((n, m), np.int64),
        np.zeros((1, n, m), np.bool_),
        np.full(n, -1),
        np.full((n, m), yes),
        np.full(n, x),
        np.full((2, 3), n),
        np.full(n, n, np.float64),
        np.full(n, yes, np.int8),
        np.arange(n),
        np.arange(-n),
    )


@compiled
def numbers(n: int, m: int, x: float, yes: bool) -> Any:
    return (
        max(n, m), min(n, m), max(n, x), min(x, n), max(n, m, x), min(yes, n), max(0, n), min(x, 2.5),
        max(x, np.nan), max(np.nan, x), min(0.0, -0.0), int(x), int(yes), int(n),
    )  # fmt: skip


@compiled
def as_before(n: int, m: int, x: float, yes: bool) -> Any:
    """Calls that take the compiler's way."""
    return (
        np.zeros(shape=n).sum(), np.empty(n, dtype=np.int64).size, np.arange(1, n).sum(), np.arange(x).sum(),
        max((n, m)), np.full(shape=n, fill_value=m)[0], np.zeros(n, np.complex128).real.sum(),
    )  # fmt: skip


@compiled
def put(whole: Any, part: Any) -> Any:
    whole[1, :] = part
    return whole


GIVEN = [(3, 2, 1.5, True), (5, 1, -2.5, False), (1, 7, 0.0, True)]


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_arrays_are_those_of_numpy(given: Any) -> None:
    for made, wanted in zip(arrays(*given), arrays.py_func(*given), strict=True):
        assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
        assert made.flags.c_contiguous
        assert made.flags.writeable
        assert np.array_equal(made, wanted)


@pytest.mark.parametrize("given", GIVEN, ids=str)
@pytest.mark.parametrize("function", [numbers, as_before], ids=lambda each: each.__name__)
def test_numbers_are_those_of_python(function: Any, given: Any) -> None:
    assert str([*map(float, function(*given))]) == str([*map(float, function.py_func(*given))])  # -0.0 and nan as well


@pytest.mark.parametrize(("size", "said"), [(-1, "negative dimensions"), (2**62, "array is too big")])
def test_sizes_that_cannot_be_are_errors(size: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        arrays(size, 1, 0.0, True)


def test_an_array_of_another_shape_is_an_error() -> None:
    assert put(np.zeros((2, 3)), np.arange(3.0)).tolist() == [[0, 0, 0], [0, 1, 2]]
    assert put(np.zeros((2, 3)), np.ones(1)).tolist() == [[0, 0, 0], [1, 1, 1]]
    with pytest.raises(ValueError, match="cannot assign slice"):
        put(np.zeros((2, 4)), np.arange(3.0))


# The names of all functions that the compiler compiles.
COMPILED = """
from numba.core.dispatcher import _FunctionCompiler
from tests._system import test_lean_library as functions

compile_core, given = _FunctionCompiler._compile_core, functions.GIVEN[0]

def noted(compiler, *types):
    print(compiler.py_func.__qualname__)
    return compile_core(compiler, *types)

_FunctionCompiler._compile_core = noted
functions.arrays(*given), functions.numbers(*given), functions.put(functions.np.zeros((2, 1)), functions.np.zeros(1))
"""


def test_the_compilers_own_functions_stay_away(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        cwd=Path(__file__).parents[2],
        env={"XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    others = set(done.stdout.split()) - {"arrays", "numbers", "put"}
    assert others == {"_ol_array_allocate.<locals>.impl"}, "memory alone"
