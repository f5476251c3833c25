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
    "gres": ("allocgres",),
    "node_gres": ("gres", "trespernode"),
    "req_gres": ("reqgres",),
    "req_mem": ("reqmem",),
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
    table = _Table(path, "|", columns) if columns else None
    for before, block in blocks:
        if table is None:
            start = len(block) - len(block.lstrip())
            if start == len(block):
                continue
            end = block.index(b"\n", start)
            before += block.count(b"\n", 0, end)
            table = _header(path, before + 1, block[start:end].decode("utf-8", "replace"))
            before, block = before + 1, block[end + 1 :]
        yield table.take(block, before, findings)
    if table is None:
        raise TraceError(f"{path}: line 1: the file is empty")


def _header(path: str, number: int, line: str) -> _Table:
    line = line.rstrip("\r")
    found = re.match(r"\s*[A-Za-z_]+(?:\([A-Za-z]+\)|%-?\d+)?([^A-Za-z0-9_\s%(]|\t)", line)
    names = line.split(found[1]) if found else []
    fields = [field_of(name) for name in names]
    if "job" in fields or "raw" in fields:
        return _Table(path, str(found and found[1]), names, header=True)
    if re.match(r"\s*job_?id\s", line, re.IGNORECASE):
        raise TraceError(f"{path}: line {number}: columns are padded with blanks: ask sacct for --parsable2 (-P)")
    raise TraceError(
        f"{path}: line {number}: expected the header line of sacct --parsable2 with a column JobIDRaw or JobID, "
        f"got {quoted(line)}"
    )


class _Table:
    """Splits lines at the delimiter, and mends those with a delimiter or a line break inside a text."""

    def __init__(self, path: str, delimiter: str, names: Sequence[str], header: bool = False) -> None:
        self._path, self._delimiter, self._names = path, delimiter, names
        fields = [field_of(name) for name in names]
        self._at = {field: i for i, field in reversed(list(enumerate(fields))) if field}
        if fields.count("job") == 2 and "raw" not in fields:  # squeue calls both of its ids JOBID
            self._at["raw"] = len(fields) - 1 - fields[::-1].index("job")
        self._job = "job" if "job" in self._at else "raw"
        self._heading = names[self._at[self._job]] if header else None
        self._free = [i for i, name in enumerate(names) if name.strip().partition("%")[0].lower() in _FREE]

    def take(self, block: bytearray, before: int, findings: Findings) -> pl.DataFrame:
        """The records in a block of lines."""
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        table = self._all_plain(block, before)
        if table is None:
            table = self._line_by_line(block, before, findings)
        if self._heading is not None:
            repeated = (table[self._job] == self._heading).fill_null(False)
            findings.count("repeated header lines", int(repeated.sum()))
            table = table.filter(~repeated) if repeated.any() else table
        findings.records += len(table)
        step = table[self._job].str.contains(r"\d\.").fill_null(False)  # such as 123.batch
        findings.count("steps of jobs (not read)", int(step.sum()))
        return table.filter(~step) if step.any() else table

    def _all_plain(self, block: bytearray, before: int) -> pl.DataFrame | None:
        """The lines of a block, if each has as many fields as the header; None if one has more or fewer."""
        import polars as pl

        mark, width, lines = self._delimiter.encode(), len(self._names), block.count(b"\n")
        if not lines or len(mark) > 1 or block.count(mark) != (width - 1) * lines:
            return None
        try:
            # More fields than in the schema are an error here. As the sum is right, no line can have fewer then.
            frame = pl.read_csv(
                bytes(block),
                separator=self._delimiter,
                quote_char=None,
                has_header=False,
                schema={f"field_{i}": pl.String for i in range(width)},
                encoding="utf8-lossy",
            )
        except pl.exceptions.PolarsError:
            return None
        return (
            self._named(frame, pl.int_range(before + 1, before + 1 + lines, eager=True))
            if len(frame) == lines
            else None
        )

    def _named(self, frame: pl.DataFrame, number: pl.Series) -> pl.DataFrame:
        kept = {f"field_{i}": field for field, i in self._at.items()}
        return frame.select(number.alias(LINE), *kept).rename(kept)

    def _line_by_line(self, block: bytearray, before: int, findings: Findings) -> pl.DataFrame:
        import polars as pl

        width = len(self._names)
        text = pl.Series("", block.decode("utf-8", "replace").split("\n")[:-1], dtype=pl.String)
        number = pl.int_range(before + 1, before + 1 + len(text), eager=True)
        there = text.str.strip_chars() != ""
        text, number = text.filter(there), number.filter(there)
        frame = text.str.splitn(self._delimiter, width + 1).struct.unnest()
        odd = frame[f"field_{width - 1}"].is_null() | frame[f"field_{width}"].is_not_null()
        table = self._named(frame, number)
        if odd.any():
            mended = self._mended(number.filter(odd).to_list(), text.filter(odd).to_list(), findings)
            table = pl.concat([table.filter(~odd), pl.DataFrame(mended, schema=table.schema, orient="row")])
        return table

    def _mended(self, numbers: list[int], lines: list[str], findings: Findings) -> list[list[object]]:
        """The rows of lines that have too few or too many fields, as far as they can be recognised."""
        rows: list[list[object]] = []
        at = 0
        while at < len(lines):
            cells, end = lines[at].split(self._delimiter), at + 1
            while len(cells) < len(self._names) and end < len(lines) and numbers[end] == numbers[end - 1] + 1:
                more = lines[end].split(self._delimiter)
                if len(cells) + len(more) - 1 > len(self._names):
                    break
                cells, end = [*cells[:-1], f"{cells[-1]} {more[0]}", *more[1:]], end + 1
            if len(cells) == 1 and len(self._names) - 1 in self._free and not re.match(r"\s*\d", cells[0]):
                findings.count("line break inside the last text: the rest was left out", 1)
                at += 1
                continue
            if (row := self._fitted(cells)) is None:
                where = f"{self._path}: line {numbers[at]}"
                findings.refuse(where, f"expected {len(self._names)} fields as the header has, got {len(cells)}")
                findings.records += 1
            else:
                what = "line break" if end > at + 1 else "delimiter"
                findings.count(f"{what} inside a text: the line was put together again", 1)
                rows.append([numbers[at], *(row[i] for i in self._at.values())])
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
        stated = row[at["state"]] if "state" in at else "COMPLETED"
        return all(instant(each) is not None for each in times) and (nothing(stated) or state(stated).isidentifier())
