"""What is tuned for: one to three metrics, of which the first decides among policies that keep to the conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from transom import registry
from transom._system.durations import times
from transom.errors import SpecError
from transom.simulation.output.metrics import Metric, known_metrics
from transom.tune.figures import FIGURES, Figures

_MOST = 3
_PLAIN = 2.0  # from this value on one digit behind the point is enough
_FLOOR = 1e-3  # smaller values count as this one, durations below a second as one


class Objective(NamedTuple):
    """A metric, named as in :data:`FIGURES` or :data:`~transom.simulation.output.metrics.METRICS`."""

    name: str

    @property
    def sign(self) -> int:
        """1 if less is better, -1 if more is."""
        return -1 if metric_of(self.name).better == "higher" else 1

    def change(self, found: Figures, now: Figures) -> float:
        """The logarithm of the figure over today's, less is better; infinite where only today's is known."""
        before, after = now.get(self.name), found.get(self.name)
        if math.isnan(before):
            return 0.0
        if math.isnan(after):
            return math.inf
        least = floor_of(self.name)
        return self.sign * math.log(max(after, least) / max(before, least))

    def value(self, found: Figures | None) -> float:
        """The figure to order policies by, less is better; infinite where there is none."""
        value = math.nan if found is None else self.sign * found.get(self.name)
        return math.inf if math.isnan(value) else value

    @property
    def full(self) -> str:
        """Its name among metrics."""
        return _full(self.name)

    @property
    def words(self) -> str:
        """What it is called in sentences."""
        return "longest wait" if self.full == "max_wait" else self.full.replace("_", " ")

    def text(self, *found: Figures) -> list[str]:
        """Its values as sentences state them."""
        values = [each.get(self.name) for each in found]
        if any(map(math.isnan, values)):
            return ["unknown" if math.isnan(value) else f"{value:,.3g}" for value in values]
        if metric_of(self.name).unit == "s":
            return times(*values)
        return [f"{value:,.1f}" if abs(value) >= _PLAIN else f"{value:.3g}" for value in values]


DEFAULT = (Objective("bounded_slowdown"), Objective("max_wait"))


def _full(name: str) -> str:
    return next((full for full, short in FIGURES.items() if short == name), name)


def metric_of(name: str) -> Metric:
    """What a figure is, by its name.

    Raises
    ------
    SpecError : there is no such metric.
    """
    known = known_metrics()
    if (full := _full(name)) not in known:
        names = {each for each, of in known.items() if of.better} | {*FIGURES.values()}
        raise registry.unknown("metric", name[:60], names)
    return known[full]


def floor_of(name: str) -> float:
    """The value from which on a figure counts: nobody minds half a second, and ratios need one that is not 0."""
    return 1.0 if metric_of(name).unit == "s" else _FLOOR


def parse_objectives(names: Sequence[str]) -> tuple[Objective, ...]:
    """The objectives that texts name.

    Raises
    ------
    SpecError : one is no metric, or one of which neither less nor more is better, two are the same, or they are more
        than three.
    """
    if len(names) > _MOST:
        raise SpecError(f"--objective: one to {_MOST}, got {len(names)}")
    for name in names:
        try:
            better = metric_of(name).better
        except SpecError as error:
            raise SpecError(f"--objective: {error}") from None
        if better is None:
            raise SpecError(f"--objective {name}: neither less nor more of it is better")
    if len({_full(name) for name in names}) < len(names):
        raise SpecError("--objective: name each metric once")
    return tuple(Objective(FIGURES.get(name, name)) for name in names)
