"""Window sequences: traces replayed under policies, in tables of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transom.bench.score.replays import replay_summaries
from transom.report.table import Cell, Column, Table, anchor, count, significant, words
from transom.simulation.output.metrics import Metric, known_metrics, own_metrics
from transom.simulation.policies.clocks import clock_remarks

if TYPE_CHECKING:
    import polars as pl

SHOWN = (
    "mean_bounded_slowdown", "median_bounded_slowdown", "mean_wait", "p95_wait", "max_wait", "utilisation", "makespan",
    "mean_hop_cost",
)  # fmt: skip
"""Figures of :func:`transom.simulation.output.metrics.summary` that a table has, where rows have them; utilisations of
further resources come after them."""


def sequence_tables(frame: pl.DataFrame) -> list[Table]:
    """One table per sequence: its policies, each figure the mean over seeds with the least and the largest.

    Parameters
    ----------
    frame : rows of a store; solves are left out.
    """
    found = replay_summaries(frame).sort("set", "instance", "policy", maintain_order=True)
    groups = found.partition_by("set", "instance", maintain_order=True)
    names = [group["set"][0] for group in groups]
    return [
        _table(name if names.count(name) == 1 else f"{name} ({group['instance'][0][:8]})", group)
        for name, group in zip(names, groups, strict=True)
    ]


def _table(name: str, figures: pl.DataFrame) -> Table:
    policies: dict[str, dict[str, dict[str, Any]]] = {}
    for row in figures.iter_rows(named=True):
        policies.setdefault(row["policy"], {})[row["metric"]] = row
    there = {metric for measured in policies.values() for metric in measured if metric is not None}
    kinds = known_metrics()
    shown = [metric for metric in SHOWN if metric in there]
    shown += sorted(metric for metric in there - kinds.keys() if metric.startswith("utilisation_"))
    shown += sorted(there & own_metrics().keys())
    columns = [Column("Policy"), Column("Runs", number=True), Column("Failed", number=True)]
    columns += [_column(metric, kinds.get(metric)) for metric in shown]
    # Means over fewer seeds are of other replays: who failed on the hard ones would look good.
    finished = {policy: max(row["runs"] - row["failed"] for row in of.values()) for policy, of in policies.items()}
    whole = [of for policy, of in policies.items() if finished[policy] == max(finished.values())]
    best = {metric: _best([of[metric]["mean"] for of in whole if metric in of], kinds.get(metric)) for metric in shown}
    rows = []
    for policy, measured in policies.items():
        first = next(iter(measured.values()))
        cells = [
            _cell(measured.get(each), best[each] if measured in whole else None, _unit(each, kinds.get(each))[1])
            for each in shown
        ]
        rows.append([words(policy), count(first["runs"]), count(first["failed"]), *cells])
    note = "Means over seeds, in brackets the least and the largest; a star marks the best mean"
    note += " of those with the most finished replays." if len(whole) < len(policies) else "."
    if perfect := [of["perfect_estimates"]["mean"] for of in policies.values() if "perfect_estimates" in of]:
        note += f" PERFECT ESTIMATES: {100 * max(perfect):.1f} % of the jobs ask for exactly their runtime."
    said = clock_remarks((policy, next(iter(measured.values()))["clock"]) for policy, measured in policies.items())
    note = " ".join([note, *(f"{remark}." for remark in said)])
    return Table(f"{name}: policies compared", columns, rows, note, anchor("sequence", name))


def _column(key: str, metric: Metric | None) -> Column:
    words_of = key.replace("_", " ")
    unit = _unit(key, metric)[0]
    title = f"{words_of} [{unit}]" if unit else words_of
    if metric is None:
        return Column(title, number=True, meaning="higher is better")
    way = f"; {metric.better} is better" if metric.better else ""
    return Column(title, number=True, meaning=f"{metric.description}{way}")


def _unit(key: str, metric: Metric | None) -> tuple[str, float]:
    """The unit that a figure is shown in, and how much of the stored one that is."""
    if key.startswith("utilisation"):
        return "%", 0.01
    return ("h", 3600) if metric is not None and metric.unit == "s" else ("" if metric is None else metric.unit, 1)


def _best(means: list[float], metric: Metric | None) -> float | None:
    better = "higher" if metric is None else metric.better
    if len(means) < 2 or better is None:
        return None
    return min(means) if better == "lower" else max(means)


def _cell(figure: dict[str, Any] | None, best: float | None, unit: float) -> Cell:
    if figure is None:
        return Cell("–", "")
    mean, least, most = figure["mean"], figure["least"], figure["most"]
    text = significant(mean / unit, 4)
    if least < most:
        text += f" ({significant(least / unit, 4)} to {significant(most / unit, 4)})"
    return Cell(text, mean, best is not None and mean == best)
