"""What outages did, on disk: ``outages.parquet`` and ``attempts.parquet`` beside the jobs and decisions of a replay.

``outages.parquet`` holds a row per outage and range of nodes: ``kind`` (failure, maintenance, drain), ``row`` (of what
was stated, from 0; -1: by the law), ``begin``, ``end`` [s], ``first``, ``last`` (node ids). ``attempts.parquet`` holds
a row per attempt of a job that an outage ended, in the order of their ends: ``job_id, attempt`` (from 1), ``start,
end``, ``outcome`` (requeued, lost) and ``node_ids``. The last attempt of a job stands in ``jobs.parquet``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transom._system.files import atomic_path
from transom.errors import DocumentError, ModelError
from transom.io.parquet import read_card, read_columns
from transom.models import JobTable
from transom.models.arrays import IntArray
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.outage_log import OUTAGE_COLUMNS, OUTAGE_KINDS, OutageLog
from transom.simulation.core.schedule import Schedule

FILES = ("outages.parquet", "attempts.parquet")


def write_outages(schedule: Schedule, folder: Path, card: Mapping[str, str]) -> None:
    """Write both files, each whole or not at all; without outages, remove those of another replay."""
    import polars as pl

    log = schedule.outages
    if log is None:
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        return
    ids = [
        [n for k in range(begin, end) for n in range(int(log.runs.first[k]), int(log.runs.last[k]) + 1)]
        for begin, end in zip(log.runs.offsets[:-1].tolist(), log.runs.offsets[1:].tolist(), strict=True)
    ]
    tables = (
        pl.DataFrame(
            {
                "kind": pl.Series([OUTAGE_KINDS[k] for k in log.kind.tolist()], dtype=pl.String),
                **{name: getattr(log, name) for name in OUTAGE_COLUMNS[1:]},
            }
        ),
        pl.DataFrame(
            {
                "job_id": schedule.jobs.id[log.job],
                "attempt": _numbers(log.job),
                "start": log.start,
                "end": log.stop,
                "outcome": pl.Series(["requeued" if again else "lost" for again in log.requeued()], dtype=pl.String),
                "node_ids": pl.Series(ids, dtype=pl.List(pl.Int32)),
            }
        ),
    )
    for name, table in zip(FILES, tables, strict=True):
        with atomic_path(folder / name) as path:
            table.write_parquet(path, metadata=dict(card))


def read_outages(folder: Path, jobs: JobTable, card: Mapping[str, Any], format: str) -> OutageLog:
    """What :func:`write_outages` wrote.

    Parameters
    ----------
    folder, jobs : of the recording.
    card : what its metadata say of outages: ``on_failure`` and ``digest``.
    format : of the files.

    Raises
    ------
    DocumentError : a file is missing or damaged, or was altered.
    """
    paths = [folder / name for name in FILES]
    for path in paths:
        read_card(path, format)
    rows, attempts = (read_columns(path) for path in paths)
    try:
        by_id = np.argsort(jobs.id)
        where = by_id[np.minimum(np.searchsorted(jobs.id[by_id], attempts["job_id"]), len(by_id) - 1)]
        if (jobs.id[where] != attempts["job_id"]).any():
            raise ModelError(f"job {attempts['job_id'][(jobs.id[where] != attempts['job_id']).argmax()]} is none")
        lost = np.unique(where[attempts["outcome"] == "lost"])
        log = OutageLog(
            card["on_failure"],
            kind=np.array([OUTAGE_KINDS.index(str(kind)) for kind in rows["kind"]], np.int64),
            **{name: rows[name] for name in OUTAGE_COLUMNS[1:]},
            job=where,
            start=attempts["start"],
            stop=attempts["end"],
            runs=_runs(attempts["node_ids"]),
            lost=lost,
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise DocumentError(f"{paths[1]}: {reason}") from None
    if log.digest() != card["digest"]:
        raise DocumentError(f"{paths[0]}: the rows do not fit the digest in the metadata; a file was altered")
    return log


def _numbers(jobs: IntArray) -> IntArray:
    """How many attempts of its job each one is, from 1."""
    seen: dict[int, int] = {}
    found = []
    for job in jobs.tolist():
        seen[job] = seen.get(job, 0) + 1
        found.append(seen[job])
    return np.array(found, np.int64)


def _runs(lists: Any) -> NodeRuns:
    firsts, lasts, offsets = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [0]
    for each in lists:
        ids = np.array(each, np.int64)
        cuts = np.flatnonzero(np.diff(ids) != 1)
        firsts.append(ids[np.concatenate(([0], cuts + 1))])
        lasts.append(ids[np.append(cuts, len(ids) - 1)])
        offsets.append(offsets[-1] + len(cuts) + 1)
    return NodeRuns(np.array(offsets), np.concatenate(firsts), np.concatenate(lasts))
