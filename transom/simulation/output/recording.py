"""Schedules on disk: a folder with ``jobs.parquet`` and ``decisions.parquet``.

``jobs.parquet`` holds one row per job by (submission, id): ``job_id, submit, start, end, nodes,
node_ids, walltime, mode, user, priority, order``, then ``hop_cost``, ``leaves`` and ``pods`` on a
cluster with a topology, ``demand_NAME`` for each further resource, ``depends_on`` where there are dependencies,
``logged_start`` where the trace states starts (-1: not that of this job), and the columns of :data:`TEXTS` that the
trace states; times are seconds on the trace's own clock. What the rows alone do not say (policy, machine, rules,
versions, digest) is in the file's metadata under the key ``transom``, as JSON.

``decisions.parquet`` holds one row per pass: the columns of the schedule's decisions and, where promises were taken
down, ``promised_jobs`` and ``promised_starts``, lists of what that pass changed (:class:`Changes`). Replays with
outages have two further files (:mod:`~transom.simulation.output.outage_recording`).

The node ids and promises of a large replay would fill the memory many times over, so they are expanded,
written and read in pieces.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transom.errors import DocumentError, ModelError
from transom.io.parquet import column_names, list_lengths, read_card, read_columns, scan, whole_parquet
from transom.models import Cluster, FatTree, JobTable
from transom.models.arrays import IntArray
from transom.result import versions
from transom.simulation.core.promise_log import PIECE, Changes, PromiseLog, pieces_of
from transom.simulation.core.schedule import MODES, PROMISED, SPREAD, Schedule, Spread
from transom.simulation.output.outage_recording import read_outages, write_outages
from transom.traces.further_fields import JOB_TEXTS
from transom.traces.origin import Diagnostic

if TYPE_CHECKING:
    import polars as pl

    from transom.simulation.core.node_runs import NodeRuns

FORMAT = "transom/schedule/1"

TEXTS = ("partition", "group", *JOB_TEXTS)
"""Columns of text that recordings have where the trace states them: nothing but pages and people read them."""

_PIECE = 2_000_000  # node ids that are expanded at once
_GROUP = 4_000_000  # node ids or promises in a row group, which the writer holds in memory


def write_schedule(
    schedule: Schedule,
    folder: str | os.PathLike[str],
    runs: NodeRuns,
    details: Mapping[str, Any] | None = None,
    promises: PromiseLog | None = None,
    texts: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Write ``jobs.parquet`` and ``decisions.parquet``; each appears whole or not at all.

    ``jobs.parquet`` comes last: where it stands, the recording is complete.

    Parameters
    ----------
    schedule : what to write.
    folder : made if need be.
    runs : the nodes of each job.
    details : what else is needed to run it again (seed, trace, digest of the workload ...), in
        JSON's terms; :func:`read_details` gives it back.
    promises : what the passes promised (:func:`read_promises`); None records the columns of the decisions alone.
    texts : columns of :data:`TEXTS`, each of shape ``(jobs,)``, that go beside the jobs.

    Raises
    ------
    ModelError : ``runs`` does not give every job as many nodes as it asks for.
    DocumentError : a column of the decisions is not of numbers, truth values or text, or a file cannot be written.
    """
    schedule = replace(schedule, decisions=_plain_columns(schedule))
    sizes = runs.last - runs.first + 1
    held = np.add.reduceat(np.append(sizes, 0), runs.offsets[:-1]) if len(schedule) else np.empty(0, np.int64)
    wrong = np.flatnonzero((held != schedule.jobs.nodes) | (np.diff(runs.offsets) <= 0))
    if wrong.size:
        job = wrong[0]
        raise ModelError(f"job {schedule.jobs.id[job]}: asks for {schedule.jobs.nodes[job]} nodes, has other runs")
    card = {"transom": json.dumps(_card(schedule, details or {}))}
    target = Path(folder)

    # One table after the other: those of a long replay take gigabytes.
    _write_decisions(schedule, target / "decisions.parquet", promises, card)
    table = schedule.to_frame()
    for name, column in (texts or {}).items():
        table = table.with_columns(_text_column(name, column))

    def parts() -> Iterator[pl.DataFrame]:
        return (_with_nodes(table[i:j], runs, i, j) for i, j in pieces_of(schedule.jobs.nodes, _PIECE))

    write_outages(schedule, target, card)
    with whole_parquet(target / "jobs.parquet") as path:
        _sink(parts, _with_nodes(table[:0], runs, 0, 0), schedule.jobs.nodes, path, card)


def _write_decisions(schedule: Schedule, target: Path, log: PromiseLog | None, card: dict[str, str]) -> None:
    frame = _frame(schedule.decisions)
    with whole_parquet(target) as path:
        if log is None:
            frame.write_parquet(path, metadata=card)
            return
        none = _with_promises(frame[:0], Changes(0, np.zeros(1, np.int64), *np.empty((2, 0), np.int64)))
        _sink(lambda: (_with_promises(frame, each) for each in log.pieces()), none, log.per_pass, path, card)


def _sink(
    parts: Callable[[], Iterator[pl.DataFrame]], none: pl.DataFrame, items: IntArray, path: Path, card: dict[str, str]
) -> None:
    """Write a table part by part; ``none`` has its columns, ``items`` says how many list items each row holds."""
    from polars.io.plugins import register_io_source

    def pieces(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        for part in parts():
            yield part if columns is None else part.select(columns)

    table = register_io_source(pieces, schema=none.schema)
    table.sink_parquet(path, metadata=card, row_group_size=_rows_per_group(items))


def read_schedule(folder: str | os.PathLike[str]) -> Schedule:
    """Read what :func:`write_schedule` wrote; the node ids stay on disk (:func:`read_node_runs`).

    Raises
    ------
    DocumentError : a file is missing or damaged, is of another format or version, or both are not
        of one replay.
    """
    jobs_path, decisions_path = Path(folder) / "jobs.parquet", Path(folder) / "decisions.parquet"
    card, other = read_card(jobs_path, FORMAT), read_card(decisions_path, FORMAT)
    if card.get("digest") != other.get("digest"):
        raise DocumentError(f"{folder}: jobs.parquet and decisions.parquet are of different replays")
    rows, decisions = read_columns(jobs_path, leave=("node_ids", *TEXTS)), read_columns(decisions_path, leave=PROMISED)
    try:
        tree = _read_tree(card["num_nodes"], card.get("topology"))
        cluster = Cluster(card["num_nodes"], tuple(card["resources"]), tuple(card["capacities"]), tree)
        schedule = _schedule(rows, decisions, cluster, card)
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise DocumentError(f"{jobs_path}: {reason}") from None
    if schedule.digest() != card["digest"]:
        raise DocumentError(f"{jobs_path}: the rows do not fit the digest in the metadata; a file was altered")
    if "outages" in card:
        return replace(schedule, outages=read_outages(Path(folder), schedule.jobs, card["outages"], FORMAT))
    return schedule


def read_texts(folder: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The columns of :data:`TEXTS` that a recording has, each of shape ``(jobs,)``.

    Raises
    ------
    DocumentError : ``jobs.parquet`` is missing or damaged.
    """
    path = Path(folder) / "jobs.parquet"
    return read_columns(path, only=[name for name in TEXTS if name in column_names(path)])


def read_details(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What stands in the metadata: policy, workload, machine, rules, versions, digest and ``details``.

    Raises
    ------
    DocumentError : ``jobs.parquet`` is missing, damaged, or of another format or version.
    """
    return read_card(Path(folder) / "jobs.parquet", FORMAT)


def read_node_runs(folder: str | os.PathLike[str]) -> NodeRuns:
    """The nodes of each job as runs of consecutive ids.

    Raises
    ------
    DocumentError : ``jobs.parquet`` is missing or damaged, or a job's node ids do not ascend or are
        not as many as it asks for.
    """
    from transom.simulation.core.node_runs import NodeRuns

    path = Path(folder) / "jobs.parquet"
    read_card(path, FORMAT)
    nodes = read_columns(path, only=("nodes",))["nodes"]
    first, last, counts = [], [], []
    for begin, end in pieces_of(nodes, _PIECE):
        lists = scan(path, "node_ids", begin, end - begin)
        ids = lists.explode().to_numpy()
        owner = np.repeat(np.arange(end - begin), lists.list.len().to_numpy())
        same = np.diff(owner) == 0
        if len(ids) != nodes[begin:end].sum() or (np.diff(ids)[same] <= 0).any():
            raise DocumentError(f"{path}: node_ids of rows {begin + 1} to {end}: not ascending or not as many as nodes")
        starts = np.concatenate(([True], ~same | (np.diff(ids) != 1)))
        first.append(ids[starts])
        last.append(ids[np.append(starts[1:], True)])
        counts.append(np.bincount(owner[starts], minlength=end - begin))
    offsets = np.concatenate(([0], np.cumsum(np.concatenate(counts)))) if counts else np.zeros(1)
    return NodeRuns(offsets.astype(np.int64), _joined(first), _joined(last))


def holds_promises(folder: str | os.PathLike[str]) -> bool:
    """Whether all promises are recorded, not one a pass as in older recordings.

    Raises
    ------
    DocumentError : ``decisions.parquet`` is missing or damaged.
    """
    return list_lengths(Path(folder) / "decisions.parquet", PROMISED[0]) is not None


def read_promises(folder: str | os.PathLike[str]) -> Iterator[Changes]:
    """What each pass promised, some passes at a time (:func:`~transom.simulation.core.promise_log.promises_in_force`).

    Raises
    ------
    DocumentError : ``decisions.parquet`` is missing or damaged, or was recorded when it held one promise a pass.
    """
    path = Path(folder) / "decisions.parquet"
    read_card(path, FORMAT)
    counts = list_lengths(path, PROMISED[0])
    if counts is None:
        raise DocumentError(f"{path}: holds one promise a pass, not all of them; record it again with --force")
    for begin, end in pieces_of(counts, PIECE):
        jobs, starts = (scan(path, name, begin, end - begin).explode().drop_nulls() for name in PROMISED)
        offsets = np.append(0, np.cumsum(counts[begin:end]))
        if not len(jobs) == len(starts) == offsets[-1]:
            raise DocumentError(f"{path}: passes {begin + 1} to {end}: not as many promised_starts as promised_jobs")
        yield Changes(begin, offsets, jobs.to_numpy(), starts.to_numpy())


def _joined(parts: list[NDArray[Any]]) -> IntArray:
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


def _card(schedule: Schedule, details: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "policy": schedule.policy,
        "workload": schedule.workload,
        "num_nodes": int(schedule.cluster.num_nodes),
        "resources": list(schedule.cluster.resources),
        "capacities": [int(c) for c in schedule.cluster.capacities],
        **_tree_card(schedule.cluster.topology),
        "rules": schedule.rules,
        "remarks": [each._asdict() for each in schedule.diagnostics],
        "jobs": len(schedule),
        "digest": schedule.digest(),
        **_outage_card(schedule),
        "versions": versions(),
        "details": {"epoch": schedule.epoch, **details},
    }


def _outage_card(schedule: Schedule) -> dict[str, Any]:
    log = schedule.outages
    return {} if log is None else {"outages": {"on_failure": log.on_failure, "digest": log.digest()}}


def _tree_card(tree: FatTree | None) -> dict[str, Any]:
    if tree is None:
        return {}
    if tree.regular is not None:
        return {"topology": dict(zip(("leaf_nodes", "pod_nodes"), tree.regular, strict=True))}
    above = {} if tree.above is None else {"above": tree.above.tolist()}
    return {"topology": {"leaf": tree.leaf.tolist(), "pod": tree.pod.tolist(), **above}}


def _read_tree(nodes: int, card: Mapping[str, Any] | None) -> FatTree | None:
    if card is None:
        return None
    if "leaf_nodes" in card:
        return FatTree.uniform(nodes, card["leaf_nodes"], card["pod_nodes"])
    return FatTree(card["leaf"], card["pod"], card.get("above"))


def _plain_columns(schedule: Schedule) -> dict[str, NDArray[Any]]:
    plain = {}
    for name, column in schedule.decisions.items():
        if column.ndim != 1 or column.dtype.kind not in "iufbU":
            raise DocumentError(f"decisions: column {name!r} must hold numbers, truth values or text")
        # Text comes back as wide as its longest entry; the digest is of that form.
        plain[name] = np.array(column.tolist(), dtype=str) if column.dtype.kind == "U" else column
    return plain


def _text_column(name: str, column: NDArray[Any]) -> pl.Series:
    import polars as pl

    return pl.Series(name, column.tolist(), pl.String)


def _frame(columns: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame({name: pl.Series(name, np.ascontiguousarray(column)) for name, column in columns.items()})


def _with_nodes(rows: pl.DataFrame, runs: NodeRuns, begin: int, end: int) -> pl.DataFrame:
    """The rows of jobs ``begin`` to ``end - 1`` with their node ids as the sixth column."""
    import polars as pl

    low, high = int(runs.offsets[begin]), int(runs.offsets[end])
    first, size = runs.first[low:high], runs.last[low:high] - runs.first[low:high] + 1
    before = np.cumsum(size) - size
    ids = np.arange(size.sum()) - np.repeat(before - first, size)
    held = np.repeat(np.repeat(np.arange(end - begin), np.diff(runs.offsets[begin : end + 1])), size)
    lists = (
        pl.DataFrame({"job": held.astype(np.int32), "node_ids": ids.astype(np.int32)})
        .group_by("job", maintain_order=True)
        .agg("node_ids")["node_ids"]
    )
    return rows.insert_column(5, lists)


def _with_promises(decisions: pl.DataFrame, changes: Changes) -> pl.DataFrame:
    """The rows of these passes, with their promises as the last two columns."""
    import polars as pl

    count = len(changes.offsets) - 1
    owner = np.repeat(np.arange(count), np.diff(changes.offsets))
    lists = pl.DataFrame({"row": owner, PROMISED[0]: changes.jobs, PROMISED[1]: changes.starts})
    every = pl.DataFrame({"row": np.arange(count)}).join(
        lists.group_by("row", maintain_order=True).agg(PROMISED), "row", "left", maintain_order="left"
    )
    filled = every.select(pl.col(PROMISED).fill_null(pl.lit([], pl.List(pl.Int64))))
    return decisions[changes.first : changes.first + count].hstack(filled)


def _rows_per_group(items: IntArray) -> int:
    """How many rows a row group may have so that none holds too many items of lists."""
    rows = 1 << 16
    while rows > 64 and len(items) and np.add.reduceat(items, np.arange(0, len(items), rows)).max() > _GROUP:
        rows //= 2
    return rows


def _schedule(
    rows: dict[str, NDArray[Any]], decisions: dict[str, NDArray[Any]], cluster: Cluster, card: Mapping[str, Any]
) -> Schedule:
    mode = np.full(len(rows["mode"]), -1)
    for position, name in enumerate(MODES):
        mode[rows["mode"] == name] = position
    if (mode < 0).any():
        raise ModelError(f"mode {str(rows['mode'][mode.argmin()])!r} is not known; known: {', '.join(MODES)}")
    fixed = ("job_id", "submit", "nodes", "walltime", "user", "priority")
    columns = [*fixed, *(f"demand_{name}" for name in cluster.resources)]
    parents = rows.get("depends_on", ())
    jobs = JobTable(
        np.column_stack([rows[name] for name in columns]),
        {job: tuple(of) for job, of in zip(rows["job_id"].tolist(), parents, strict=False) if len(of)},
    )
    return Schedule(
        policy=card["policy"],
        workload=card["workload"],
        cluster=cluster,
        jobs=jobs,
        start=rows["start"],
        end=rows["end"],
        mode=mode,
        order=rows["order"],
        decisions=decisions,
        rules=card["rules"],
        diagnostics=tuple(Diagnostic(**each) for each in card.get("remarks", ())),
        logged=rows.get("logged_start"),
        epoch=card["details"].get("epoch"),
        spread=None if cluster.topology is None else Spread(*(rows[name] for name in SPREAD)),
    )
