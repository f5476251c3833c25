"""Runs that failed, with their causes, and those that went furthest past their budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transom._system.wording import counted
from transom.bench.plan.task import FAILED
from transom.bench.score.score import ALLOWANCE
from transom.report.table import Column, Table, count, number, percent, words

if TYPE_CHECKING:
    import polars as pl

LISTED = 300
"""Runs that a table lists one by one at most."""

_SLOWEST = 20


def failures(frame: pl.DataFrame) -> list[Table]:
    """Failed and refused runs: how many of each kind, then one by one.

    Parameters
    ----------
    frame : rows of a store.
    """
    import polars as pl

    failed = frame.filter(pl.col("outcome").is_in((*FAILED, "refused"))).with_columns(pl.col("cause").fill_null(""))
    if not len(failed):
        return []
    kinds = (
        failed.group_by("outcome", "name", "problem", "cause")
        .agg(pl.len(), pl.col("instance").n_unique().alias("instances"))
        .sort(_grave(), "len", "outcome", "name", "problem", "cause", descending=[False, True, *[False] * 4])
    )
    one_by_one = failed.sort(_grave(), "outcome", "name", "set", "label", "seed", "budget_seconds", "key")
    return [
        Table(
            "Failures by cause",
            [
                Column("Solver", choose=True),
                Column("Problem", choose=True),
                Column("Outcome", choose=True),
                Column("Runs", number=True),
                Column("Instances", number=True),
                Column("Cause"),
            ],
            [
                [words(name), words(problem), words(outcome), count(runs), count(instances), words(cause)]
                for outcome, name, problem, cause, runs, instances in kinds.head(LISTED).iter_rows()
            ],
            note=_more(len(kinds), "causes")
            + "Refused instances are those that a solver does not support; they count as no solution, not as failures.",
            name="causes",
        ),
        Table(
            "Failed runs",
            [
                Column("Solver", choose=True),
                Column("Set", choose=True),
                Column("Instance"),
                Column("Outcome", choose=True),
                Column("Seed", number=True),
                Column("Budget [s]", number=True),
                Column("Time [s]", number=True),
                Column("Attempt", number=True),
                Column("Cause"),
            ],
            [
                [
                    words(row["name"]), words(row["set"]), words(row["label"]), words(row["outcome"]),
                    count(row["seed"]),
                    number(row["budget_seconds"]), number(row["wall"]), count(row["attempt"] or 1), words(row["cause"]),
                ]
                for row in one_by_one.head(LISTED).iter_rows(named=True)
            ],
            note=_more(len(one_by_one), "runs"),
            name="failed",
        ),
    ]  # fmt: skip


def said(frame: pl.DataFrame) -> str:
    """How many runs failed and how many were refused, in a line."""
    outcomes = frame["outcome"]
    failed, refused = len(outcomes.filter(outcomes.is_in(FAILED))), len(outcomes.filter(outcomes == "refused"))
    text = f"{counted(failed, 'run')} failed" if failed else "no run failed"
    return f"{text}, {refused:,} refused" if refused else text


def _grave() -> pl.Expr:
    """Wrong answers first and refusals last, so that no limit of a table hides the former behind the others."""
    import polars as pl

    outcome = pl.col("outcome")
    return pl.when(outcome == "wrong").then(0).when(outcome == "refused").then(2).otherwise(1)


def overshoots(scored: pl.DataFrame) -> list[Table]:
    """How far solvers went past budgets in seconds, and the worst runs.

    Parameters
    ----------
    scored : of :func:`transom.bench.score.score.scored`.
    """
    import polars as pl

    timed = scored.filter(pl.col("overshoot").is_not_null())
    if not len(timed):
        return []
    past = 1000 * pl.col("overshoot")
    second, share = ALLOWANCE
    limit = second + share * pl.col("budget_seconds")
    each = (
        timed.group_by("solver", "budget", "budget_seconds")
        .agg(
            pl.len(),
            past.quantile(0.5, "linear").alias("median"),
            past.quantile(0.99, "linear").alias("high"),
            past.max().alias("worst"),
            (pl.col("overshoot") > limit).mean().alias("beyond"),
        )
        .sort("budget_seconds", "high", "solver", descending=[False, True, False])
    )
    worst = timed.filter(pl.col("overshoot") > limit).sort("overshoot", "key", descending=[True, False])
    return [
        Table(
            "Time past the budget",
            [
                Column("Solver", choose=True),
                Column("Budget", choose=True),
                Column("Runs", number=True),
                Column("Median [ms]", number=True),
                Column("99th percentile [ms]", number=True),
                Column("Worst [ms]", number=True),
                Column("Beyond the allowance [%]", number=True),
            ],
            [
                [
                    words(row["solver"]), words(row["budget"])._replace(sort=row["budget_seconds"]), count(row["len"]),
                    number(row["median"]), number(row["high"]), number(row["worst"]), percent(row["beyond"]),
                ]
                for row in each.head(LISTED).iter_rows(named=True)
            ],
            note=_more(len(each), "rows")
            + f"Measured outside the solver; negative if it ended earlier. The allowance is {1000 * second:.0f} ms "
            f"+ {100 * share:.0f} % of the budget.",
            name="overshoots",
        ),
        Table(
            "Runs furthest past the allowance",
            [
                Column("Solver", choose=True),
                Column("Set", choose=True),
                Column("Instance"),
                Column("Budget", choose=True),
                Column("Seed", number=True),
                Column("Outcome", choose=True),
                Column("Past the budget [ms]", number=True),
            ],
            [
                [
                    words(row["solver"]), words(row["set"]), words(row["label"]), words(row["budget"]),
                    count(row["seed"]), words(row["outcome"]), number(1000 * row["overshoot"]),
                ]
                for row in worst.head(_SLOWEST).iter_rows(named=True)
            ],
            note=f"The first {_SLOWEST} of {len(worst):,}." if len(worst) > _SLOWEST else "",
            name="slowest",
        ),
    ]  # fmt: skip


def _more(there: int, what: str) -> str:
    return f"The first {LISTED:,} of {there:,} {what}. " if there > LISTED else ""
