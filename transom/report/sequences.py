"""Window sequences: traces replayed under policies, in tables of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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


class Replayed(NamedTuple):
    """Figures of the policies on one trace.

    Parameters
    ----------
    name : of the trace.
    policies : rows of :func:`transom.bench.score.replays.replay_summaries`, by policy and metric.
    """

    name: str
    policies: dict[str, dict[str, dict[str, Any]]]

    @property
    def finished(self) -> list[str]:
        """Policies with all replays and no failure: means over fewer seeds are of other replays."""
        first = {policy: next(iter(measured.values())) for policy, measured in self.policies.items()}
        most = max(row["runs"] for row in first.values())
        return [policy for policy, row in first.items() if row["runs"] == most and not row["failed"]]

    def means(self, metric: str) -> dict[str, float]:
        """The mean of each policy that may be marked as the best."""
        return {each: self.policies[each][metric]["mean"] for each in self.finished if metric in self.policies[each]}

    def ranked(self) -> tuple[str, list[str]]:
        """The first metric of :data:`SHOWN` that two policies have, and these, the best first; empty without one."""
        for metric in SHOWN:
            means, better = self.means(metric), known_metrics()[metric].better
            if len(means) > 1 and better is not None:
                return metric, sorted(means, key=means.__getitem__, reverse=better == "higher")
        return "", []


def replayed(frame: pl.DataFrame) -> list[Replayed]:
    """What the policies did on each trace.

    Parameters
    ----------
    frame : rows of a store; solves are left out.
    """
    found = replay_summaries(frame).sort("set", "instance", "policy", maintain_order=True)
    groups = found.partition_by("set", "instance", maintain_order=True)
    names = [group["set"][0] for group in groups]
    listed = []
    for name, group in zip(names, groups, strict=True):
        policies: dict[str, dict[str, dict[str, Any]]] = {}
        for row in group.iter_rows(named=True):
            policies.setdefault(row["policy"], {})[row["metric"]] = row
        listed.append(Replayed(name if names.count(name) == 1 else f"{name} ({group['instance'][0][:8]})", policies))
    return listed


def table_of(trace: Replayed) -> Table:
    """The policies on a trace, each figure the mean over seeds with the least and the largest."""
    policies, whole = trace.policies, trace.finished
    there = {metric for measured in policies.values() for metric in measured if metric is not None}
    kinds = known_metrics()
    shown = [metric for metric in SHOWN if metric in there]
    shown += sorted(metric for metric in there - kinds.keys() if metric.startswith("utilisation_"))
    shown += sorted(there & own_metrics().keys())
    columns = [Column("Policy"), Column("Runs", number=True), Column("Failed", number=True)]
    columns += [_column(metric, kinds.get(metric)) for metric in shown]
    best = {metric: _best([*trace.means(metric).values()], kinds.get(metric)) for metric in shown}
    rows = []
    for policy, measured in policies.items():
        first = next(iter(measured.values()))
        cells = [
            _cell(measured.get(each), best[each] if policy in whole else None, unit(each, kinds.get(each))[1])
            for each in shown
        ]
        rows.append([words(policy), count(first["runs"]), count(first["failed"]), *cells])
    note = "Means over seeds, in brackets the least and the largest; a star marks the best mean"
    note += " of those that finished every replay." if len(whole) < len(policies) else "."
    if perfect := [of["perfect_estimates"]["mean"] for of in policies.values() if "perfect_estimates" in of]:
        note += f" PERFECT ESTIMATES: {100 * max(perfect):.1f} % of the jobs ask for exactly their runtime."
    said = clock_remarks((policy, next(iter(measured.values()))["clock"]) for policy, measured in policies.items())
    note = " ".join([note, *(f"{remark}." for remark in said)])
    return Table(f"{trace.name}: policies compared", columns, rows, note, anchor("sequence", trace.name))


def _column(key: str, metric: Metric | None) -> Column:
    words_of = key.replace("_", " ")
    unit_of = unit(key, metric)[0]
    title = f"{words_of} [{unit_of}]" if unit_of else words_of
    if metric is None:
        return Column(title, number=True, meaning="higher is better")
    way = f"; {metric.better} is better" if metric.better else ""
    return Column(title, number=True, meaning=f"{metric.description}{way}")


def unit(key: str, metric: Metric | None) -> tuple[str, float]:
    """The unit that a figure is shown in, and how much of the stored one that is."""
    if key.startswith("utilisation"):
        return "%", 0.01
    return ("h", 3600) if metric is not None and metric.unit == "s" else ("" if metric is None else metric.unit, 1)


def _best(means: list[float], metric: Metric | None) -> float | None:
    better = "higher" if metric is None else metric.better
    if len(means) < 2 or better is None:
        return None
    return min(means) if better == "lower" else max(means)


def _cell(figure: dict[str, Any] | None, best: float | None, scale: float) -> Cell:
    if figure is None:
        return Cell("–", "")
    mean, least, most = figure["mean"], figure["least"], figure["most"]
    text = significant(mean / scale, 4)
    if least < most:
        text += f" ({significant(least / scale, 4)} to {significant(most / scale, 4)})"
    return Cell(text, mean, best is not None and mean == best)
