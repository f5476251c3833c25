"""Policies side by side: what every comparison is told, whatever it replays, and one replay after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from transom.cli.output.console import progress

if TYPE_CHECKING:
    from transom.cli.output.progress_lines import ProgressLines
    from transom.simulation.runs import Run

_Result = TypeVar("_Result")


class Comparison(NamedTuple):
    """Options of every comparison: ``[LABEL=]SPEC`` of policies, the seed, what is kept where, and what is shown."""

    policies: list[str]
    seed: int
    out: Path | None
    force: bool
    reference: bool
    figures: bool
    formats: list[str]
    json: bool

    @property
    def pictures(self) -> Path | None:
        """The folder of figures; None where none are drawn."""
        return self.out / "figures" if self.out and self.figures else None


def side_by_side(
    runs: Sequence[Run], total: int, replay: Callable[[Run, Callable[[int], None]], tuple[_Result, bool]]
) -> list[_Result]:
    """What the replays of runs give, one after another, with a progress bar for each.

    Parameters
    ----------
    runs : what to replay.
    total : of what each replay reports.
    replay : ``replay(run, report)`` gives a result, and whether it was read rather than computed; ``report`` takes how
        much is done.
    """
    found = []
    with progress() as bars:
        for run in runs:
            task = bars.add_task(run.label, total=None)  # the bar pulses while its kernels are compiled
            result, kept = replay(run, partial(_report, bars, task, total))
            bars.update(task, completed=total, total=total, description=f"{run.label} (kept)" if kept else run.label)
            found.append(result)
    return found


def _report(bars: ProgressLines, task: int, total: int, done: int) -> None:
    bars.update(task, completed=done, total=total)


@contextmanager
def drawing() -> Iterator[None]:
    """Show that figures are drawn, which takes seconds."""
    with progress() as bars:
        task = bars.add_task("figures", total=None)
        yield
        bars.update(task, total=1, completed=1)
