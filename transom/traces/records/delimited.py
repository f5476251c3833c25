"""Tables of text with a header line and a delimiter, as ``sacct --parsable2`` and ``squeue -o`` print them."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from transom.errors import TraceError
from transom.traces.records.findings import Findings, quoted
from transom.traces.records.slurm_text.job_fields import RECORDED
from transom.traces.records.surplus import Found, columns_of, fitted

if TYPE_CHECKING:
    import polars as pl

LINE = "line"
"""The column with the number of each record's line."""

_FIELD = {header: field for field, names in RECORDED.items() for header in names.headers}
_DELIMITER = r'(?!%-?\d)[^A-Za-z0-9_ "(\r\n]'
_FIRST = rf'\s*"?(?:[A-Za-z_]+(?:\([A-Za-z]+\)|%-?\d+)?)?"?({_DELIMITER}+)'
"""The first heading, if the first column has one, and what follows it, which is one delimiter or several."""

_RECUR = ("user", "account", "partition", "qos", "cluster", "group")
_QUOTING = ",;\t"  # delimiters of tables in which quotes are not part of a text
_MOST_LINES = 100  # of one text in quotes


def field_of(heading: str) -> str:
    """The field that a heading names, else the empty text: ``ReqNodes`` is ``req_nodes``, ``NODELIST`` is ``nodes``."""
    plain = heading.strip(" \t").partition("%")[0].lower().replace(" ", "")
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
            start = len(block) - len(block.lstrip(b" \r\n"))
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
    found = re.match(_FIRST, line)
    for delimiter in dict.fromkeys((found[1], found[1][0])) if found else ():
        names = _unquoted(line, delimiter) if '"' in line and len(delimiter) == 1 else line.split(delimiter)
        if {"job", "raw"} & {*map(field_of, names)} and not (len(delimiter) > 1 and delimiter[0] in "".join(names)):
            return _Table(path, delimiter, names, header=line)
    if re.match(r"\s*job_?id\s", line, re.IGNORECASE):
        raise TraceError(f"{path}: line {number}: columns are padded with blanks: ask sacct for --parsable2 (-P)")
    raise TraceError(
        f"{path}: line {number}: expected the header line of sacct --parsable2 with a column JobIDRaw or JobID, "
        f"got {quoted(line)}"
    )


def _unquoted(line: str, delimiter: str) -> list[str]:
    """The cells of a line, some in quotes, where a quote in a text is doubled; no cell if one is too long."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


class _Table:
    """Splits lines at the delimiter, and mends those with a delimiter or a line break inside a text."""

    def __init__(self, path: str, delimiter: str, names: Sequence[str], header: str = "") -> None:
        self._path, self._delimiter, self._names = path, delimiter, names
        fields = [field_of(name) for name in names]
        self._at = {field: i for i, field in reversed(list(enumerate(fields))) if field}
        if "priority" in fields:  # squeue calls the fraction and the number PRIORITY, in this order
            self._at["priority"] = len(fields) - 1 - fields[::-1].index("priority")
        self._twice = fields.count("job") == 2 and "raw" not in fields  # squeue calls both of its ids JOBID
        if self._twice:
            self._at["raw"] = len(fields) - 1 - fields[::-1].index("job")
        self._job = "job" if "job" in self._at else "raw"
        self._heading = names[self._at[self._job]] if header else None
        self._quotes = '"' in header or delimiter in _QUOTING
        read = {i: field for field, i in self._at.items()}
        self._columns = columns_of([read.get(i, "") for i in range(len(names))], names)
        self._text_last = not self._columns[-1].look

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
        if self._twice:
            plain = table["job"].str.contains(r"^\d*$").fill_null(True)
            table = table.with_columns(
                job=table["raw"].zip_with(plain, table["job"]), raw=table["job"].zip_with(plain, table["raw"])
            )
        findings.records += len(table)
        step = table[self._job].str.contains(r"\d\.").fill_null(False)  # such as 123.batch
        findings.count("steps of jobs (not read)", int(step.sum()))
        return table.filter(~step) if step.any() else table

    def _all_plain(self, block: bytearray, before: int) -> pl.DataFrame | None:
        """The lines of a block, if each has as many fields as the header; None if one has more or fewer."""
        import polars as pl

        mark, width, lines = self._delimiter.encode(), len(self._names), block.count(b"\n")
        if not lines or len(mark) > 1 or block.count(mark) != (width - 1) * lines or (self._quotes and b'"' in block):
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
        if self._quotes:
            odd |= text.str.contains('"', literal=True)
        if odd.any():
            table = table.filter(~odd)
            known = {name: {*table[name].unique()} - {None, ""} for name in _RECUR if name in self._at}
            mended = self._mended(number.filter(odd).to_list(), text.filter(odd).to_list(), known, findings)
            table = pl.concat([table, pl.DataFrame(mended, schema=table.schema, orient="row")])
        return table

    def _mended(
        self, numbers: list[int], lines: list[str], known: Mapping[str, Collection[str]], findings: Findings
    ) -> list[list[object]]:
        """The rows of lines that have too few or too many fields, as far as they can be recognised."""
        rows: list[list[object]] = []
        width, at = len(self._names), 0
        while at < len(lines):
            cells, end, what = self._cells(numbers, lines, at)
            while len(cells) < width and end < len(lines) and numbers[end] == numbers[end - 1] + 1:
                more = lines[end].split(self._delimiter)
                if len(cells) + len(more) - 1 > width:
                    break
                cells, end, what = [*cells[:-1], f"{cells[-1]} {more[0]}", *more[1:]], end + 1, "line break"
            if len(cells) == 1 and self._text_last and not re.match(r"\s*\d", cells[0]):
                findings.count("line break inside the last text: the rest was left out", 1)
                at += 1
                continue
            if len(cells) < width:
                found = Found(None, f"expected {width} fields as the header has, got {len(cells)}")
            elif what == "quotes":
                found = Found({field: cells[i] for field, i in self._at.items()})
            else:
                found = fitted(cells, self._columns, self._delimiter, known)
            if found.row is None:
                findings.refuse(f"{self._path}: line {numbers[at]}", found.why)
                findings.records += 1
                at += 1
                continue
            if what != "quotes":
                findings.count(f"{what} inside a text: the line was put together again", 1)
            if found.marked:
                findings.count(f"{what} inside a text: {found.marked}", 1)
            rows.append([numbers[at], *(found.row[field] for field in self._at)])
            at = end
        return rows

    def _cells(self, numbers: list[int], lines: list[str], at: int) -> tuple[list[str], int, str]:
        """The cells of a line, the line behind them, and what is odd about them: quotes or a delimiter too many."""
        if self._quotes:
            line, end, last = lines[at], at + 1, min(len(lines), at + _MOST_LINES)
            while line.count('"') % 2 and end < last and numbers[end] == numbers[end - 1] + 1:
                line, end = f"{line} {lines[end]}", end + 1
            cells = _unquoted(line, self._delimiter) if '"' in line and len(self._delimiter) == 1 else []
            if len(cells) == len(self._names):
                return cells, end, "quotes"
        return lines[at].split(self._delimiter), at + 1, "delimiter"
