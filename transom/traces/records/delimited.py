"""Tables of text with a header line and a delimiter, as ``sacct --parsable2`` and ``squeue -o`` print them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from transom.errors import TraceError
from transom.traces.records.findings import Findings, quoted
from transom.traces.records.values import instant, nothing, state

if TYPE_CHECKING:
    import polars as pl

LINE = "line"
"""The column with the number of each record's line."""

FIELDS = {
    "job": ("jobid", "id"),
    "raw": ("jobidraw",),
    "array_job": ("arrayjobid",),
    "array_task": ("arraytaskid",),
    "het_job": ("hetjobid",),
    "submit": ("submit", "submittime"),
    "eligible": ("eligible", "eligibletime"),
    "start": ("start", "starttime"),
    "end": ("end", "endtime"),
    "elapsed": ("elapsed", "time", "timeused", "runtime"),
    "elapsed_raw": ("elapsedraw",),
    "suspended": ("suspended",),
    "limit": ("timelimit",),
    "limit_raw": ("timelimitraw",),
    "nnodes": ("nnodes", "nodes", "numnodes", "nodecnt"),
    "alloc_nodes": ("allocnodes",),
    "req_nodes": ("reqnodes", "minnodes"),
    "ncpus": ("ncpus", "cpus", "numcpus", "proccnt"),
    "alloc_cpus": ("alloccpus",),
    "req_cpus": ("reqcpus", "mincpus"),
    "alloc_tres": ("alloctres", "tresalloc", "tres"),
    "req_tres": ("reqtres",),
    "gres": ("allocgres", "gres", "trespernode"),
    "req_gres": ("reqgres",),
    "req_mem": ("reqmem", "minmemory", "minmemorynode"),
    "partition": ("partition", "queue"),
    "qos": ("qos",),
    "account": ("account",),
    "user": ("user", "username"),
    "uid": ("uid", "userid"),
    "group": ("group", "groupname"),
    "state": ("state", "statecompact", "st", "jobstate"),
    "name": ("jobname", "name"),
    "nodes": ("nodelist", "nodelist(reason)"),
    "req_node_list": ("reqnodelist", "req_nodes"),
    "reservation": ("reservation", "reservationname"),
    "dependency": ("dependency",),
    "restarts": ("restarts", "restartcnt"),
    "priority": ("priority", "prioritylong"),
    "cluster": ("cluster",),
}
"""Fields of a record, and what headers call them, without case, blanks and underscores."""

STEPS = "steps of jobs (not read)"
"""The name of a repair: lines about parts of jobs."""

_FIELD = {name: field for field, names in FIELDS.items() for name in names}
_FREE = ("jobname", "name", "comment", "admincomment", "systemcomment", "submitline", "workdir", "command", "extra")
_TIMES = ("submit", "eligible", "start", "end")


def field_of(heading: str) -> str:
    """The field that a heading names, else the empty text: ``ReqNodes`` is ``req_nodes``, ``NODELIST`` is ``nodes``."""
    plain = heading.strip().partition("%")[0].lower().replace(" ", "")
    return _FIELD.get(plain) or _FIELD.get(plain.replace("_", ""), "")


def read_delimited(
    path: str, blocks: Iterable[tuple[int, bytearray]], findings: Findings, columns: Sequence[str] = ()
) -> Iterator[pl.DataFrame]:
    """The fields that are known, as text, block by block; :data:`LINE` counts lines of the file from 1.

    Parameters
    ----------
    path : the file, for messages.
    blocks : its lines, with the number of line feeds before each block.
    findings : takes lines that cannot be read: with another number of fields than the header.
    columns : names of the fields, where the file has no header line.

    Raises
    ------
    TraceError : the file is empty, or its first line is no header.
    """
    table: _Table | None = None
    for before, block in blocks:
        lines = block.decode("utf-8", "replace").split("\n")[:-1]
        if table is None:
            if columns:
                table = _Table(path, "|", columns)
            else:
                at = next((i for i, line in enumerate(lines) if line.strip()), None)
                if at is None:
                    continue
                table = _header(path, before + at + 1, lines[at])
        yield table.take(lines, before, findings)
    if table is None:
        raise TraceError(f"{path}: line 1: the file is empty")


def _header(path: str, number: int, line: str) -> _Table:
    line = line.rstrip("\r")
    found = re.match(r"\s*[A-Za-z_]+(?:\([A-Za-z]+\)|%-?\d+)?([^A-Za-z0-9_\s%(]|\t)", line)
    names = line.split(found[1]) if found else []
    fields = [field_of(name) for name in names]
    if "job" in fields or "raw" in fields:
        return _Table(path, str(found and found[1]), names, line)
    if re.match(r"\s*job_?id\s", line, re.IGNORECASE):
        raise TraceError(f"{path}: line {number}: columns are padded with blanks: ask sacct for --parsable2 (-P)")
    raise TraceError(
        f"{path}: line {number}: expected the header line of sacct --parsable2 with a column JobIDRaw or JobID, "
        f"got {quoted(line)}"
    )


class _Table:
    """Splits lines at the delimiter, and mends those with a delimiter or a line break inside a text."""

    def __init__(self, path: str, delimiter: str, names: Sequence[str], header: str | None = None) -> None:
        self._path, self._delimiter, self._header = path, delimiter, header
        self._names = names
        self._fields = [field_of(name) for name in names]
        self._at = {field: i for i, field in reversed(list(enumerate(self._fields))) if field}
        # A step is a line whose job has a dot, such as 123.batch.
        id_ = self._at.get("job", self._at.get("raw", 0))
        others = f"[^{re.escape(delimiter)}]*"
        self._step = rf"^(?:{others}{re.escape(delimiter)}){{{id_}}}[^.{re.escape(delimiter)}]*\d\."
        self._free = [i for i, name in enumerate(names) if name.strip().partition("%")[0].lower() in _FREE]

    def take(self, lines: list[str], before: int, findings: Findings) -> pl.DataFrame:
        import polars as pl

        width = len(self._names)
        text = pl.Series("", lines, dtype=pl.String)
        if text.str.contains("\r", literal=True).any():
            text = text.str.strip_chars_end("\r")
        number = pl.int_range(before + 1, before + 1 + len(lines), eager=True)
        step = text.str.contains(self._step)
        if step.any():
            findings.count(STEPS, int(step.sum()))
            findings.records += int(step.sum())
            text, number = text.filter(~step), number.filter(~step)
        frame = text.str.splitn(self._delimiter, width + 1).struct.unnest().with_columns(number.alias(LINE))
        blank = text.str.strip_chars() == ""
        repeated = blank & False if self._header is None else text == self._header
        findings.count("repeated header lines", int(repeated.sum()) - (before == 0 and self._header is not None))
        over, last = frame[f"field_{width}"], frame[f"field_{width - 1}"]
        odd = (last.is_null() | over.is_not_null()) & ~blank & ~repeated
        good = ~(odd | blank | repeated)
        kept = {f"field_{i}": field for field, i in self._at.items()}
        table = frame.filter(good).select(LINE, *kept).rename(kept)
        findings.records += len(table)
        if odd.any():
            mended = self._mended(frame.filter(odd)[LINE].to_list(), text.filter(odd).to_list(), findings)
            table = pl.concat([table, pl.DataFrame(mended, schema=table.schema, orient="row")])
        return table

    def _mended(self, numbers: list[int], lines: list[str], findings: Findings) -> list[list[object]]:
        """The rows of lines that have too few or too many fields, as far as they can be told."""
        rows: list[list[object]] = []
        at = 0
        while at < len(lines):
            cells, end = lines[at].split(self._delimiter), at + 1
            while len(cells) < len(self._names) and end < len(lines) and numbers[end] == numbers[end - 1] + 1:
                more = lines[end].split(self._delimiter)
                if len(cells) + len(more) - 1 > len(self._names):
                    break
                cells, end = [*cells[:-1], f"{cells[-1]} {more[0]}", *more[1:]], end + 1
            if (row := self._fitted(cells)) is None:
                where = f"{self._path}: line {numbers[at]}"
                findings.refuse(where, f"expected {len(self._names)} fields as the header has, got {len(cells)}")
            else:
                what = "line break" if end > at + 1 else "delimiter"
                findings.count(f"{what} inside a text: the line was put together again", 1)
                rows.append([numbers[at], *(row[i] for i in self._at.values())])
            findings.records += 1
            at = end if row is not None else at + 1
        return rows

    def _fitted(self, cells: list[str]) -> list[str] | None:
        """The cells of a line with the surplus in the free text that leaves times and state readable."""
        surplus = len(cells) - len(self._names)
        if surplus < 0:
            return None
        for free in self._free if surplus else [0]:
            joined = self._delimiter.join(cells[free : free + surplus + 1])
            row = [*cells[:free], joined, *cells[free + surplus + 1 :]]
            if self._readable(row):
                return row
        return None

    def _readable(self, row: list[str]) -> bool:
        at = self._at
        times = (row[at[name]] for name in _TIMES if name in at)
        told = row[at["state"]] if "state" in at else "COMPLETED"
        return all(instant(each) is not None for each in times) and (nothing(told) or state(told).isidentifier())
