"""Diagnostics of a comparison: wrong answers, failures, missing instances, differing provenance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from transom.bench.plan.task import FAILED
from transom.bench.score.score import ALLOWANCE
from transom.bench.score.summaries import By

if TYPE_CHECKING:
    import polars as pl

CONVENTIONS_OF_GAPS = (
    "Means over instances, the seeds of each averaged first. Gap: primal gap to the best known value at the end of the "
    "budget; a run without a solution (nothing found, failed, wrong, refused) counts 100 %."
)
CONVENTIONS = (
    f"{CONVENTIONS_OF_GAPS} Integral: mean gap over the time of the budget. Solvers without bounds are not compared on "
    "bounds. Times: shifted geometric means (shift: 10 % of the budget) of the time to a gap of 1 % and to the end of "
    "the run; runs that miss the target count with the full budget."
)


def diagnostics(table: pl.DataFrame, by: By = "problem") -> list[str]:
    """Warnings about a table of scores, the most severe first.

    Parameters
    ----------
    table : of :func:`transom.bench.score.score.scored`.
    by : what comparisons are kept apart by.
    """
    order = (by, "budget_seconds", "budget", "threads", "solver")  # runs stand in random order
    table = table.sort(order, nulls_last=True, maintain_order=True)
    return [
        *_wrong(table), *_failed(table), *_late(table), *_unmet(table, by), *_unknown(table), *_retrained(table),
        *_mixed(table), *_loaded(table),
    ]  # fmt: skip


def _wrong(table: pl.DataFrame) -> list[str]:
    import polars as pl

    found = []
    wrong = table.filter(pl.col("outcome") == "wrong").group_by("solver", maintain_order=True)
    for solver, count, label, cause in wrong.agg(pl.len(), pl.first("label"), pl.first("cause")).iter_rows():
        found.append(f"wrong: {_runs(count)} of {solver} gave an answer that fails verification: {label}: {cause}")
    void = table.filter(pl.col("disproved")).group_by("solver", maintain_order=True)
    for solver, count, label in void.agg(pl.len(), pl.first("label")).iter_rows():
        found.append(f"wrong: {_runs(count)} of {solver} claimed a bound or proof that a solution contradicts: {label}")
    return found


def _failed(table: pl.DataFrame) -> list[str]:
    import polars as pl

    kinds = [kind for kind in (*FAILED, "refused") if kind != "wrong"]
    failed = table.filter(pl.col("outcome").is_in(kinds)).sort(pl.col("outcome") == "refused", maintain_order=True)
    by_cause = failed.group_by("solver", "outcome", maintain_order=True)
    return [
        f"{outcome}: {_runs(count)} of {solver}: {label}: {cause}"
        for solver, outcome, count, label, cause in by_cause.agg(
            pl.len(), pl.first("label"), pl.first("cause")
        ).iter_rows()
    ]


def _late(table: pl.DataFrame) -> list[str]:
    """Solvers that use more than their budget, beyond the allowance, in more than one run of a hundred."""
    import polars as pl

    second, share = ALLOWANCE
    over = table.drop_nulls("overshoot").group_by("solver", "budget", "budget_seconds", maintain_order=True)
    late = over.agg(p99=pl.col("overshoot").quantile(0.99, "nearest"), most=pl.col("overshoot").max()).filter(
        pl.col("p99") > second + share * pl.col("budget_seconds")
    )
    return [
        f"late: {row['solver']} under {row['budget']}: 99th percentile of the overshoot {row['p99']:.3g} s, at most "
        f"{row['most']:.3g} s"
        for row in late.iter_rows(named=True)
    ]


def _unmet(table: pl.DataFrame, by: By) -> list[str]:
    """Solvers with fewer instances or runs than others of the comparison."""
    import polars as pl

    keys = [by, "budget", "threads"]
    counts = table.group_by(*keys, "solver", maintain_order=True).agg(
        met=pl.col("instance").n_unique(), runs=pl.struct("instance", "seed").n_unique()
    )
    every = table.group_by(keys).agg(
        all=pl.col("instance").n_unique(), possible=pl.struct("instance", "seed").n_unique()
    )
    short = counts.join(every, on=keys, maintain_order="left").filter(pl.col("runs") < pl.col("possible"))
    return [
        f"{row[by]}, {row['budget']}: {row['solver']} ran on {row['met']} of {row['all']} instances in {row['runs']} "
        f"of {row['possible']} runs: its means cover only these, and get no star"
        if row["met"] < row["all"]
        else f"{row[by]}, {row['budget']}: {row['solver']} has {row['runs']} of {row['possible']} runs"
        for row in short.iter_rows(named=True)
    ]


def _unknown(table: pl.DataFrame) -> list[str]:
    import polars as pl

    open_ones = table.filter(pl.col("reference").is_null() & ~pl.col("reference_infeasible"))["instance"].n_unique()
    return [f"no solution is known of {_instances(open_ones)}: every solver counts 100 % there"] if open_ones else []


def _retrained(table: pl.DataFrame) -> list[str]:
    import polars as pl

    named = table.filter(pl.col("weights") != "").group_by("solver", maintain_order=True)
    return [
        f"{solver} has {count} sets of weights: a file changed between its runs"
        for solver, count in named.agg(count=pl.col("weights").n_unique()).iter_rows()
        if count > 1
    ]


def _mixed(table: pl.DataFrame) -> list[str]:
    several = {
        "machine": "machines", "code": "states of Transom's code", "versions": "sets of versions",
        "workers": "numbers of concurrent runs",
    }  # fmt: skip
    return [
        f"the runs are from {count} {words}: times are not strictly comparable"
        for column, words in several.items()
        if (count := table[column].n_unique()) > 1
    ]


def _loaded(table: pl.DataFrame) -> list[str]:
    """The time for loading the weights of learned solvers, which budgets do not count."""
    import polars as pl

    found = []
    learned = table.filter(pl.col("parameters").str.contains('"load_seconds"'))
    for (solver,), runs in learned.group_by("solver", maintain_order=True):
        seconds = max(json.loads(text)["load_seconds"] for text in runs["parameters"])
        cold = max(runs["cold"].drop_nulls(), default=None)
        whole = "" if cold is None else f", imports and compilation at most {cold:.3g} s"
        found.append(
            f"{solver}: loading its weights took at most {seconds:.3g} s{whole}; neither counts as time of a run"
        )
    return found


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _instances(count: int) -> str:
    return "1 instance" if count == 1 else f"{count} instances"
