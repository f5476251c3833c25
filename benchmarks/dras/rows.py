"""Rows of measurements: one for each replay, kept in a table of comma-separated values."""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.dras.methods import Method
from transom import simulate
from transom._system.files import atomic_write
from transom.errors import DocumentError
from transom.generate import by_months
from transom.rng import stream
from transom.simulation import MODES
from transom.simulation.output.metrics import summary
from transom.simulation.output.verification import check_schedule
from transom.traces import Workload, read_swf

JITTER = 60
"""Submissions move by up to so much either way [s], alike for all methods."""

FIGURES = (
    "mean_wait",
    "median_wait",
    "p95_wait",
    "max_wait",
    "mean_response",
    "mean_slowdown",
    "mean_bounded_slowdown",
    "utilisation",
    "utilisation_submitting",
    *(f"job_share_{mode}" for mode in MODES),
    *(f"node_hour_share_{mode}" for mode in MODES),
    *(f"mean_wait_{mode}" for mode in MODES),
)
"""What is kept of each replay (:data:`transom.simulation.output.metrics.METRICS`)."""


class Row(NamedTuple):
    """One replay: on which jobs, by which method of which seed, of which jittered copy, and its figures."""

    workload: str
    label: str
    agent: int | None
    jitter: int
    figures: dict[str, float]


def add_workload(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which jobs."""
    parser.add_argument("trace", type=Path)
    parser.add_argument("--epoch", type=int, default=0, help="second 0 of the trace in Unix time: its UnixStartTime")
    parser.add_argument("--months", type=int, nargs=2, default=(4, 12), metavar=("FIRST", "LAST"))


def workload_of(arguments: argparse.Namespace) -> Workload:
    """The jobs of some months of a trace (:func:`transom.generate.by_months`)."""
    return by_months(read_swf(arguments.trace), *arguments.months, arguments.epoch)


def copies(workload: Workload, count: int) -> list[Workload]:
    """Jittered copies of a workload: those of ``transom simulate --jitter 60 --repeats COUNT``."""
    return [workload.jittered(JITTER, stream(0, "jitter", number)) for number in range(count)]


def measured(copy: Workload, method: Method, jitter: int) -> Row:
    """Replay, verify, and keep the figures."""
    schedule = simulate(copy, method.spec, seed=jitter, label=method.label)
    faults = check_schedule(copy, schedule)
    if faults:
        raise RuntimeError(f"{method.label}: {'; '.join(faults[:3])}")
    figures = summary(schedule)
    return Row(copy.name, method.label, method.agent, jitter, {name: figures[name] for name in FIGURES})


def measure_all(
    workload: Workload, methods: Sequence[Method], jitters: int, path: Path, done: Callable[[], None] = lambda: None
) -> list[Row]:
    """The rows of all methods on all jittered copies; those that the file holds are not measured again.

    Parameters
    ----------
    workload : the jobs.
    methods : what to compare.
    jitters : how many copies.
    path : where the rows are kept; rows of other methods and workloads stay.
    done : called after each replay.
    """
    kept = read_rows(path) if path.exists() else []
    known = {_key(row) for row in kept}
    made = copies(workload, jitters)
    for method in methods:
        for jitter, copy in enumerate(made):
            if (workload.name, method.label, method.agent, jitter) not in known:
                kept.append(measured(copy, method, jitter))
            done()
        write_rows(path, kept)
    wanted = {(method.label, method.agent) for method in methods}
    return [row for row in kept if row.workload == workload.name and (row.label, row.agent) in wanted]


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows; the file is there whole or not at all. Figures keep seven digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["workload", "method", "agent", "jitter", *FIGURES])
        for row in rows:
            cells = ["" if math.isnan(row.figures[name]) else f"{row.figures[name]:.7g}" for name in FIGURES]
            out.writerow([row.workload, row.label, "" if row.agent is None else row.agent, row.jitter, *cells])


def read_rows(path: Path) -> list[Row]:
    """Read what :func:`write_rows` wrote.

    Raises
    ------
    DocumentError : it is no such table.
    """
    with reading(path) as lines:
        return [_row(line) for line in lines]


@contextmanager
def reading(path: Path) -> Iterator[list[dict[str, str]]]:
    """The lines of a table by column; what cannot be read from them is told as one error.

    Raises
    ------
    DocumentError : the file cannot be read, or lacks a column or holds no number where one belongs.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            yield list(csv.DictReader(file))
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"{path}: not a table of measurements: {error!r}") from None


def values(rows: Iterable[Row], label: str, figure: str) -> dict[int | None, np.ndarray]:
    """A figure of one method by the seed of its training (None without), over its jittered copies."""
    found: dict[int | None, list[float]] = {}
    for row in rows:
        if row.label == label:
            found.setdefault(row.agent, []).append(row.figures[figure])
    return {agent: np.array(each) for agent, each in found.items()}


def _row(line: dict[str, str]) -> Row:
    agent = int(line["agent"]) if line["agent"] else None
    figures = {name: float(line[name]) if line[name] else math.nan for name in FIGURES}
    return Row(line["workload"], line["method"], agent, int(line["jitter"]), figures)


def _key(row: Row) -> tuple[str, str, int | None, int]:
    return row.workload, row.label, row.agent, row.jitter
