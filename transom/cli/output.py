"""What people and machines read: tables, JSON lines, progress bars. Notes go to standard error."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

    from transom.traces import Workload


def note(text: str) -> None:
    """Tell the person at the terminal; standard output stays clean."""
    print(text, file=sys.stderr)


def print_json(thing: Any) -> None:
    """One JSON document on one line; numbers that are not finite become null."""
    import msgspec

    print(msgspec.json.encode(_finite(thing)).decode())


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table: first column to the left, the others to the right. Plain text where nobody watches."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    # Where the output is not a terminal, a line may be as long as it needs to be.
    console = Console(width=None if sys.stdout.isatty() else 400, highlight=False, markup=False)
    with console.capture() as text:
        console.print(table)
    print("\n".join(line.rstrip() for line in text.get().strip("\n").splitlines()))


def progress() -> Progress:
    """Progress bars on standard error, on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def describe(workload: Workload) -> list[str]:
    """What was read, and what the reader changed or left out."""
    cluster = workload.cluster
    lines = [f"{workload.name}: {len(workload)} jobs on {cluster.num_nodes} nodes"]
    return lines + [f"  {what}: {count}" for what, count in workload.repairs.items()]


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
