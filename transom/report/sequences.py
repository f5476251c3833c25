"""Window sequences: traces replayed under policies, in tables of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from transom.bench.statistics import interval
from transom.report.table import Cell, Column, Table, count, significant, words
from transom.simulation.metrics import HOP_METRICS, METRICS, Metric

if TYPE_CHECKING:
    import polars as pl

SHOWN = (
    "mean_bounded_slowdown", "median_bounded_slowdown", "mean_wait", "p95_wait", "max_wait", "utilisation", "makespan",
    "mean_hop_cost",
)  # fmt: skip
"""Figures of :func:`transom.simulation.metrics.summary` that a table has, where rows have them; utilisations of
further resources come after them."""


def sequence_tables(frame: pl.DataFrame) -> list[Table]:
    """One table per trace: its policies, each figure the mean over seeds with its 95 % interval.

    Parameters
    ----------
    frame : rows of a store; solves are left out.
    """
    replays = frame.filter((frame["what"] == "replay") & (frame["outcome"] == "ok")).sort("set", "name", "seed")
    return [_table(str(name), runs) for (name,), runs in replays.group_by("set", maintain_order=True)]


def _table(name: str, runs: pl.DataFrame) -> Table:
    policies: dict[str, list[dict[str, float]]] = {}
    for policy, metrics in runs.select("name", "metrics").iter_rows():
        policies.setdefault(policy, []).append(json.loads(metrics or "{}"))
    there = {key for each in policies.values() for metrics in each for key in metrics}
    kinds = {**METRICS, **HOP_METRICS}
    shown = [key for key in SHOWN if key in there]
    shown += sorted(key for key in there - kinds.keys() if key.startswith("utilisation_"))
    columns = [Column("Policy"), Column("Seeds", number=True)]
    columns += [_column(key, kinds.get(key)) for key in shown]
    means = {
        policy: {key: _mean([each[key] for each in metrics if key in each]) for key in shown}
        for policy, metrics in policies.items()
    }
    best = {key: _best([of[key][0] for of in means.values()], kinds.get(key)) for key in shown}
    rows = [
        [words(policy), count(len(metrics)), *(_cell(means[policy][key], best[key]) for key in shown)]
        for policy, metrics in policies.items()
    ]
    several = max(len(metrics) for metrics in policies.values()) > 1
    note = "Means over seeds, with 95 % bootstrap intervals; a star marks the best mean." if several else (
        "One seed: there is no interval. A star marks the best figure."
    )  # fmt: skip
    return Table(f"{name}: policies compared", columns, rows, note, f"sequence-{name}")


def _column(key: str, metric: Metric | None) -> Column:
    words_of = key.replace("_", " ")
    if metric is None:
        return Column(f"{words_of} [1]", number=True, meaning="higher is better")
    way = f"; {metric.better} is better" if metric.better else ""
    return Column(f"{words_of} [{metric.unit or 1}]", number=True, meaning=f"{metric.description}{way}")


def _mean(values: list[float]) -> tuple[float, float | None, float | None]:
    if not values:
        return float("nan"), None, None
    ends = interval(values)
    low, high = (None, None) if ends is None else (float(ends[0]), float(ends[1]))
    return float(np.mean(values)), low, high


def _best(means: list[float], metric: Metric | None) -> float | None:
    known = [mean for mean in means if mean == mean]
    better = "higher" if metric is None else metric.better
    if len(known) < 2 or better is None:
        return None
    return min(known) if better == "lower" else max(known)


def _cell(of: tuple[float, float | None, float | None], best: float | None) -> Cell:
    mean, low, high = of
    if mean != mean:
        return Cell("–", "")
    text = significant(mean, 4)
    if low is not None and high is not None and low < high:
        text += f" ({significant(low, 4)} to {significant(high, 4)})"
    return Cell(text, mean, best is not None and mean == best)
