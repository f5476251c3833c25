"""What choosing is worth: ``auto`` against the best single solver and the best solver for each instance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from transom.bench.score import references, scored
from transom.models._arrays import FloatArray
from transom.models.allocation import RULES

if TYPE_CHECKING:
    import polars as pl

_SAME = 1e-7
"""Gaps that differ by no more are the same [%]."""


@dataclass(frozen=True)
class Score:
    """Mean primal gaps over the instances of one problem under one budget [%].

    Parameters
    ----------
    problem : its kind; ``tjap`` for allocations under all rules together.
    seconds : the budget [s].
    instances : those that count: not all solvers came to the same value.
    ties : instances on which all did, which are left out.
    auto, virtual : of ``auto``, and of the best solver for each instance.
    single, name : of the solver that is best over these instances, with hindsight, and which it is.
    part : whether these are the allocations under one rule, which stand in ``tjap`` as well.
    """

    problem: str
    seconds: float
    instances: int
    ties: int
    auto: float
    virtual: float
    single: float
    name: str
    part: bool = False

    @property
    def behind(self) -> float:
        """Points that ``auto`` loses against the best solver for each instance; negative where it wins."""
        return self.auto - self.virtual

    @property
    def closed(self) -> float:
        """Share of the way from the best single solver to the best for each instance, nan where these are equal."""
        way = self.single - self.virtual
        return (self.single - self.auto) / way if way > _SAME else float("nan")

    def holds(self, points: float) -> bool:
        """Whether at most so many points are lost and the best single solver is beaten.

        Where that one is the best on every instance, there is nothing to be won by choosing: only the points count.
        """
        return self.behind <= points and (self.auto < self.single or self.single - self.virtual <= _SAME)


def scores(frame: pl.DataFrame, chooser: str = "auto") -> list[Score]:
    """Score the runs of ``auto`` for each problem and budget; allocations for each rule and together.

    A solver that does not take an instance has no value there: that counts as well where it takes one rule alone.
    An instance counts with the mean of its seeds; a run without a value counts 100 %. Gaps are those of
    :func:`transom.bench.score.scored`: what came when the budget was over does not count. The reference is the best
    value of any run of the instance under any budget.

    Parameters
    ----------
    frame : results with the columns of :func:`transom.bench.frame.schema`: of ``auto`` and of single solvers.
    chooser : name of the solver that chooses.
    """
    import polars as pl

    table = scored(frame.filter(pl.col("budget_seconds").is_not_null()), references(frame))
    # An instance that no run solved tells nothing about choosing.
    table = table.filter(pl.col("reference").is_not_null())
    keys = ("problem", "budget_seconds", "instance", "spec")
    mean = table.group_by(keys, maintain_order=True).agg(gap=100 * pl.col("primal_gap").mean())
    gaps = mean.partition_by("problem", maintain_order=True)
    rules = [each for each in gaps if each["problem"].first() in RULES]
    if several := len(rules) > 1:
        gaps.append(pl.concat(rules).with_columns(problem=pl.lit("tjap")))
    found = []
    for each in gaps:
        for (problem, seconds), wide in each.group_by("problem", "budget_seconds"):
            table = wide.pivot("spec", index="instance", values="gap").drop("instance")
            score = _scored(str(problem), _number(seconds), table, chooser)
            found += [replace(score, part=several and problem in RULES)] if score is not None else []
    return sorted(found, key=lambda score: (score.problem, score.seconds))


def _scored(problem: str, seconds: float, gaps: pl.DataFrame, chooser: str) -> Score | None:
    mine = [name for name in gaps.columns if name.partition(":")[0] == chooser]
    names = [name for name in gaps.columns if name not in mine]
    if len(mine) != 1 or not names:
        return None
    ours: FloatArray = gaps[mine[0]].fill_null(100.0).to_numpy()
    theirs: FloatArray = gaps.select(names).fill_null(100.0).to_numpy()  # not run: the solver does not take it
    every = np.column_stack((ours, theirs))
    counts = np.ptp(every, axis=1) > _SAME
    if not counts.any():
        return Score(problem, seconds, 0, len(ours), 0.0, 0.0, 0.0, names[0])
    single = theirs[counts].mean(axis=0)
    return Score(
        problem=problem,
        seconds=seconds,
        instances=int(counts.sum()),
        ties=int((~counts).sum()),
        auto=float(ours[counts].mean()),
        virtual=float(theirs[counts].min(axis=1).mean()),
        single=float(single.min()),
        name=names[int(single.argmin())],
    )


def _number(value: Any) -> float:
    return float(value)
