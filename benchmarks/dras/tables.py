"""Means with intervals over seeds and jittered copies, and the tables that show them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.dras.methods import AGENTS, DRAWN, RULES
from benchmarks.dras.rows import Row, read_rows, values
from transom.bench.statistics import interval
from transom.cli.output import number
from transom.errors import DocumentError
from transom.files import whole_file
from transom.models._arrays import FloatArray

RESULTS = Path(__file__).parents[1] / "results" / "dras"
"""Where the rows behind the page are kept."""

TRACES = ("theta_2022", "sdsc_sp2")
"""The files of rows there, one for each trace."""

ORDER = (*RULES, *DRAWN.values(), *AGENTS.values())


class Estimate(NamedTuple):
    """A mean with the ends of its 95 % bootstrap interval; the ends are the mean where there is one value."""

    mean: float
    low: float
    high: float


def labels(rows: Sequence[Row]) -> list[str]:
    """The methods of some rows in the order of tables."""
    here = {row.label for row in rows}
    return [label for label in ORDER if label in here] + sorted(here.difference(ORDER))


def by_seed(rows: Sequence[Row], label: str, figure: str) -> dict[int | None, float]:
    """The mean over the jittered copies for each seed of the training."""
    return {agent: _mean(each) for agent, each in values(rows, label, figure).items()}


def estimate(rows: Sequence[Row], label: str, figure: str) -> Estimate:
    """The mean of a figure and its interval.

    The sample is what would be drawn anew: the seeds of the training, each with its mean over the jittered copies; for
    what is not trained the copies.
    """
    found = values(rows, label, figure)
    sample = next(iter(found.values()))
    if len(found) > 1:
        sample = np.array([_mean(each) for each in found.values()])
    mean = _mean(sample)
    ends = interval(sample) if np.isfinite(sample).all() else None
    return Estimate(mean, *((mean, mean) if ends is None else (float(ends[0]), float(ends[1]))))


def main_table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Columns and cells of the table of all methods: means with intervals."""
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


def page_tables(folder: Path) -> dict[str, str]:
    """The tables of docs/dras.md as Markdown, by what they are, of the rows in a folder."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        if path.stem in TRACES:
            rows = read_rows(path)
            for name, table in (("methods", main_table), ("seeds", seed_table), ("modes", mode_table)):
                columns, cells = table(rows)
                if cells:
                    found[f"{path.stem}: {name}"] = markdown(columns, cells)
    return found


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """A page whose tables are replaced: each stands after a comment with its name, up to an empty line.

    Raises
    ------
    DocumentError : the page has no place for a table.
    """
    for name, table in tables.items():
        place = re.compile(rf"(<!-- {re.escape(name)} -->\n)(?:\|.*\n)*")
        if not place.search(page):
            raise DocumentError(f"the page has no line <!-- {name} -->")
        page = place.sub(lambda match: f"{match[1]}{table}\n", page)  # noqa: B023  (used at once)
    return page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--folder", type=Path, default=RESULTS, help="with the rows")
    parser.add_argument("--page", type=Path, help="replace the tables of this page instead of printing them")


def run(arguments: argparse.Namespace) -> None:
    """Print the tables of the page, or write them into it."""
    tables = page_tables(arguments.folder)
    if arguments.page:
        page = with_tables(arguments.page.read_text(encoding="utf-8"), tables)
        with whole_file(arguments.page) as file:
            file.write(page)
        return
    for name, table in tables.items():
        print(f"<!-- {name} -->\n{table}\n")


def _between(shown: Estimate, unit: float, digits: int) -> str:
    mean, low, high = (number(each / unit, digits) for each in shown)
    return mean if low == high else f"{mean} ({low} to {high})"


def _mean(sample: FloatArray) -> float:
    """The mean of what is a number; NaN without any, as of the wait in a mode that no job started in."""
    known = sample[~np.isnan(sample)]
    return float(known.mean()) if len(known) else float("nan")
