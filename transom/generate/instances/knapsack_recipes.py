"""Recipes of knapsacks: Pisinger's classes, hard ones, and windows of a workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

from transom import registry
from transom._system.settings import Positive, setting
from transom._system.wording import digits
from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack, hard_knapsack
from transom.generate.instances.windows import window_knapsacks
from transom.generate.workload.workload_recipe import WorkloadRecipe
from transom.models import Knapsack
from transom.registry import unknown
from transom.rng import stream

_ITEMS, _HARD_ITEMS = 100, 10_000


class ClassKnapsacks(InstanceGenerator, frozen=True, kw_only=True):
    """Knapsacks of Pisinger's classes; several classes take turns.

    Parameters
    ----------
    klass : ``class``: a name of :data:`~transom.generate.CLASSES`, several, or ``all``.
    length : without ratio and series, number i of a class has the capacity of number i in a series of so many, which
        begins anew when it is over; 9 by default.
    capacity : and weights of about twice as much; see :func:`~transom.generate.hard_knapsack`.
    """

    klass: str | tuple[str, ...] = msgspec.field(default="all", name="class")
    items: Annotated[Positive | None, setting("Number of items. By default 100, with --capacity 10000.")] = None
    range: Annotated[int | None, setting("The range R of the coefficients. By default 1000.")] = None
    ratio: Annotated[float | None, setting("Capacity as a share of the total weight.")] = None
    series: Annotated[str | None, setting("h/H: a capacity of h/(H+1) of the total weight.")] = None
    length: Positive | None = None
    capacity: Annotated[int | None, setting("Hard ones with this capacity, such as 100000000.")] = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in their order."""
        if self.klass == "all":
            return tuple(CLASSES)
        return (self.klass,) if isinstance(self.klass, str) else self.klass

    def check(self) -> None:
        for name in self.classes:
            if name not in CLASSES:
                raise unknown("knapsack class", name, (*CLASSES, "all", "windows"))
        if not self.classes:
            raise SpecError("knapsack: there is no class")
        if sum(each is not None for each in (self.ratio, self.series, self.length, self.capacity)) > 1:
            raise SpecError("knapsack: of ratio, series, length and capacity only one can be stated")
        if self.capacity is not None and self.range is not None:
            raise SpecError("knapsack: range does not go with capacity, from which it follows")
        for number in range(1, len(self.classes) + 1):
            next(self.block(0, number))

    def block(self, seed: int, number: int) -> Iterator[Knapsack]:
        turn, at = divmod(number - 1, len(self.classes))
        name = self.classes[at]
        # A stream of its own for each, so that the first of many are those of few.
        rng = stream(seed, "knapsack", name, turn + 1)
        if self.capacity is not None:
            yield hard_knapsack(name, rng, self.items or _HARD_ITEMS, self.capacity)
            return
        length = self.length or 9
        series = (turn % length + 1, length) if self.series is None else _series(self.series)
        scale = 1000 if self.range is None else self.range
        yield generate_knapsack(name, self.items or _ITEMS, scale, rng, self.ratio, series)


class WindowKnapsacks(InstanceGenerator, frozen=True, kw_only=True):
    """Knapsacks of consecutive jobs of a workload; an epoch is one workload.

    Parameters
    ----------
    klass : ``class``: ``windows``.
    objective : value of a job.
    windows : knapsacks of one workload.
    workload : a table with the parameters of a workload.
    """

    klass: str = msgspec.field(default="windows", name="class")
    items: Annotated[Positive, setting("Number of items.")] = 50
    objective: str = "nodes"
    windows: Positive = 100
    workload: WorkloadRecipe = WorkloadRecipe()

    @property
    def sequential(self) -> bool:
        return True

    def check(self) -> None:
        self.workload.check()
        registry.make(registry.OBJECTIVES, self.objective)

    def block(self, seed: int, number: int) -> Iterator[Knapsack]:
        rng = stream(seed, "windows") if number == 1 else stream(seed, "windows", number)
        return window_knapsacks(self.workload.workload(seed, number), self.windows, self.items, rng, self.objective)


def _series(text: str) -> tuple[int, int]:
    number, slash, length = text.partition("/")
    if not slash or not digits(number) or not digits(length):
        raise SpecError(f"series: expected h/H such as 50/100, got {text!r}")
    return int(number), int(length)


def recipe_for(given: Mapping[str, Any]) -> type[InstanceGenerator]:
    """The recipe class for these parameters."""
    return WindowKnapsacks if given.get("class") == "windows" else ClassKnapsacks
