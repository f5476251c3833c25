"""The option ``--on``: what carries runs out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from transom.bench.engine import Engine

On = Annotated[str, typer.Option("--on", help="What carries the runs out: local, worker processes of this machine.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Runs side by side; by default as many as the cores have room for, with one core left where there are "
        "more than two.",
    ),
]


def chosen_engine(on: str, workers: int | None, threads: int) -> Engine:
    """The engine that ``--on`` names.

    Parameters
    ----------
    on : what stands there.
    workers : how many runs go on side by side; None by the cores of this machine.
    threads : the most that a run uses.

    Raises
    ------
    SpecError : there is no such engine.
    """
    from transom.registry import unknown

    if on == "local":
        from transom.bench.local_engine import LocalEngine

        return LocalEngine(workers or default_workers(threads))
    raise unknown("engine", on, ("local",))


def default_workers(threads: int) -> int:
    """How many runs of so many threads the cores that this process may use have room for, beside the bench itself."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, (cores - (cores > 2)) // threads)
