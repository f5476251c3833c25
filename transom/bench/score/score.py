"""Scores of runs: within the budget, against the best known value of the instance.

What counts of a run is what it had found and proved when its budget was over; an allowance of 50 ms + 5 % covers the
last step and the hand-over. Values in the store were computed by the judge, so a run that was ended counts with what
its row holds; a wrong answer or a refusal counts as no solution. Bounds are the word of a solver: one that a solution
of anyone contradicts is void, with every proof that hangs on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from transom.bench.plan.budgets import budget_words
from transom.bench.score.gaps import SAME, mean_over_time, primal_gap, proved_gap
from transom.bench.store.frame import schema
from transom.stop import Stop

if TYPE_CHECKING:
    import polars as pl

ALLOWANCE = (0.05, 0.05)
"""What a run may take past its budget: so many seconds, and this share of it."""

TARGET_COLUMNS = {"to_5": 0.05, "to_1": 0.01, "to_0.1": 0.001, "to_0": 0.0}
"""Gaps that times to target are given for, by the name of their column."""

_INSTANCE = ("instance", "problem", "sense")
_NO_ANSWER = ("wrong", "refused")


class Known(Protocol):
    """What a library knows of an instance: the best value, the best bound, and whether the value is proved."""

    @property
    def value(self) -> float | None: ...
    @property
    def bound(self) -> float | None: ...
    @property
    def proved(self) -> bool: ...


class BestKnown(Protocol):
    """A library of best-known values: by the digest of an instance, None where it is not in it."""

    def best(self, digest: str, /) -> Known | None: ...


def references(frame: pl.DataFrame, library: BestKnown | None = None) -> pl.DataFrame:
    """What is known of each instance: the best of all runs and of the library.

    Parameters
    ----------
    frame : rows of a store (:func:`transom.bench.store.frame.schema`); replays are left out.
    library : best-known values, as ``transom.bench.best_known.library.read_library`` gives them.

    Returns
    -------
    One row per instance: ``instance``, ``problem``, ``sense``; ``reference``, the best value (null if there is none);
    ``reference_bound``, the best bound that no value contradicts; ``reference_proved``, whether the value is proved to
    be the best; ``reference_infeasible``, whether it is proved, and contradicted by no value, that there is no
    solution; ``reference_from``, ``rows`` or ``library``, null without a value.
    """
    import polars as pl

    runs = _solves(frame)
    instances = runs.select(_INSTANCE).unique(maintain_order=True)
    facts = (*_INSTANCE, "value", "bound", "status")
    said = pl.concat(
        [
            runs.filter(_answered()).select(*facts, source=pl.lit("rows")),
            _library_says(instances, library).select(*facts, source=pl.lit("library")),
        ]
    )
    best = pl.when(pl.col("sense").first() == "max").then(pl.col("value").max()).otherwise(pl.col("value").min())
    found = instances.join(said.group_by(_INSTANCE).agg(reference=best), on=_INSTANCE, how="left")
    said = said.join(found, on=_INSTANCE, how="left")
    holds = said.filter(~_contradicted())
    tightest = pl.when(pl.col("sense").first() == "max").then(pl.col("bound").min()).otherwise(pl.col("bound").max())
    proofs = holds.group_by(_INSTANCE).agg(
        reference_bound=tightest,
        reference_proved=((pl.col("status") == "optimal") & _equal("value", "reference")).any(),
        reference_infeasible=(pl.col("status") == "infeasible").any(),
    )
    sources = said.filter(_equal("value", "reference")).group_by(_INSTANCE).agg(reference_from=pl.col("source").max())
    proved = pl.col("reference_proved") | _equal("reference", "reference_bound")
    return (
        found.join(proofs, on=_INSTANCE, how="left")
        .join(sources, on=_INSTANCE, how="left")
        .with_columns(
            reference_proved=proved.fill_null(False),
            reference_infeasible=pl.col("reference_infeasible").fill_null(False),
        )
    )


def scored(frame: pl.DataFrame, references: pl.DataFrame) -> pl.DataFrame:
    """Every solve of a table with its scores beside its facts.

    Parameters
    ----------
    frame : rows of a store, or of a table of scores; replays are left out.
    references : of :func:`references`, of the same rows or of more.

    Returns
    -------
    The solves of ``frame`` with the columns of a store and of ``references``, and

    - ``solver``: its name, with the specification where the name stands for several;
    - ``set``: its name, with the problem where it has several, which are never averaged;
    - ``budget``: the budget in words, such as ``1 s``;
    - ``counted``, ``counted_bound``: value and bound that it had when its budget was over;
    - ``solved``: whether it had a solution by then, or had proved that there is none;
    - ``proved``: whether it had proved its answer by then;
    - ``disproved``: whether a solution contradicts its bound or its claim that there is none; neither then counts;
    - ``primal_gap``, ``primal_integral``: from 0 to 1; the integral is null without a budget in seconds;
    - ``proved_gap``, ``proved_integral``: the same between value and bound; null for solvers that state no bound on
      any instance of this problem;
    - ``time``: what it took of its budget, all of it if it has no answer [s];
    - ``to_5``, ``to_1``, ``to_0.1``, ``to_0``: when its gap was first at most so many percent, infinite if never [s];
    - ``overshoot``: time beyond the budget, measured outside the solver [s]; null without a budget in seconds.
    """
    import polars as pl

    runs = _runs(frame, references)
    points = _points(runs)
    run, until = points["run"].to_numpy(), runs["budget_seconds"].to_numpy()
    in_time = points.filter(pl.col("seconds") <= pl.col("allowed"))
    times = {name: _first_within(runs, in_time, gap) for name, gap in TARGET_COLUMNS.items()}
    in_time = in_time.group_by("run", maintain_order=True).last()
    integrals = {
        name: mean_over_time(run, points["seconds"], points[gap], until)
        for name, gap in (("primal_integral", "primal_gap"), ("proved_integral", "proved_gap"))
    }
    ends = in_time.select(
        counted="value", counted_bound="bound", solved=pl.col("value").is_not_null() | pl.col("infeasible"),
        settled="infeasible", primal_gap="primal_gap", proved_gap="proved_gap",
    )  # fmt: skip
    ends = ends.with_columns(**{name: pl.Series(values, nan_to_null=True) for name, values in integrals.items()})
    states_bounds = pl.col("bound").is_not_null().any().over("problem", "solver")
    claimed = (pl.col("status") == "optimal") & (pl.col("counted") == pl.col("value"))
    claimed = claimed & (pl.col("counted_bound") == pl.col("bound"))
    spent = pl.min_horizontal(pl.coalesce("seconds", "wall"), "budget_seconds")
    return (
        runs.hstack(ends)
        .with_columns(
            proved=(pl.col("settled") | (claimed & ~pl.col("disproved"))).fill_null(False),
            time=pl.when("solved").then(spent).otherwise(pl.coalesce("budget_seconds", spent)),
            overshoot=pl.col("wall") - pl.col("budget_seconds"),
            **times,
            **{gap: pl.when(states_bounds).then(pl.col(gap)) for gap in ("proved_gap", "proved_integral")},
        )
        .drop("run", "allowed", "settled")
    )


def time_to_target(frame: pl.DataFrame, references: pl.DataFrame, gap: float) -> pl.Series:
    """When each solve of a table first had a value within a gap of its reference [s].

    Parameters
    ----------
    frame, references : as of :func:`scored`.
    gap : the primal gap, from 0 to 1; 0 is the reference itself.

    Returns
    -------
    One time for each row of :func:`scored`, in that order; infinite if it was not met inside the budget.
    """
    return times_to_targets(frame, references, [gap])[0]


def times_to_targets(frame: pl.DataFrame, references: pl.DataFrame, gaps: Sequence[float]) -> list[pl.Series]:
    """:func:`time_to_target` for several gaps, with the curves gone through once."""
    import polars as pl

    runs = _runs(frame, references)
    in_time = _points(runs).filter(pl.col("seconds") <= pl.col("allowed"))
    return [_first_within(runs, in_time, gap) for gap in gaps]


def curve_points(frame: pl.DataFrame, references: pl.DataFrame) -> pl.DataFrame:
    """The curves of all solves of a table as step functions.

    Returns
    -------
    ``run`` (position in :func:`scored`), ``seconds``, ``value``, ``bound``, ``primal_gap``, ``proved_gap``; the first
    step of every run is at 0 s, steps ascend.
    """
    return _points(_runs(frame, references)).drop("allowed", "infeasible")


def _first_within(runs: pl.DataFrame, in_time: pl.DataFrame, gap: float) -> pl.Series:
    """When each run first had a gap of at most so much, infinite if never [s]."""
    import polars as pl

    first = in_time.filter(pl.col("primal_gap") <= gap + SAME).group_by("run").agg(pl.col("seconds").min())
    met = runs.select("run").join(first, on="run", how="left", maintain_order="left")["seconds"]
    return met.fill_null(float("inf")).rename("time_to_target")


def _solves(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return frame.filter(pl.col("what") == "solve")


def _library_says(instances: pl.DataFrame, library: BestKnown | None) -> pl.DataFrame:
    """What a library knows of these instances, as if it were a run."""
    import polars as pl

    known = [None if library is None else library.best(digest) for digest in instances["instance"]]
    columns = {
        "value": [None if each is None else each.value for each in known],
        "bound": [None if each is None else each.bound for each in known],
        "status": ["optimal" if each is not None and each.proved else "feasible" for each in known],
    }
    kinds = {"value": pl.Float64, "bound": pl.Float64, "status": pl.String}
    return instances.hstack(pl.DataFrame(columns, schema=kinds, strict=False))


def _answered() -> pl.Expr:
    """Whether what a run holds counts."""
    import polars as pl

    return ~pl.col("outcome").is_in(_NO_ANSWER)


def _contradicted() -> pl.Expr:
    """Whether the best value contradicts a bound, or that there is no solution."""
    import polars as pl

    beyond = pl.when(pl.col("sense") == "max").then(1).otherwise(-1) * (pl.col("reference") - pl.col("bound"))
    impossible = (pl.col("status") == "infeasible") & pl.col("reference").is_not_null()
    return (beyond > SAME * pl.max_horizontal(pl.col("reference").abs(), 1.0)).fill_null(False) | impossible


def _equal(one: str, other: str) -> pl.Expr:
    import polars as pl

    difference = (pl.col(one) - pl.col(other)).abs()
    return (difference <= SAME * pl.max_horizontal(pl.col(one).abs(), pl.col(other).abs())).fill_null(False)


def _runs(frame: pl.DataFrame, references: pl.DataFrame) -> pl.DataFrame:
    """The solves, each with what is known of its instance; ``run`` is the position."""
    import polars as pl

    second, share = ALLOWANCE
    several = pl.col("spec").n_unique().over("problem", "name") > 1
    mixed = pl.col("problem").n_unique().over("set") > 1
    return (
        _solves(frame)
        .select(*schema())
        .join(references, on=_INSTANCE, how="left", maintain_order="left")
        .with_row_index("run")
        .with_columns(
            budget=_in_words(),
            set=pl.when(mixed).then(pl.format("{} ({})", "set", "problem")).otherwise("set"),
            solver=pl.when(several).then(pl.format("{} ({})", "name", "spec")).otherwise("name"),
            allowed=((1 + share) * pl.col("budget_seconds") + second).fill_null(float("inf")),
            disproved=_answered() & _contradicted(),
            reference_infeasible=pl.col("reference_infeasible").fill_null(False),
        )
    )


def _in_words() -> pl.Expr:
    """The budget in words: ``1 s``, ``200 iterations``, ``1 s, gap 0.01``, ``no limit``."""
    import polars as pl

    names = [each.name for each in fields(Stop)]

    def in_words(limits: dict[str, Any]) -> str:
        stop = Stop(**{name: limits[f"budget_{name}"] for name in names})
        return "no limit" if stop == Stop() else budget_words(stop, limits["clock"] or "wall")

    columns = [*(f"budget_{name}" for name in names), "clock"]
    return pl.struct(columns).map_elements(in_words, return_dtype=pl.String)


def _points(runs: pl.DataFrame) -> pl.DataFrame:
    """Steps of every run from 0 s on, ascending: what it had found and proved from then on."""
    import polars as pl

    counted = runs.filter(_answered())
    nothing = pl.lit(None, pl.Float64)
    curves = counted.select("run", "curve").explode("curve").drop_nulls("curve").unnest("curve")
    # The end of a run says once more what its curve says, unless it came without one.
    when = pl.coalesce("seconds", "wall", "budget_seconds", 0.0)
    steps = pl.concat(
        [
            runs.select("run", seconds=pl.lit(0.0), value=nothing, bound=nothing, infeasible=False),
            curves.with_columns(infeasible=False),
            counted.select("run", when.alias("seconds"), "value", "bound", infeasible=pl.col("status") == "infeasible"),
        ]
    ).sort("run", "seconds", maintain_order=True)
    facts = runs.select("run", "sense", "reference", "reference_infeasible", "disproved", "allowed")
    steps = (
        steps.join(facts, on="run", how="left", maintain_order="left")
        .with_columns(pl.col("value", "bound").forward_fill().over("run"))
        .with_columns(
            bound=pl.when(~pl.col("disproved")).then(pl.col("bound")),
            infeasible=pl.col("infeasible") & pl.col("reference_infeasible") & ~pl.col("disproved"),
        )
    )
    value, reference, maximise = (steps[name].to_numpy() for name in ("value", "reference", "sense"))
    settled = steps["infeasible"].to_numpy()
    primal = primal_gap(value, reference, maximise == "max")
    proved = proved_gap(value, steps["bound"].to_numpy())
    return steps.select("run", "seconds", "value", "bound", "infeasible", "allowed").with_columns(
        primal_gap=np.where(settled, 0.0, primal), proved_gap=np.where(settled, 0.0, proved)
    )
