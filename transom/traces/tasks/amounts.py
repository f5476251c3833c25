"""Amounts of a resource as integers, so that sums over instances are exact."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm

FINEST = 2**61
"""The most units that 1 of a resource is counted in; memory shares in double precision need them all."""

_DECIMAL = 10**9  # units up to which decimals count as meant
_ROOM = 2**62  # what an amount must stay below


def units(stated: Iterable[Fraction], largest: Fraction) -> int | None:
    """In how many units to count 1 of a resource so that all amounts are whole; None where no number is enough.

    Decimals of up to nine places are meant as such (CPU: 20 units of 0.05 cores). Longer ones come from programs that
    computed in double precision, and are taken as the doubles that they print (memory: up to 2**61 units).

    Parameters
    ----------
    stated : all amounts as decimals.
    largest : the largest amount, that of a machine.
    """
    amounts = set(stated)
    scale = 1
    for amount in amounts:
        scale = lcm(scale, amount.denominator)
        if scale > _DECIMAL:
            break
    if scale <= _DECIMAL and scale * largest < _ROOM:
        return scale
    scale = max(Fraction(float(amount)).denominator for amount in amounts)
    return scale if scale <= FINEST and scale * largest < _ROOM else None


def counted(amount: Fraction, scale: int) -> int:
    """An amount in units (:func:`units`)."""
    exact = amount * scale
    return exact.numerator if exact.denominator == 1 else int(Fraction(float(amount)) * scale)
