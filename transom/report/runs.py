"""Embedded runs for the instance viewer: a bounded number, with thinned curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transom.bench.plan.task import FAILED
from transom.plot.style import policy_styles
from transom.report.table import Cell, Column, Table, count, number, percent, words

if TYPE_CHECKING:
    import polars as pl

INSTANCES = 300
"""Instances that a page carries at most."""
RUNS = 300
"""Runs of one instance at most."""
STEPS = 40
"""Steps of a curve at most."""
ALL_STEPS = 100_000
"""Steps of all curves together: some megabytes."""
LISTED = 100_000
"""Runs in the table of runs at most."""

_DASHES = {"-": "", "--": "6 3", ":": "2 2", "-.": "6 2 2 2"}


def embedded(scored: pl.DataFrame) -> tuple[dict[str, Any], str]:
    """What the script of the page shows of single instances.

    Instances with failures come first, then those on which the solvers differ most, until a limit is met. Of an
    instance with very many runs the lowest seeds are taken, of a long curve evenly spread steps with both ends.

    Parameters
    ----------
    scored : of :func:`transom.bench.score.score.scored`.

    Returns
    -------
    Plain data for JSON, and in words what was left out (empty if nothing was).
    """
    import polars as pl

    # An instance that several sets have is one, so that all its runs stand side by side; the first set names it.
    keys = ["set", "label", "instance", "problem"]
    firsts = scored.select(keys).sort(keys).unique(["instance", "problem"], keep="first", maintain_order=True)
    scored = scored.drop("set", "label").join(firsts, on=["instance", "problem"], maintain_order="left")
    ranked = (
        scored.group_by(keys)
        .agg(
            failed=pl.col("outcome").is_in(FAILED).any(),
            spread=pl.col("primal_gap").max() - pl.col("primal_gap").min(),
            runs=pl.len(),
        )
        .sort("failed", "spread", *keys, descending=[True, True, *(False for _ in keys)])
    )
    budgets = scored.select("budget_seconds", "budget").unique().sort("budget_seconds", "budget", nulls_last=True)
    places = {budget: place for place, budget in enumerate(budgets["budget"].unique(maintain_order=True))}
    numbers = {solver: place for place, solver in enumerate(scored["solver"].unique().sort())}
    wanted = ranked.head(INSTANCES).select(keys)
    taken = scored.join(wanted, on=keys).partition_by(keys, as_dict=True)
    instances: list[dict[str, Any]] = []
    steps = 0
    for key in wanted.iter_rows():
        rows = taken[key].sort("seed", "budget_seconds", "budget", "threads", "solver", nulls_last=True)
        instance = _instance(rows, numbers, places)
        steps += sum(len(run["curve"]) for run in instance["runs"])
        if instances and steps > ALL_STEPS:
            break
        instances.append(instance)
    instances.sort(key=lambda each: (each["set"], each["label"], each["problem"]))
    looks: dict[str, dict[int, tuple[str, str]]] = {}
    for problem, names in solvers_of(scored).items():
        styles = policy_styles(names)
        looks[problem] = {numbers[name]: (styles[name]["color"], _DASHES[styles[name]["linestyle"]]) for name in names}
    data = {"solvers": list(numbers), "looks": looks, "budgets": list(places), "instances": instances}
    return data, _left_out(len(ranked), len(scored), instances)


def run_table(scored: pl.DataFrame) -> Table:
    """Every run in a row, those that failed first; the page shows a long table page by page.

    Parameters
    ----------
    scored : of :func:`transom.bench.score.score.scored`.
    """
    import polars as pl

    order = ("problem", "set", "label", "solver", "budget_seconds", "budget", "threads", "seed")
    failed = pl.col("outcome").is_in((*FAILED, "refused"))
    listed = scored.sort(~failed, *order, nulls_last=True, maintain_order=True).head(LISTED)
    columns = [
        Column("Problem", choose=True), Column("Set", choose=True), Column("Instance"), Column("Solver", choose=True),
        Column("Budget", choose=True), Column("Threads", number=True), Column("Seed", number=True),
        Column("Outcome", choose=True), Column("Status", choose=True), Column("Value", number=True),
        Column("Bound", number=True), Column("Gap [%]", number=True, meaning="primal gap"),
        Column("Time [s]", number=True), Column("Cause"),
    ]  # fmt: skip
    rows = [
        [
            words(row["problem"]), words(row["set"]), words(row["label"]), words(row["solver"]),
            Cell(row["budget"], row["budget_seconds"]), count(row["threads"]), count(row["seed"]),
            words(row["outcome"]), words(row["status"]), _exact(row["value"]), _exact(row["bound"]),
            percent(row["primal_gap"]), number(row["wall"] if row["wall"] is not None else row["seconds"]),
            words(row["cause"]),
        ]
        for row in listed.iter_rows(named=True)
    ]  # fmt: skip
    note = f"The first {LISTED:,} of {len(scored):,} runs, those that failed first." if len(scored) > LISTED else ""
    return Table("All runs", columns, rows, note, "all-runs")


def _exact(value: float | None) -> Cell:
    return Cell("–", "") if value is None else Cell(f"{value:.12g}", value)


def solvers_of(scored: pl.DataFrame) -> dict[str, list[str]]:
    """Solvers of each problem in the order of their colours: the same in every figure of that problem."""
    import polars as pl

    found = scored.group_by("problem").agg(pl.col("solver").unique().sort()).sort("problem")
    return dict(found.iter_rows())


def _instance(rows: pl.DataFrame, numbers: dict[str, int], places: dict[str, int]) -> dict[str, Any]:
    runs = []
    for row in rows.head(RUNS).sort("budget_seconds", "budget", "threads", "solver", "seed").iter_rows(named=True):
        runs.append(
            {
                "solver": numbers[row["solver"]],
                "budget": places[row["budget"]],
                "seed": row["seed"],
                "threads": row["threads"],
                "outcome": row["outcome"],
                "status": row["status"],
                "proved": row["proved"],
                "value": row["value"],
                "bound": row["bound"],
                "seconds": _rounded(row["seconds"]),
                "wall": _rounded(row["wall"]),
                "gap": _rounded(row["primal_gap"]),
                "cause": row["cause"],
                "curve": [
                    (_rounded(step["seconds"], 4), _rounded(step["value"], 9), _rounded(step["bound"], 9))
                    for step in _thinned(row["curve"] or [])
                ],
            }
        )
    first = rows.row(0, named=True)
    return {
        **{name: first[name] for name in ("set", "label", "problem", "sense", "size")},
        "best": first["reference"],
        "runs": runs,
        "left_out": max(0, len(rows) - RUNS),
    }


def _thinned(steps: list[Any]) -> list[Any]:
    if len(steps) <= STEPS:
        return steps
    return [steps[round(i * (len(steps) - 1) / (STEPS - 1))] for i in range(STEPS)]


def _rounded(number: float | None, digits: int = 6) -> float | None:
    return None if number is None or not math.isfinite(number) else float(f"{number:.{digits}g}")


def _left_out(instances: int, runs: int, shown: Sequence[dict[str, Any]]) -> str:
    here = sum(len(each["runs"]) for each in shown)
    if here == runs:
        return ""
    return (
        f"Of {instances:,} instances {len(shown):,} are here, with {here:,} of {runs:,} runs: those with failures "
        "first, then those on which the solvers differ most. The tables above include all runs."
    )
