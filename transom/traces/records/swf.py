"""Traces in Standard Workload Format, with further fields, as Parquet files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from transom._system.notices import timed
from transom.errors import SpecError, TraceError
from transom.models.arrays import FloatArray
from transom.traces.partitions import unique_names
from transom.traces.records.findings import Findings
from transom.traces.records.importing import Imported, ImportRules, Site, built
from transom.traces.swf_header import FIELDS, Header, standard_name
from transom.traces.swf_lines import read_lines
from transom.traces.trace_file import NUMBERS, STATUS

if TYPE_CHECKING:
    import polars as pl

_OF = {
    "id": "job-number", "submit": "submit-time", "wait": "wait-time", "runtime": "run-time",
    "nodes": "allocated-processors", "req_nodes": "requested-processors", "walltime": "requested-time",
    "memory_each": "requested-memory", "status": "status", "user": "user", "group": "group", "app": "executable",
    "queue": "queue", "partition": "partition", "parent": "preceding-job",
}  # fmt: skip
"""What is read of the format's own fields."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_PARTIAL = {number: state for state, number in STATUS.items()}


def read_swf_records(
    path: str,
    rules: ImportRules = ImportRules(),  # noqa: B008  (frozen data)
    columns: Sequence[str] = (),
) -> Imported:
    """The trace of a file in Standard Workload Format.

    Fractions of numbers are cut. What a further field is called in the header (``; Columns: gpus energy``) or in
    ``columns`` is the name of its column.

    Parameters
    ----------
    path : the file, plain or gzip.
    rules : how records become a trace.
    columns : names of all fields in their order, or of those behind the 18th. The format's own are called as there
        (``requested-processors``) or as columns of a trace (``req_nodes``), in any order.

    Raises
    ------
    TraceError : the file cannot be read, or a field is not a number.
    SpecError : there are more names than fields, or one of them is no name or stands twice.
    """
    findings = Findings()
    with timed(f"reading {path}"):
        number, header = _numbers(path, columns)
        known = {name: number[field] for name, field in _OF.items() if field in number}
        known |= {name: number[name] for name in (*NUMBERS, *_OF) if name in number}
        further = [name for name in number if name not in (*_OF.values(), *known) and not name.isdigit()]
        lines = read_lines(path, (known["id"],), [at for name, at in known.items() if name != "id"])
        values = dict(zip((name for name in known if name != "id"), lines.real, strict=True))
        findings.records = len(lines.line)
        more = _further(path, {name: number[name] for name in further if name not in _standard()}, findings)
    frame = _frame(lines.whole[0], values, more, header, findings)
    size = None if header.faults and rules.nodes else header.machine()
    unsaid = [f"the header states {each}" for each in (*header.unsaid, *header.faults.values())] if size is None else []
    site = Site({"nodes": size} if size else {}, notes=unsaid)
    made = built([frame], findings, rules, path, site, tuple(more))
    if not header.epoch:
        return made
    return made._replace(card=replace(made.card, source={"epoch": header.epoch}))


def _standard() -> set[str]:
    return {standard_name(number) for number in range(1, len(FIELDS) + 1)}


def _numbers(path: str, columns: Sequence[str]) -> tuple[dict[str, int], Header]:
    """The number of each field by its name, and the header."""
    lines = read_lines(path, (1,))
    names = list(lines.header.columns or ())
    own = [standard_name(number) for number in range(1, len(FIELDS) + 1)]
    if len(columns) >= len(own):
        own, names = list(columns[: len(own)]), list(columns[len(own) :])
    elif columns:
        names = list(columns)
    headings = [*own, *names]
    for at, name in enumerate(headings):
        if not _NAME.fullmatch(name):
            raise SpecError(f"columns: expected names of letters, digits, _, . and -, got {name!r}")
        if name in headings[:at]:
            raise SpecError(f"columns: {name!r} stands twice")
    number = {name: at for at, name in enumerate(headings, 1)}
    for needed in ("id", "submit"):
        if needed not in number and _OF[needed] not in number:
            raise SpecError(f"columns: none is called {_OF[needed]} or {needed}")
    number.setdefault(_OF["id"], number.get("id", 0))
    return number, lines.header


def _further(path: str, number: Mapping[str, int], findings: Findings) -> dict[str, FloatArray]:
    """Further columns by name; those that hold texts are left out."""
    found = {}
    for name, at in number.items():
        try:
            found[name] = read_lines(path, (), (at,)).real[0]
        except TraceError:
            findings.note(f"column {name!r} holds more than numbers and is left out")
    return found


def _frame(
    id_: Any, values: Mapping[str, FloatArray], more: Mapping[str, FloatArray], header: Header, findings: Findings
) -> pl.DataFrame:
    import polars as pl

    whole = {name: np.trunc(array).astype(np.int64) for name, array in values.items()}
    cut = sum((array != np.trunc(array)).astype(np.int64) for array in values.values())
    findings.count("fractions of numbers, cut", int(np.count_nonzero(cut)))
    frame = pl.DataFrame({"id": id_, **whole, **more})
    for name in ("wait", "runtime", "nodes", "req_nodes", "walltime", "user", "partition", "queue", "app", "status"):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(-1, pl.Int64).alias(name))
    size = pl.when(pl.col("req_nodes") > 0).then("req_nodes").otherwise("nodes")
    derived = {
        "label": pl.col("id").cast(pl.String),
        "state": pl.col("status").replace_strict(_PARTIAL, default="", return_dtype=pl.String),
        "partition": _named("partition", "partition", unique_names(header.partitions)),
        "qos": _named("queue", "queue", {}),
        "name": _named("app", "app", {}),
    }
    if "start" not in frame.columns:
        # Some logs state how long a job waited that was cancelled then, and 0 for its runtime.
        never = (pl.col("runtime") < 0) | ((pl.col("runtime") == 0) & (pl.col("status") == STATUS["CANCELLED"]))
        waited = (pl.col("wait") >= 0) & ~never
        derived["start"] = pl.when(waited).then(pl.col("submit") + pl.col("wait")).otherwise(-1)
    if "memory_each" in frame.columns and "req_memory" not in frame.columns:
        each = pl.col("memory_each")
        derived["req_memory"] = pl.when((each > 0) & (size > 0)).then(each * size // 1024).otherwise(-1)
    if "group" in frame.columns:
        derived["group"] = _named("group", "group", {})
    if "parent" in frame.columns:
        parent = pl.col("parent")
        derived["depends_on"] = (
            pl.when(parent > 0).then(pl.concat_list(parent)).otherwise(pl.lit([], pl.List(pl.Int64)))
        )
    frame = frame.with_columns(**derived)
    if "end" not in frame.columns:
        ran = (pl.col("start") >= 0) & (pl.col("runtime") >= 0)
        frame = frame.with_columns(end=pl.when(ran).then(pl.col("start") + pl.col("runtime")).otherwise(-1))
    # A job that was interrupted has a line for the whole and one for each execution. The whole counts.
    part = frame["status"].is_between(2, 4)
    if part.any():
        there = part & frame["id"].is_in(frame.filter(~part)["id"].implode())
        findings.count("part of a job that has a line of its own, left out", int(there.sum()))
        frame = frame.filter(~there)
    return frame.drop("wait", "queue", "app", "status", "memory_each", "parent", strict=False)


def _named(column: str, kind: str, names: Mapping[int, str]) -> pl.Expr:
    """Numbers as texts: their names, else the kind and the number; nothing where unknown."""
    import polars as pl

    number = pl.col(column)
    text = pl.lit(kind) + number.cast(pl.String)
    return pl.when(number < 0).then(pl.lit("")).otherwise(number.replace_strict(names, default=text) if names else text)
