"""The log of advice: a row when a job's advice is given or changes, kept in one Parquet file; and how it came out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from transom.io.parquet import read_card, readable, whole_parquet
from transom.slurm.advice import Advice
from transom.traces.records.values import UNKNOWN

if TYPE_CHECKING:
    import polars as pl

FORMAT = "transom/advice/1"
"""Columns: ``time`` [s since 1970], ``policy``, ``job`` as Slurm names it, ``action`` (start, reserve), ``at`` [s], the
list of ``nodes``, and ``slurm_start``, when Slurm meant to start it, -1 where it did not say."""


class AdviceLog:
    """A log that grows; what stands in the file already is kept.

    Raises
    ------
    DocumentError : the file is no log of advice.
    """

    def __init__(self, path: Path, policy: str) -> None:
        self._path, self._policy = path, policy
        self._rows = read_log(path).to_dicts() if path.exists() else []
        self._last: dict[str, tuple[str, str]] = {}

    def add(self, advice: Advice) -> int:
        """Write what is new in some advice, whole or not at all; returns the number of rows."""
        advised = [(start.job, "start", advice.now, start.where) for start in advice.starts]
        advised += [(job, "reserve", at, "") for job, at in advice.reserve]
        fresh = [
            dict(zip(_columns(), (advice.now, self._policy, job.name, action, at, nodes, job.start), strict=True))
            for job, action, at, nodes in advised
            if self._last.get(job.name) != (action, nodes)
        ]
        self._last = {job.name: (action, nodes) for job, action, _, nodes in advised}
        if fresh:
            import polars as pl

            self._rows += fresh
            with whole_parquet(self._path) as path:
                card = json.dumps({"format": FORMAT})
                pl.DataFrame(self._rows, _columns()).write_parquet(path, metadata={"transom": card})
        return len(fresh)


def read_log(path: Path) -> pl.DataFrame:
    """The rows of a log.

    Raises
    ------
    DocumentError : the file is no log of advice.
    """
    import polars as pl

    read_card(path, FORMAT)
    with readable(path):
        return pl.read_parquet(path, glob=False).select(list(_columns()))


class Score(NamedTuple):
    """How the advice of a policy came out; times in seconds, None where there is nothing to compare.

    ``advised`` jobs should have started at some time, ``started`` of them did, ``earlier`` of these before the advice
    and ``later`` more than a minute after it. ``delay`` is from the first advice to the start, in the median and on
    average; ``slurm_error`` how far Slurm's own first expectation was from the start, in the median.
    """

    policy: str
    advised: int
    started: int
    earlier: int
    later: int
    delay_median: float | None
    delay_mean: float | None
    slurm_error_median: float | None


def score(log: pl.DataFrame, started: Mapping[str, int]) -> list[Score]:
    """How the advice of each policy compares with when jobs started, by Slurm's names of jobs [s since 1970]."""
    found = []
    for policy in log["policy"].unique(maintain_order=True).to_list():
        rows = log.filter(policy=policy)
        first = rows.filter(action="start").group_by("job", maintain_order=True).first()
        known = [row for row in first.to_dicts() if row["job"] in started]
        delay = np.array([started[row["job"]] - row["time"] for row in known], float)
        noted = rows.group_by("job", maintain_order=True).first().to_dicts()
        errors = [
            abs(started[row["job"]] - row["slurm_start"])
            for row in noted
            if row["job"] in started and row["slurm_start"] != UNKNOWN
        ]
        found.append(
            Score(
                policy=policy,
                advised=len(first),
                started=len(known),
                earlier=int((delay < 0).sum()),
                later=int((delay > _SOON).sum()),
                delay_median=float(np.median(delay)) if len(delay) else None,
                delay_mean=float(delay.mean()) if len(delay) else None,
                slurm_error_median=float(np.median(errors)) if errors else None,
            )
        )
    return found


_SOON = 60


def _columns() -> dict[str, Any]:
    import polars as pl

    whole, text = pl.Int64, pl.String
    return {
        "time": whole, "policy": text, "job": text, "action": text, "at": whole, "nodes": text, "slurm_start": whole,
    }  # fmt: skip
