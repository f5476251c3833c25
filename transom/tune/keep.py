"""What a tuned policy has to keep to, relative to today's: ``max_wait <= 1.5``, ``wait[size 1 node] <= 1``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from transom import registry
from transom._system.wording import real_number
from transom.errors import SpecError
from transom.traces.workload import Workload
from transom.tune.figures import FIGURES, Figures, job_masks
from transom.tune.objectives import Objective, floor_of, metric_of

_KEEP = re.compile(r"\s*([a-z_0-9]+)\s*(?:\[([^]]+)\])?\s*<=\s*(\S+)\s*")


class Keep(NamedTuple):
    """A figure of which less is better, and which may be at most so many times today's, on the same jobs."""

    figure: str
    most: float

    def ratio(self, found: Figures, today: Figures) -> float:
        """The figure over today's; a duration of today's below a second counts as one. 0 where today's has none."""
        before, after = today.get(self.figure), found.get(self.figure)
        if math.isnan(before):
            return 0.0
        least = max(floor_of(self.figure.partition("[")[0]), before)
        return math.inf if math.isnan(after) else after / least

    def excess(self, found: Figures, today: Figures, whole: Figures) -> float:
        """By how much the condition is exceeded on a part, relative to it, 0 if it is kept.

        Parameters
        ----------
        found, today : figures on the part.
        whole : today's figures on the whole tuning part; a part where jobs wait less is no reason to exclude a policy.
        """
        return max(0.0, min(self.ratio(found, today), self.ratio(found, whole)) / self.most - 1)

    def __str__(self) -> str:
        return f"{self.figure} <= {self.most:g}"


def parse_keep(text: str) -> Keep:
    """The condition that a text states.

    Raises
    ------
    SpecError : it states none.
    """
    found = _KEEP.fullmatch(text)
    try:
        most = real_number(found[3]) if found else 0.0
    except ValueError:
        most = 0.0
    if found is None or not 0 < most < math.inf:
        raise SpecError(
            f"--keep: expected FIGURE <= FACTOR, or FIGURE[GROUP] <= FACTOR, with one of "
            f"{', '.join(FIGURES.values())} or another metric, got {text[:60]!r}"
        )
    name, group = found[1], (found[2] or "").strip()
    try:
        better = metric_of(name).better
    except SpecError as error:
        raise SpecError(f"--keep: {error}") from None
    if better != "lower":
        raise SpecError(f"--keep: {name} is no figure of which less is better")
    if group:  # the figures of groups have the names of metrics
        return Keep(f"{Objective(name).full}[{group}]", most)
    return Keep(FIGURES.get(name, name), most)


def parse_conditions(texts: Sequence[str], tuning: Workload) -> list[Keep]:
    """Conditions as the command line states them, with groups of jobs named as ``KIND LABEL``.

    Parameters
    ----------
    texts : such as ``max_wait <= 1.5`` and ``max_wait[33-64 nodes] <= 1``. A group is named as in sentences and tables
        of ``simulate``; its kind (partition, size, group, use) stands before it where two kinds have such a group.
    tuning : the part whose groups they are.

    Raises
    ------
    SpecError : one is malformed, names no group that has jobs, or two are of one figure.
    """
    found = [parse_keep(text) for text in texts]
    groups = [name for name, mask in job_masks(tuning).items() if mask.any()] if any(map(_group, found)) else []
    located = [each._replace(figure=_located(each.figure, groups)) for each in found]
    if len({each.figure for each in located}) < len(located):
        raise SpecError("--keep: one condition for each figure")
    return located


def _group(keep: Keep) -> str:
    return keep.figure.rstrip("]").partition("[")[2]


def _located(figure: str, groups: Sequence[str]) -> str:
    metric, _, asked = figure.rstrip("]").partition("[")
    if not asked or asked in groups:
        return figure
    named = [each for each in groups if each.partition(" ")[2] in (asked, f"{asked} nodes", f"{asked} node")]
    if len(named) > 1:
        raise SpecError(f"--keep: {asked!r} may be {' or '.join(named)}")
    if not named:
        raise SpecError(f"--keep: {registry.unknown('group of jobs', asked[:60], groups)}")
    return f"{metric}[{named[0]}]"
