"""The loop over the instants of a replay: steps decide, and the rows of their decisions are collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom.models.arrays import IntArray
from transom.simulation.core import events
from transom.simulation.core.replay import Progress, Replay
from transom.simulation.core.schedule import COLUMNS

PAGE = 4096
"""Decisions whose rows lie side by side before they are put away."""

_REPORTS = 0.2  # seconds between two looks at the progress bar

Step = Callable[[int, int, bool], tuple[int, bool]]
"""``step(row, until, arrived)`` decides and fills the rows of the columns from ``row`` on, to before ``until``, or to
where it stops to let others look; it returns the next row, and whether the trace goes on. ``arrived`` says that the
events of the first decision have been taken in; otherwise the step takes in all events itself."""


def new_log() -> IntArray:
    """A page of the columns that every replay has, shape ``(columns, PAGE)``."""
    return np.empty((len(COLUMNS), PAGE), np.int64)


def drive(
    replay: Replay, step: Step, columns: Mapping[str, NDArray[Any]], report: Progress, leaps: bool = False
) -> dict[str, NDArray[Any]]:
    """Take a replay to its end.

    Parameters
    ----------
    replay : before its first event; its state is changed.
    step : decides.
    columns : pages that the step fills, a row for each decision; all of one length.
    report : called now and then with the number of started jobs, by the clock: one decision may take seconds.
    leaps : whether the step takes in events, and decides up to a page at once; otherwise events are taken in here, and
        each call is one decision. In a stepwise replay the events from which on a step must not go are taken in here.

    Returns
    -------
    All rows of the columns, by name.
    """
    page = len(next(iter(columns.values())))
    pages: list[list[NDArray[Any]]] = []
    due, more = 0.0, True
    while more:
        row = 0
        while more and row < page:
            if leaps and not replay.stepwise:
                row, more = step(row, page, False)
            elif more := replay.advance():
                row, _ = step(row, page if leaps else row + 1, True)
            if perf_counter() >= due:
                report(int(replay.state.at[events.STARTED]))
                due = perf_counter() + _REPORTS
        pages.append([column[:row].copy() for column in columns.values()])
    return {name: np.concatenate(rows) for name, rows in zip(columns, zip(*pages, strict=True), strict=True)}
