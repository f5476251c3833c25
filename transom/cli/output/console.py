"""Console output: tables, JSON lines, progress bars. Notes go to standard error."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from rich.progress import Progress

    from transom.traces import Workload

_WIDEST = 400  # of a line that nobody watches [characters]
_GAP = 3  # between columns, with the margin
_asked = {"wide": False}


def print_wide(asked: bool) -> None:
    """Whether tables are printed as wide as they are, on a narrow terminal, too."""
    _asked["wide"] = asked


def note(text: str) -> None:
    """Print a note to standard error; standard output stays clean."""
    print(text, file=sys.stderr)


def print_json(thing: Any) -> None:
    """One JSON document on one line, sent at once; numbers that are not finite become null."""
    import msgspec

    print(msgspec.json.encode(_finite(thing)).decode(), flush=True)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """A table: the first ``left`` columns to the left, the others to the right. Plain text where nobody watches.

    What is wider than the terminal goes on below, the first ``left`` columns again, unless ``--wide`` was asked for.
    """
    from shutil import get_terminal_size
    from textwrap import wrap

    listed = [list(row) for row in rows]
    # Headings may be wrapped; what stands below them is not broken, whatever the width of the terminal.
    widths = [max([len(word) for word in c.split()] + [len(row[i]) for row in listed]) for i, c in enumerate(columns)]
    watched = sys.stdout.isatty() and not _asked["wide"]
    width = get_terminal_size().columns if watched else _WIDEST
    parts = _parts(widths, left, width) if watched else [list(range(len(columns)))]
    headings = list(columns)
    if sum(max(least, len(c)) + _GAP for least, c in zip(widths, columns, strict=True)) > width:
        headings = ["\n".join(wrap(c, least)) for least, c in zip(widths, columns, strict=True)]
    for i, part in enumerate(parts):
        shown = [[row[c] for c in part] for row in listed]
        _print_part("" if i else title, [headings[c] for c in part], shown, sum(c < left for c in part))
    if len(parts) > 1:
        note("split to fit the terminal: transom --wide prints the table in one piece")


def _parts(widths: Sequence[int], left: int, width: int) -> list[list[int]]:
    """Which columns stand side by side: the first ``left`` ones with as many of the others as there is room for.

    Of wide ones only the first is printed again.
    """
    again = left if 2 * sum(each + _GAP for each in widths[:left]) <= width else 1
    parts = [list(range(again))]
    for column in range(again, len(widths)):
        if len(parts[-1]) > again and sum(widths[c] + _GAP for c in (*parts[-1], column)) > width:
            parts.append(list(range(again)))
        parts[-1].append(column)
    return parts


def _print_part(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i < left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(width=_WIDEST, highlight=False, markup=False)
    with console.capture() as text:
        console.print(table, crop=False)
    print("\n".join(line.rstrip() for line in text.get().strip("\n").splitlines()))


def progress(hidden: bool = False) -> Progress:
    """Progress on standard error, unless ``hidden``: bars on a terminal, elsewhere a line every half minute."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from transom.cli.output.progress_lines import ProgressLines

    console = Console(stderr=True)
    if not hidden and not console.is_terminal:
        return ProgressLines(console)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=hidden)


def describe(workload: Workload) -> list[str]:
    """The workload that was read, warnings about it, and what the reader changed or left out."""
    cluster = workload.cluster
    lines = [f"{workload.name}: {len(workload)} jobs on {cluster.num_nodes} nodes"]
    lines += [f"  ! {each.text}" for each in workload.diagnostics]
    return lines + [f"  {what}: {count}" for what, count in workload.repairs.items()]


def remarked(title: str, workload: Workload) -> str:
    """A title with the warnings about a workload."""
    return "; ".join([title, *(each.short for each in workload.diagnostics)])


def number(value: float, digits: int = 2) -> str:
    """A number for a table."""
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def _finite(thing: Any) -> Any:
    if isinstance(thing, float) and not math.isfinite(thing):
        return None
    if isinstance(thing, dict):
        return {key: _finite(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_finite(value) for value in thing]
    return thing


def check_writable(path: Path, *endings: str) -> None:
    """Fail early if a file cannot be written.

    Raises
    ------
    DocumentError : its name has none of the ``endings`` (either may have ``.gz`` after it), it is a
        folder, or its folder cannot be written to.
    """
    import tempfile

    from transom.errors import DocumentError

    name = path.name.removesuffix(".gz")
    if not any(name.endswith(ending) and name != ending for ending in endings):
        known = [ending + packed for ending in endings for packed in ("", ".gz")]
        raise DocumentError(f"{path}: the name of the file must end in {', '.join(known)}")
    if path.is_dir():
        raise DocumentError(f"{path}: is a folder, not a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DocumentError(f"{path}: cannot be written: {error.strerror}") from None
