"""The lines of a file in Standard Workload Format as numbers; what is not a number is named.

References
----------
Chapin et al., Benchmarks and standards for the evaluation of parallel job schedulers, JSSPP 1999,
section 2.2; version 2.2 of the format in the Parallel Workloads Archive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from transom.errors import SpecError, TraceError
from transom.models.arrays import FloatArray, IntArray
from transom.traces.batsim import is_workload, workload_as_swf
from transom.traces.swf_blocks import blocks, whole_lines
from transom.traces.swf_header import FIELDS, Field, Header, field_name, standard_name
from transom.traces.swf_tokens import ANYTHING, COLUMN, KIND, LINE, LINES, NUMBER, POSITION, REAL, ROWS, WHOLE, scan
from transom.traces.trace_file import is_trace_file, read_fields_of

_LIMIT = 2.0**63


class Lines(NamedTuple):
    """Fields of the job lines of a file.

    Parameters
    ----------
    line : numbers of the lines, from 1, shape ``(jobs,)``.
    whole, real : the fields that were asked for, each of shape ``(jobs,)``.
    header : what the comments say.
    """

    line: IntArray
    whole: tuple[IntArray, ...]
    real: tuple[FloatArray, ...]
    header: Header


def read_lines(path: str, whole: Sequence[Field], real: Sequence[Field] = ()) -> Lines:
    """Fields of every job line; lines that start with ``;`` are comments.

    A trace that ``transom import`` made (:mod:`~transom.traces.trace_file`) has these fields and its columns, too; its
    lines are rows. A workload of Batsim is read as :mod:`~transom.traces.batsim` says; its lines are jobs.

    Parameters
    ----------
    path : the file, plain or gzip.
    whole : fields that must hold whole numbers.
    real : fields that may hold any numbers. All others of the format's 18 are checked to be numbers; what stands behind
        them may be anything unless it is asked for.

    Raises
    ------
    TraceError : the file cannot be read or holds no job, a line has less than 18 fields or another number than the
        header or the first line says, or a field is not a finite number below 2**63, or not a whole one where that is
        needed; the first such line is named.
    SpecError : the file has no such field.
    """
    if is_trace_file(path):
        return Lines(*read_fields_of(path, whole, real))
    scanner = _Scanner(path, whole, real)
    wrong = zero = None
    text = whole_lines(path, [workload_as_swf(path)]) if is_workload(path) else blocks(path)
    for before, block in text:
        # A broken stream or a zero byte, wherever it stands, says more than the line that it spoils.
        if zero is None and (at := block.find(b"\0")) >= 0:
            line = before + block.count(b"\n", 0, at) + 1
            zero = TraceError(f"{path}: line {line}: a zero byte: this is not a text file")
        if zero is None and wrong is None:
            try:
                scanner.take(block)
            except (TraceError, SpecError) as error:
                wrong = error
    if fault := zero or wrong:
        raise fault
    return scanner.lines()


class _Scanner:
    """Takes block by block; lines that are not plain are read here, one by one."""

    def __init__(self, path: str, whole: Sequence[Field], real: Sequence[Field]) -> None:
        self._path = path
        self._header = Header(path)
        self._whole, self._real = tuple(whole), tuple(real)
        self._column: dict[str, int] = {}
        self._plan = np.zeros((2, 0), np.int64)  # until the first job, all lines come to us
        self._kinds: list[list[int]] = []
        self._first = 0
        self._table = np.empty((1 + len(whole) + len(real), 0), np.int64)
        self._parts: list[IntArray] = []
        self._at = np.zeros(3, np.int64)
        self._blank = True

    def take(self, block: bytearray) -> None:
        """Read the lines of a block."""
        data = np.frombuffer(block, np.uint8)
        self._at[[POSITION, ROWS]] = 0
        self._make_room(len(data))
        with np.errstate(over="ignore"):  # of numbers with too many digits, where nothing is compiled
            while not scan(data, self._plan, self._table, self._table.view(np.float64), self._at):
                self._take_odd(block)
        self._parts.append(self._table[:, : self._at[ROWS]].copy())

    def lines(self) -> Lines:
        """What has been read."""
        if self._blank and not any(part.shape[1] for part in self._parts):
            raise TraceError(f"{self._path}: line 1: the file is empty")
        if not any(part.shape[1] for part in self._parts):
            raise TraceError(f"{self._path}: line {self._at[LINES]}: the file ends without any job")
        columns = [np.concatenate([part[at] for part in self._parts]) for at in range(len(self._table))]
        self._parts.clear()
        whole = tuple(columns[self._column[str(each).lower()]] for each in self._whole)
        return Lines(columns[LINE], whole, tuple(self._as_real(each, columns) for each in self._real), self._header)

    def _as_real(self, field: Field, columns: list[IntArray]) -> FloatArray:
        column = self._column[str(field).lower()]
        kept_whole = (self._plan[COLUMN, self._plan[KIND] == WHOLE] == column).any()
        return columns[column].astype(np.float64) if kept_whole else columns[column].view(np.float64)

    def _make_room(self, size: int) -> None:
        rows = size // (2 * max(len(FIELDS), self._plan.shape[1])) + 1  # a digit and a blank are the least
        if self._table.shape[1] < rows:
            self._table = np.empty((len(self._table), rows), np.int64)

    def _take_odd(self, block: bytearray) -> None:
        """The line at the position: a comment, the first job, or one with numbers that are not plain."""
        begin, number = int(self._at[POSITION]), int(self._at[LINES]) + 1
        end = block.index(b"\n", begin)
        if (back := block.find(b"\r", begin, end)) >= 0:
            end = back
        line, self._blank = bytes(block[begin:end]), False
        comment = line.lstrip().startswith(b";")
        if not comment and not self._plan.shape[1]:
            self._begin(len(line.split()), number, len(block))
            return
        if comment:
            if line.startswith(b";"):
                self._header.read(line, number)
        else:
            row = self._at[ROWS]
            self._fill(line.split(), number, row)
            self._at[ROWS] += 1
        self._at[POSITION] = end + (2 if block[end : end + 2] == b"\r\n" else 1)
        self._at[LINES] = number

    def _begin(self, found: int, number: int, size: int) -> None:
        """Settle what each field holds, with the first job line."""
        named, self._first, self._header.over = self._header.columns, number, True
        if named is not None and len(named) == found > len(FIELDS):  # all fields are named, not only the further ones
            named = self._header.columns = named[len(FIELDS) :]
        fields = max(len(FIELDS), found) if named is None else len(FIELDS) + len(named)
        self._plan = np.full((2, fields), ANYTHING, np.int64)
        self._plan[KIND, : len(FIELDS)] = NUMBER
        numbers = _numbers(named, fields)
        for column, field in enumerate((*self._whole, *self._real), 1):
            at = numbers.get(str(field).lower())
            if at is None:
                known = ", ".join(name for name in numbers if not name.isdigit())
                raise SpecError(f"{self._path}: its lines have no field {field!r}. Known: 1 to {fields}, {known}")
            if self._plan[KIND, at - 1] in (ANYTHING, NUMBER):  # else it has been asked for before
                self._plan[:, at - 1] = WHOLE if column <= len(self._whole) else REAL, column
            self._column[str(field).lower()] = int(self._plan[COLUMN, at - 1])
        self._kinds = self._plan.tolist()
        self._make_room(size)

    def _fill(self, tokens: list[bytes], number: int, row: int) -> None:
        where, fields = f"{self._path}: line {number}", self._plan.shape[1]
        if len(tokens) != fields:
            words = ""
            if fields > len(FIELDS):
                words = f" as line {self._first} has" if self._header.columns is None else " by the names in the header"
            raise TraceError(f"{where}: expected {fields} fields{words}, got {len(tokens)}")
        self._table[LINE, row] = number
        reals = self._table.view(np.float64)
        for i, (kind, column, token) in enumerate(zip(*self._kinds, tokens, strict=True)):
            if kind == ANYTHING:
                continue
            value = _value(token, kind == WHOLE)
            if isinstance(value, str):
                text = token.decode("latin-1")
                shown = repr(text if len(text) <= 30 else f"{text[:30]}...")
                name = field_name(i + 1, self._header.columns)
                raise TraceError(f"{where}: field {i + 1} ({name}) {value}, got {shown}")
            if kind == WHOLE:
                self._table[column, row] = value
            elif kind == REAL:
                reals[column, row] = value


def _numbers(named: tuple[str, ...] | None, fields: int) -> dict[str, int]:
    """The number of every field by all its names."""
    found = {str(number): number for number in range(1, fields + 1)}
    found |= {standard_name(number): number for number in range(1, len(FIELDS) + 1)}
    found |= {f"column{number}": number for number in range(len(FIELDS) + 1, fields + 1)}
    return found | {field_name(number, named).lower(): number for number in range(len(FIELDS) + 1, fields + 1)}


def _value(token: bytes, whole: bool) -> int | float | str:
    """A number as exactly as it is needed, or what is wrong with it."""
    if b"_" in token:  # int() and float() would take 1_000 for a number
        return "must be a number"
    try:
        # Of integers with many digits a float would lose the last ones.
        if -(2**63) <= (exact := int(token)) < 2**63:
            return exact
    except ValueError:
        pass
    try:
        number = float(token)
    except ValueError:
        return "must be a number"
    if not math.isfinite(number):
        # Too many digits for a float, or the word itself.
        return "does not fit into 63 bits" if token.strip(b"+-")[:1].isdigit() else "must be finite"
    if abs(number) >= _LIMIT:
        return "does not fit into 63 bits"
    if whole and not number.is_integer():
        return "must be a whole number"
    return int(number) if whole else number
