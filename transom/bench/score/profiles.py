r"""Solvers over all instances at once, as lines to draw: performance profiles, ECDFs over targets, curves over time.

Every function takes runs of one comparison (one budget, one number of threads) and looks at the instances that all its
solvers met, so that all lines are over the same ones.

References
----------
Dolan, Moré, Benchmarking optimization software with performance profiles, Mathematical Programming 91 (2002); Hansen,
Auger, Ros, Mersmann, Tušar, Brockhoff, COCO: a platform for comparing continuous optimizers in a black-box setting,
Optimization Methods and Software 36 (2021), section 4 (ECDFs over targets); Zitzler, Thiele, Multiobjective
evolutionary algorithms: a comparative case study and the strength Pareto approach, IEEE Transactions on Evolutionary
Computation 3 (1999) (hypervolume).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from transom.bench.score.score import TARGET_COLUMNS, curve_points, scored, time_to_target, times_to_targets
from transom.errors import ModelError
from transom.models.arrays import FloatArray
from transom.problems import has_fronts

if TYPE_CHECKING:
    import polars as pl

TARGETS = tuple(TARGET_COLUMNS.values())
"""Gaps to the best known value that an ECDF counts."""
FINEST = 1e-3
"""Times are distinguished from here on [s]: below it, clocks and the first call of a process decide."""
_STEPS = 101


@dataclass(frozen=True, eq=False)
class Lines:
    """One line per solver over a common axis.

    Attributes
    ----------
    x : ascending, shape ``(points,)``.
    y : per solver, shape ``(points,)``; for steps the level from the point on.
    instances : how many the lines are over.
    """

    x: FloatArray
    y: dict[str, FloatArray]
    instances: int


def shared(frame: pl.DataFrame, references: pl.DataFrame) -> pl.DataFrame:
    """The scores of runs of one comparison on the instances that all its solvers met.

    Raises
    ------
    ModelError : the runs have several budgets or numbers of threads.
    """
    import polars as pl

    table = scored(frame, references)
    for what in ("budget", "threads"):
        if len(several := table[what].unique(maintain_order=True)) > 1:
            raise ModelError(f"profile: the runs have {what} {several[0]} and {several[1]}; take one")
    met = table.group_by("instance").agg(pl.col("solver").n_unique())
    common = met.filter(pl.col("solver") == table["solver"].n_unique())["instance"]
    return table.filter(pl.col("instance").is_in(common.implode()))


def performance_profile(frame: pl.DataFrame, references: pl.DataFrame, gap: float = 0.0) -> Lines:
    r"""Performance profiles: the share of runs that met a gap in at most x times the time of the fastest solver.

    For instance i and seed k let :math:`t_{iks}` be the time to the gap and :math:`r_{iks} = t_{iks} / \min_s t_{iks}`;
    the line of s is :math:`\rho_s(x) = |\{(i, k): r_{iks} \le x\}| / |\{(i, k)\}|` (eq. 2). Runs that do not meet the
    gap have no ratio; times below 1 ms count as 1 ms. At 1 a line says how often its solver was the fastest, at the
    right end how often it met the gap at all.

    Parameters
    ----------
    frame, references : as of :func:`transom.bench.score.score.scored`.
    gap : to the best known value, from 0 to 1.
    """
    table = shared(frame, references)
    times = table.select("instance", "seed", "solver", time=time_to_target(table, references, gap))
    wide = times.pivot("solver", index=("instance", "seed"), values="time", aggregate_function="min")
    solvers = _solvers(table)
    matrix = np.full((len(wide), len(solvers)), np.inf)
    for k, solver in enumerate(solvers):
        matrix[:, k] = wide[solver].fill_null(np.inf).to_numpy()
    return _profile(matrix, solvers, table["instance"].n_unique())


def target_ecdf(frame: pl.DataFrame, references: pl.DataFrame, gaps: Sequence[float] = TARGETS) -> Lines:
    """The share of all pairs of a run and a target gap that are met by x seconds.

    Parameters
    ----------
    frame, references : as of :func:`transom.bench.score.score.scored`.
    gaps : the targets, each from 0 to 1.
    """
    table = shared(frame, references)
    times = np.stack(times_to_targets(table, references, gaps), axis=1)
    times = np.maximum(times, FINEST)
    x = np.unique(np.append(times[np.isfinite(times)], FINEST))
    y = {}
    for solver in _solvers(table):
        own = np.sort(times[(table["solver"] == solver).to_numpy()].ravel())
        y[solver] = np.searchsorted(own, x, side="right") / max(1, len(own))
    return Lines(x, y, table["instance"].n_unique())


def gap_curves(frame: pl.DataFrame, references: pl.DataFrame) -> Lines:
    """The mean primal gap by x seconds, from 1 ms to the budget.

    There is no band: what some tens of instances leave open about a mean is wider than the differences between lines
    (:mod:`transom.bench.score.limits`).

    Raises
    ------
    ModelError : the budget is none of time, or there are several.
    """
    table = shared(frame, references)
    budget = table["budget_seconds"].max() if len(table) else 1.0
    if not isinstance(budget, float):
        raise ModelError("curves over time need a budget in seconds")
    x = np.geomspace(min(FINEST, budget / 10), budget, _STEPS)
    points = curve_points(table, references)
    run, seconds, gap = (points[name].to_numpy() for name in ("run", "seconds", "primal_gap"))
    begin = np.searchsorted(run, np.arange(len(table) + 1))
    levels = np.array(
        [gap[a + np.searchsorted(seconds[a:b], x, side="right") - 1] for a, b in pairwise(begin)]
    ).reshape(len(table), _STEPS)
    y = {}
    for solver in _solvers(table):
        own = (table["solver"] == solver).to_numpy()
        _, instance = np.unique(table["instance"].to_numpy()[own], return_inverse=True)
        count = np.bincount(instance)
        means = np.zeros((len(count), _STEPS))
        np.add.at(means, instance, levels[own])
        means /= count[:, None]
        y[solver] = means.mean(axis=0)
    return Lines(x, y, table["instance"].n_unique())


def hypervolume_curves(frame: pl.DataFrame, references: pl.DataFrame) -> Lines:
    """The mean share of the best known hypervolume that a solver's front has by x seconds.

    The value of a front is the hypervolume that it dominates, so this is 1 less the primal gap.

    Raises
    ------
    ModelError : as of :func:`gap_curves`, or a run is not of fronts.
    """
    if not all(has_fronts(kind) for kind in frame["problem"].unique()):
        raise ModelError("hypervolume: only selections have fronts")
    gaps = gap_curves(frame, references)
    return Lines(gaps.x, {solver: 1 - line for solver, line in gaps.y.items()}, gaps.instances)


def _profile(times: FloatArray, solvers: Sequence[str], instances: int) -> Lines:
    """Profiles of times, shape ``(runs, solvers)``, infinite where the gap was not met."""
    times = np.maximum(times, FINEST)
    with np.errstate(invalid="ignore"):  # nobody met it: inf / inf
        ratios = times / times.min(axis=1, initial=np.inf, keepdims=True)
    ratios = np.where(np.isfinite(times), ratios, np.inf)
    x = np.unique(np.append(ratios[np.isfinite(ratios)], 1.0))
    y = {
        solver: np.searchsorted(np.sort(ratios[:, k]), x, side="right") / max(1, len(ratios))
        for k, solver in enumerate(solvers)
    }
    return Lines(x, y, instances)


def _solvers(table: pl.DataFrame) -> list[str]:
    return table["solver"].unique(maintain_order=True).to_list()
