"""Console output: tables, JSON lines, progress bars. Notes go to standard error."""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from transom._system.wording import counted

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from transom.cli.output.progress_lines import ProgressLines
    from transom.traces import Workload

_NARROW = 70  # to which a title is not wrapped, however narrow its table [characters]
_GAP = 3  # between columns, with the margin
_SPELT = {"\u2500": "-", "\u2013": "-", "\u00b1": "+-"}  # what tables draw, in ASCII


@dataclass
class Display:
    """How the command in hand prints.

    Parameters
    ----------
    quiet : no notes, no progress, no remarks beside results.
    verbose : also which steps are taken and how long they take.
    wide : tables as wide as they are, on a narrow terminal, too.
    """

    quiet: bool = False
    verbose: bool = False
    wide: bool = False

    @contextmanager
    def anew(self) -> Iterator[None]:
        """Print as is usual, nothing asked for, and afterwards as before: a command may run another one."""
        kept = self.quiet, self.verbose, self.wide
        self.quiet = self.verbose = self.wide = False
        try:
            yield
        finally:
            self.quiet, self.verbose, self.wide = kept


display = Display()


def make_readable(stream: TextIO) -> None:
    """Let a stream print every text, whatever its encoding: what that lacks is spelt in ASCII, or escaped.

    A terminal under ``LC_ALL=C`` gets ASCII alone, as from other programs.
    """
    plain = os.environ.get("LC_ALL") in ("C", "POSIX") and not {"PYTHONIOENCODING", "PYTHONUTF8"} & os.environ.keys()
    stream.reconfigure(encoding="ascii" if plain and stream.isatty() else None, errors="spelt")  # type: ignore[attr-defined]


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    """Stand in for what an encoding lacks, as ``codecs`` asks for it."""
    if isinstance(error, UnicodeEncodeError) and (sign := error.object[error.start]) in _SPELT:
        return _SPELT[sign], error.start + 1
    if isinstance(error, UnicodeEncodeError):
        error.end = error.start + 1
    return codecs.backslashreplace_errors(error)


codecs.register_error("spelt", _spell)


def _as_shown(text: str) -> str:
    """What standard output makes of a text."""
    encoding = sys.stdout.encoding or "utf-8"
    return text if text.isascii() else text.encode(encoding, "spelt").decode(encoding)


def _takes_codes(stream: TextIO) -> bool:
    """Whether a stream is a terminal that takes escape codes, and nobody asked for none."""
    plain = os.environ.get("TERM", "dumb") in ("dumb", "unknown") or os.environ.get("NO_COLOR")
    return stream.isatty() and not plain


def note(text: str) -> None:
    """Print a note to standard error, unless under ``-q``; standard output stays clean."""
    if not display.quiet:
        print(text, file=sys.stderr)


def remark(text: str = "") -> None:
    """Print what stands beside results on standard output, unless under ``-q``."""
    if not display.quiet:
        print(text)


def print_json(thing: Any) -> None:
    """One JSON document on one line, sent at once; numbers that are not finite become null."""
    import msgspec

    text = msgspec.json.encode(_finite(thing)).decode()
    if _as_shown(text) != text:  # JSON has escapes of its own
        text = re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found[0])[1:-1], text)
    print(text, flush=True)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """A table: the first ``left`` columns to the left, the others to the right. Plain text where nobody watches.

    What is wider than the terminal goes on below, the first ``left`` columns again, unless ``--wide`` was asked for.
    """
    from shutil import get_terminal_size
    from textwrap import wrap

    columns, *listed = [[_as_shown(cell) for cell in row] for row in (columns, *rows)]
    # Headings may be wrapped; what stands below them is not broken, whatever the width of the terminal.
    words = [[*heading.split(), ""] for heading in columns]
    widths = [max(map(_width, (*words[i], *(row[i] for row in listed)))) for i in range(len(columns))]
    watched = sys.stdout.isatty() and not display.wide
    room = get_terminal_size().columns if watched else math.inf
    parts = _parts(widths, left, room)
    headings = list(columns)
    if sum(max(least, _width(c)) + _GAP for least, c in zip(widths, columns, strict=True)) > room:
        headings = ["\n".join(wrap(c, max(least, 1))) for least, c in zip(widths, columns, strict=True)]
    for i, part in enumerate(parts):
        shown = [[row[c] for c in part] for row in listed]
        _print_part("" if i else title, [headings[c] for c in part], shown, sum(c < left for c in part))
    if len(parts) > 1:
        note("split to fit the terminal: --wide prints the table in one piece")


def _parts(widths: Sequence[int], left: int, room: float) -> list[list[int]]:
    """Which columns stand side by side: the first ``left`` ones with as many of the others as there is room for.

    Of wide ones only the first is printed again.
    """
    again = left if 2 * sum(each + _GAP for each in widths[:left]) <= room else 1
    parts = [list(range(again))]
    for column in range(again, len(widths)):
        if len(parts[-1]) > again and sum(widths[c] + _GAP for c in (*parts[-1], column)) > room:
            parts.append(list(range(again)))
        parts[-1].append(column)
    return parts


def _print_part(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> None:
    """The lines of a table: title and headings above a rule, bold on a terminal."""
    from textwrap import wrap

    above = [heading.split("\n") for heading in headings]
    height = max(map(len, above))
    head = list(zip(*([""] * (height - len(lines)) + lines for lines in above), strict=True))
    widths = [max(map(_width, column)) for column in zip(*head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell + " " * (width - _width(cell)) if i < left else " " * (width - _width(cell)) + cell
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f" {(' ' * _GAP).join(padded)}".rstrip()

    across = sum(widths) + _GAP * (len(widths) - 1)
    for text in wrap(title, max(across, _NARROW)):
        print(_bold(text))
    print()
    for cells in head:
        print(_bold(line(cells)))
    print(" " + "─" * across)
    for row in rows:
        print(line(row))
    print()


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    from unicodedata import combining, east_asian_width

    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 1 + (east_asian_width(letter) in "WF") for letter in text)


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if text and _takes_codes(sys.stdout) else text


def progress(hidden: bool = False) -> ProgressLines:
    """Progress on standard error, unless hidden or quiet: bars where codes are taken, else a line now and then."""
    if hidden or display.quiet or not _takes_codes(sys.stderr):
        from transom.cli.output.progress_lines import ProgressLines

        return ProgressLines(hidden or display.quiet)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    label = TextColumn("{task.description}")
    columns = (SpinnerColumn("line"), label, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bars = Progress(*columns, console=Console(stderr=True), refresh_per_second=5)
    return cast("ProgressLines", bars)  # which takes the same calls


def describe(workload: Workload) -> list[str]:
    """The workload that was read, warnings about it, and what the reader changed or left out."""
    cluster = workload.cluster
    lines = [f"{workload.name}: {counted(len(workload), 'job')} on {counted(cluster.num_nodes, 'node')}"]
    lines += [f"  ! {each.text}" for each in workload.diagnostics]
    return lines + [f"  {what}: {count}" for what, count in workload.repairs.items()]


def which_machine(workload: Workload) -> list[str]:
    """How a machine of partitions is replayed whose sizes are known, as a sentence; nothing where none are."""
    from transom.traces.partitions import partition_sizes

    if workload.origin.merged:
        return [f"Partitions merged into one machine of {counted(workload.cluster.num_nodes, 'node')}."]
    sizes = partition_sizes(workload.cluster)
    listed = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
    return [f"Replayed by partition ({listed} of {counted(workload.cluster.num_nodes, 'node')})."] if sizes else []


def note_repairs(problems: Iterable[tuple[str, Any]]) -> None:
    """Print what readers guessed or left out of problems, each with its label."""
    for label, problem in problems:
        for what, count in getattr(problem, "repairs", {}).items():
            note(f"{label}: {what}: {count:,}")


def remarked(title: str, workload: Workload) -> str:
    """A title with the warnings about a workload."""
    return "; ".join([title, *(each.short for each in workload.diagnostics)])


def number(value: float, digits: int = 2) -> str:
    """A number for a table."""
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def _finite(thing: Any) -> Any:
    if isinstance(thing, float) and not math.isfinite(thing):
        return None
    if isinstance(thing, str) and not thing.isascii():  # names of files may hold what UTF-8 does not
        return thing.encode("utf-8", "backslashreplace").decode()
    if isinstance(thing, dict):
        return {_finite(key): _finite(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_finite(value) for value in thing]
    return thing


def check_folder(path: Path) -> None:
    """Fail early if there cannot be a folder of this name; none is made.

    Raises
    ------
    DocumentError : it is a file, or would stand in one.
    """
    from transom.errors import DocumentError

    for folder in (path, *path.parents):
        if folder.exists() and not folder.is_dir():
            raise DocumentError(f"{folder}: is a file, not a folder")


def check_writable(path: Path, *endings: str) -> None:
    """Fail early if a file cannot be written.

    Raises
    ------
    DocumentError : its name has none of the ``endings`` (either may have ``.gz`` after it), it is a
        folder, or its folder cannot be written to.
    """
    import tempfile

    from transom._system.trusted import make_folder
    from transom.errors import DocumentError

    name = path.name.removesuffix(".gz")
    if not any(name.endswith(ending) and name != ending for ending in endings):
        known = [ending + packed for ending in endings for packed in ("", ".gz")]
        raise DocumentError(f"{path}: the name of the file must end in {', '.join(known)}")
    if path.is_dir():
        raise DocumentError(f"{path}: is a folder, not a file")
    check_folder(path.parent)
    try:
        make_folder(path.parent)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DocumentError(f"{path}: cannot be written: {error.strerror}") from None


def check_recording(folder: Path) -> None:
    """Fail early if a replay cannot be recorded; what is recorded there may be all that is wanted, and is only read.

    Raises
    ------
    DocumentError : as of :func:`check_writable`.
    """
    if not (folder / "jobs.parquet").exists():
        check_writable(folder / "jobs.parquet", ".parquet")
