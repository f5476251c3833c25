"""Cubes that are the same on every processor."""

from __future__ import annotations

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import FloatArray


@inlined
def cube(x: float) -> float:
    """:math:`x^3`, as good as correctly rounded, by products without error (Dekker, 1971).

    The last bit of a library's power differs between processors, and real traces hold jobs whose scores tie but for it.
    """
    high = 134_217_729.0 * x - (134_217_729.0 * x - x)  # the upper half of the digits: 2^27 + 1
    low = x - high
    square = x * x
    square_rest = ((high * high - square) + 2.0 * high * low) + low * low
    upper = 134_217_729.0 * square - (134_217_729.0 * square - square)
    lower = square - upper
    cube = square * x
    cube_rest = ((upper * high - cube) + upper * low + lower * high) + lower * low
    return cube + (cube_rest + square_rest * x)


@no_refcount
def cube_each(x: FloatArray) -> None:
    """Replace numbers by their cubes."""
    for i in range(len(x)):
        x[i] = cube(x[i])
