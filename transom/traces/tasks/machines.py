"""Machines that tasks are placed on, as the command line states them: ``count=5,cpu=64,memory=1``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from transom import registry
from transom._system.wording import whole_number
from transom.errors import SpecError

MOST = 100_000
"""Machines of a cluster, at most."""


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines of a cluster with what each has of each resource, exactly as stated.

    Parameters
    ----------
    resources : names of the resources, the same for all machines.
    capacities : one tuple a machine, an amount > 0 of each resource.
    """

    resources: tuple[str, ...]
    capacities: tuple[tuple[Fraction, ...], ...]

    def __len__(self) -> int:
        return len(self.capacities)


def parse_machines(specs: Sequence[str]) -> Machines:
    """Machines out of specifications, one for each kind: ``count=5,cpu=64,memory=1``; ``count`` is 1 by default.

    Raises
    ------
    SpecError : a specification is malformed, an amount is not positive, kinds state different resources, or there are
        no machines or too many.
    """
    resources: tuple[str, ...] = ()
    capacities: list[tuple[Fraction, ...]] = []
    for text in specs:
        settings = registry.parse(f"machines:{text}")[1]
        try:
            count = whole_number(settings.pop("count", "1"))
        except ValueError:
            count = 0
        if not 0 < count <= MOST:
            raise SpecError(f"machines {text!r}: count must be a whole number from 1 to {MOST}")
        stated = {name: _amount(value, f"machines {text!r}: {name}") for name, value in settings.items()}
        if not stated:
            raise SpecError(f"machines {text!r}: states no resource, such as cpu=64")
        if resources and set(stated) != set(resources):
            raise SpecError(
                f"machines {text!r}: all kinds state the same resources, another one {', '.join(resources)}"
            )
        resources = resources or tuple(stated)
        capacities += [tuple(stated[name] for name in resources)] * count
    if not 0 < len(capacities) <= MOST:
        raise SpecError(f"machines: expected 1 to {MOST}, got {len(capacities)}")
    return Machines(resources, tuple(capacities))


def _amount(text: str, where: str) -> Fraction:
    try:
        amount = Fraction(text)
    except (ValueError, ZeroDivisionError):
        amount = Fraction(0)
    if not 0 < amount < 2**40:
        raise SpecError(f"{where} must be a number > 0 and < 2**40, got {text!r}")
    return amount
