"""Summary statistics per solver over the instances of a comparison."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from transom.bench.plan.task import FAILED
from transom.bench.score.limits import Limits, mean_limits, median_limits, share_limits
from transom.bench.score.statistics import shifted_geometric_mean

if TYPE_CHECKING:
    import polars as pl

By = Literal["problem", "set"]

SHIFT_GAP = 0.01
"""Shift of geometric means of gaps: one point."""
SHIFT_TIME = 0.1
"""Shift of geometric means of times, as a share of the budget; 1 s where the budget is none of time."""

_MEANS = ("solved", "proved", "proved_gap", "proved_integral", "time", "within_1")
_AVERAGED = (*_MEANS, "primal_gap", "primal_integral", "to_1")


def per_instance(table: pl.DataFrame, by: By = "problem") -> pl.DataFrame:
    """Scores of :func:`transom.bench.score.score.scored`, averaged over the seeds of each solver on each instance.

    Returns
    -------
    One row per ``by``, ``budget``, ``threads``, ``solver`` and ``instance``: ``runs``, the means of the scores (of
    ``solved``, ``proved`` and ``within_1``, a gap of at most 1 %, the shares; ``to_1`` is the budget where it was not
    met, null without one), and ``budget_seconds``.
    """
    import polars as pl

    reached = pl.col("to_1").is_finite()
    # Who did not reach it took all there was; without a budget of time there is no saying how much that is.
    seconds = pl.when(pl.col("budget_seconds").is_not_null()).then(pl.min_horizontal("to_1", "budget_seconds"))
    table = table.with_columns(within_1=reached, to_1=seconds)
    return table.group_by(by, "budget", "threads", "solver", "instance", maintain_order=True).agg(
        pl.len().alias("runs"), pl.col("budget_seconds").first(), pl.col(_AVERAGED).mean()
    )


def figures(
    table: pl.DataFrame, measure: str, by: By = "problem"
) -> list[tuple[dict[str, Any], dict[str, dict[str, float]]]]:
    """One measure of every solver on every instance, for tests between solvers.

    Parameters
    ----------
    table : of :func:`transom.bench.score.score.scored`.
    measure : ``primal_gap`` or ``primal_integral``.
    by : what to keep apart.

    Returns
    -------
    For each comparison (``by``, ``budget``, ``threads``, in words) per solver its figure on each instance; comparisons
    that lack the measure, such as the integral under a budget of iterations, are left out.
    """
    found: dict[tuple[Any, ...], dict[str, dict[str, float]]] = {}
    keys = (by, "budget", "threads")
    order = (by, "budget_seconds", "budget", "threads")
    rows = per_instance(table, by).drop_nulls(measure).sort(order, nulls_last=True, maintain_order=True)
    for *key, solver, instance, figure in rows.select(*keys, "solver", "instance", measure).iter_rows():
        found.setdefault(tuple(key), {}).setdefault(solver, {})[instance] = figure
    return [(dict(zip(keys, key, strict=True)), each) for key, each in found.items()]


def summaries(table: pl.DataFrame, by: By = "problem") -> pl.DataFrame:
    """Scores summed up, one line per solver in each comparison.

    A comparison is all that has one ``by`` (a problem, or a set of the plan), budget and number of threads.

    Parameters
    ----------
    table : of :func:`transom.bench.score.score.scored`.
    by : what to keep apart.

    Returns
    -------
    In the order of the comparisons, the best mean gap first: ``by``, ``budget``, ``threads``, ``solver``, ``runs``,
    ``instances``; counts of runs ``failed`` (of whatever kind), ``refused``, ``wrong`` (wrong answers and
    contradicted bounds); ``solved`` and ``proved`` (shares); ``behind``, on how many instances there is a gap, and
    ``behind_share``; ``gap``, ``integral`` (means), ``gap_median``, ``integral_median``, ``gap_shifted``,
    ``integral_shifted``, ``time_shifted`` (shifted geometric means),
    ``proved_gap``, ``proved_integral`` (means, null for solvers without bounds), the mean ``time``; ``within_1``, the
    share of runs that met a gap of 1 %, and ``to_1_shifted``, their time, the budget for the others;
    ``overshoot_p99`` and ``overshoot_max`` of all runs [s]; 95 % limits over instances
    (:mod:`transom.bench.score.limits`) of ``behind_share``, ``gap``, ``integral``, their medians and ``time_shifted``
    as ``..._low`` and ``..._high``, null where the instances are too few; ``complete``, whether the solver met every
    instance of the comparison; ``best``, whether none of those that did has a smaller mean gap; ``eligible``,
    whether it did so without a failed or refused run and found something at all; ``leads``, whether no eligible solver
    has a smaller mean gap.
    """
    import polars as pl

    keys = [by, "budget", "threads"]
    counts = table.group_by(*keys, "solver", maintain_order=True).agg(
        failed=pl.col("outcome").is_in(FAILED).sum(),
        refused=(pl.col("outcome") == "refused").sum(),
        wrong=((pl.col("outcome") == "wrong") | pl.col("disproved")).sum(),
        overshoot_p99=pl.col("overshoot").quantile(0.99, "nearest"),
        overshoot_max=pl.col("overshoot").max(),
    )
    averaged = per_instance(table, by)
    lines = [
        {**dict(zip([*keys, "solver"], key, strict=True)), **_line(each)}
        for key, each in averaged.group_by(*keys, "solver", maintain_order=True)
    ]
    columns = (*keys, "solver", "runs", "instances", "failed", "refused", "wrong", *_FIGURES, *_PLACES)
    if not lines:
        return pl.DataFrame(schema=columns)
    summed = pl.DataFrame(lines, infer_schema_length=None).join(counts, on=[*keys, "solver"])
    all_instances = averaged.group_by(keys).agg(all=pl.col("instance").n_unique())
    order = averaged.select(*keys, "budget_seconds").unique(maintain_order=True)
    order = order.sort(by, "budget_seconds", "budget", "threads", nulls_last=True, maintain_order=True)
    rank = order.with_row_index("place")
    return (
        summed.join(all_instances, on=keys)
        .join(rank.drop("budget_seconds"), on=keys)
        .with_columns(complete=pl.col("instances") == pl.col("all"))
        .with_columns(failures=pl.col("failed") + pl.col("refused"))
        .with_columns(eligible=(pl.col("complete") & (pl.col("failures") == 0) & (pl.col("gap") < 1)).fill_null(False))
        .with_columns(best=_first("complete", keys), leads=_first("eligible", keys))
        .sort("place", "gap", "integral", "solver", nulls_last=True)
        .select(columns)
    )


def _first(among: str, keys: list[str]) -> pl.Expr:
    """Whether a solver has the smallest mean gap among some."""
    import polars as pl

    least = pl.col("gap").filter(among).min().over(keys)
    return (pl.col(among) & (pl.col("gap") <= least + 1e-12)).fill_null(False)


_PLACES = ("complete", "best", "eligible", "leads")

_FIGURES = (
    "solved", "proved", "behind", "behind_share", "behind_share_low", "behind_share_high",
    "gap", "gap_low", "gap_high", "gap_median", "gap_median_low", "gap_median_high", "gap_shifted",
    "integral", "integral_low", "integral_high", "integral_median", "integral_median_low", "integral_median_high",
    "integral_shifted", "proved_gap", "proved_integral", "time", "time_shifted", "time_shifted_low",
    "time_shifted_high", "within_1", "to_1_shifted", "overshoot_p99", "overshoot_max",
)  # fmt: skip


def _line(instances: pl.DataFrame) -> dict[str, Any]:
    """The figures of one solver over its instances."""
    budget = instances["budget_seconds"][0]
    line: dict[str, Any] = {"runs": instances["runs"].sum(), "instances": len(instances)}
    line |= {name: instances[name].mean() for name in _MEANS}
    behind = int((instances["primal_gap"] > 0).sum())
    line |= {"behind": behind, "behind_share": behind / len(instances)}
    line |= _ends("behind_share", share_limits(behind, len(instances)))
    for name, column in (("gap", "primal_gap"), ("integral", "primal_integral")):
        values = instances[column].drop_nulls().to_numpy()
        if len(values):
            line |= {name: values.mean(), f"{name}_median": instances[column].median()}
            line |= {f"{name}_shifted": float(shifted_geometric_mean(values, SHIFT_GAP))}
        else:
            line |= dict.fromkeys((name, f"{name}_median", f"{name}_shifted"))
        line |= _ends(name, mean_limits(values)) | _ends(f"{name}_median", median_limits(values))
    times = instances["time"].drop_nulls().to_numpy()
    mean = partial(shifted_geometric_mean, shift=SHIFT_TIME * (budget or 1 / SHIFT_TIME))
    line["time_shifted"] = float(mean(times)) if len(times) else None
    within = instances["to_1"].drop_nulls().to_numpy()
    line["to_1_shifted"] = float(mean(within)) if len(within) else None
    return line | _ends("time_shifted", shifted_limits(times, budget))


def shifted_limits(times: ArrayLike, budget: float | None) -> Limits | None:
    """Limits of the shifted geometric mean of times, shape ``(n,)``, within a budget; None without it or of too few.

    Its logarithm is a mean of figures between those of the shift and of the budget with the shift.
    """
    if budget is None:
        return None
    shift = SHIFT_TIME * budget
    found = mean_limits(np.log(np.asarray(times, np.float64) + shift), np.log(shift), np.log(budget + shift))
    return None if found is None else Limits(np.exp(found.low) - shift, np.exp(found.high) - shift)


def _ends(name: str, limits: Limits | None) -> dict[str, float | None]:
    low, high = (None, None) if limits is None else map(float, limits)
    return {f"{name}_low": low, f"{name}_high": high}
