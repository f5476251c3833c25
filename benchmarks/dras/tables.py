"""Means over seeds and jittered copies with their ranges, and the tables that show them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.dras.methods import AGENTS, DRAWN, RULES
from benchmarks.dras.rows import Row, values
from transom.cli.output.console import number
from transom.models.arrays import FloatArray

RESULTS = Path(__file__).parents[1] / "results" / "dras"
"""Where the rows behind the page are kept."""

ORDER = (*RULES, *DRAWN.values(), *AGENTS.values())


class Estimate(NamedTuple):
    """A mean with the least and the largest of the sample."""

    mean: float
    least: float
    most: float


def labels(rows: Sequence[Row]) -> list[str]:
    """The methods of some rows in the order of tables."""
    here = {row.label for row in rows}
    return [label for label in ORDER if label in here] + sorted(here.difference(ORDER))


def by_seed(rows: Sequence[Row], label: str, figure: str) -> dict[int | None, float]:
    """The mean over the jittered copies for each seed of the training."""
    return {agent: _mean(each) for agent, each in values(rows, label, figure).items()}


def estimate(rows: Sequence[Row], label: str, figure: str) -> Estimate:
    """The mean of a figure and its range.

    The sample is what would be drawn anew: the seeds of the training, each with its mean over the jittered copies; for
    what is not trained the copies.
    """
    found = values(rows, label, figure)
    sample = next(iter(found.values()))
    if len(found) > 1:
        sample = np.array([_mean(each) for each in found.values()])
    mean = _mean(sample)
    return Estimate(mean, *((mean, mean) if np.isnan(mean) else (float(np.nanmin(sample)), float(np.nanmax(sample)))))


def main_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Columns and cells of the table of all methods: means with ranges."""
    columns = ["method", "mean wait [s]", "bounded slowdown", "max wait [h]", "response [h]", "utilisation [%]"]
    cells = []
    for label in labels(rows):
        wait, slow, longest, response, used = (
            estimate(rows, label, name)
            for name in ("mean_wait", "mean_bounded_slowdown", "max_wait", "mean_response", "utilisation_submitting")
        )
        cells.append(
            [
                label,
                _between(wait, 1, 0),
                _between(slow, 1, 1),
                _between(longest, 3600, 0),
                number(response.mean / 3600, 2),
                number(100 * used.mean, 2),
            ]
        )
    return columns, cells


def seed_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Columns and cells of the table of every seed: means over the jittered copies."""
    trained = [label for label in labels(rows) if any(row.label == label and row.agent is not None for row in rows)]
    seeds = sorted({row.agent for row in rows if row.agent is not None})
    columns = ["method", "figure", *(f"seed {seed}" for seed in seeds)]
    cells = []
    for label in trained:
        for name, title, unit, digits in (
            ("mean_wait", "mean wait [s]", 1, 0),
            ("mean_bounded_slowdown", "bounded slowdown", 1, 1),
            ("max_wait", "max wait [h]", 3600, 0),
        ):
            means = by_seed(rows, label, name)
            shown = [number(means[seed] / unit, digits) if seed in means else "-" for seed in seeds]
            cells.append([label, title, *shown])
    return columns, cells


def mode_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Columns and cells of the paper's Table IV with figure 8 beside it: jobs, node-hours and mean wait by mode."""
    columns = ["method"]
    for mode in ("backfilled", "ready", "reserved"):
        columns += [f"{mode}: jobs [%]", "node-hours [%]", "wait [h]"]
    cells = []
    for label in labels(rows):
        row = [label]
        for mode in ("backfilled", "ready", "reserved"):
            shares = (estimate(rows, label, f"{kind}_share_{mode}").mean for kind in ("job", "node_hour"))
            row += [number(100 * share, 1) for share in shares]
            row.append(number(estimate(rows, label, f"mean_wait_{mode}").mean / 3600, 1))
        cells.append(row)
    return columns, cells


def markdown(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table as Markdown."""
    lines = [columns, ["---", *("---:" for _ in columns[1:])], *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _between(shown: Estimate, unit: float, digits: int) -> str:
    mean, least, most = (number(each / unit, digits) for each in shown)
    return mean if least == most else f"{mean} ({least} to {most})"


def _mean(sample: FloatArray) -> float:
    """The mean of what is a number; NaN without any, as of the wait in a mode that no job started in."""
    known = sample[~np.isnan(sample)]
    return float(known.mean()) if len(known) else float("nan")
