"""Options of the commands about a running Slurm, and what it is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transom.cli.options import completion
from transom.cli.options.digits import DURATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from transom.simulation.nodes.allocator import Allocator
    from transom.slurm.audit import Audit
    from transom.slurm.state import SlurmState
    from transom.slurm.window import Seen

Answers = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[ANSWER]...",
        help="Files with answers of a Slurm: squeue --json, sinfo --json, scontrol show job, nodes, partition, "
        "reservation, licenses or topology, as text or JSON. By default, the Slurm of this machine is asked.",
    ),
]
PartitionOption = Annotated[
    str | None, typer.Option("--partition", help="Partition whose window it is. By default, that of the site.")
]
Held = Annotated[bool, typer.Option("--held", help="Treat held jobs as if they were released.")]
Now = Annotated[
    str | None,
    typer.Option(
        "--now",
        help="With files: the time they were written, such as 2026-01-31T12:00:00 (UTC) or seconds since 1970. By "
        "default, the last time at which something happened.",
    ),
]

Rest = Annotated[
    Path | None,
    typer.Option(
        "--rest",
        metavar="SOCKET",
        help="Unix socket of a slurmrestd that is asked instead of commands (v0.0.38 or later).",
    ),
]

NoLater = Annotated[
    int | None,
    typer.Option(
        "--no-later",
        metavar=DURATION,
        min=0,
        help="Start no job later than Slurm's own plan, when the job was first seen, and so long: starts that "
        "would make another one too late are kept back, and jobs that are or would be too late are left to Slurm.",
    ),
]

Allocate = Annotated[
    str | None,
    typer.Option(
        "--allocate",
        autocompletion=completion.solvers,
        help="Solver that chooses the nodes on the network of topology.conf. By default, the first idle nodes.",
    ),
]


def allocator(solver: str | None) -> Allocator | None:
    """What chooses nodes; None for the first idle ones."""
    from transom.simulation.nodes.allocator import Allocator

    return None if solver is None else Allocator(solver)


def asker(rest: Path | None) -> Callable[[], SlurmState]:
    """What asks a running Slurm: commands, or a slurmrestd."""
    from functools import partial

    from transom.slurm.state import ask_slurm

    if rest is None:
        return ask_slurm
    from transom.slurm.rest import ask_rest

    return partial(ask_rest, rest)


def asked_state(answers: list[Path] | None, now: str | None, rest: Path | None) -> SlurmState:
    """The state that files tell, or that of the Slurm of this machine.

    Raises
    ------
    SpecError : the time cannot be read, or is stated without files; files and a slurmrestd are both stated.
    SlurmError : Slurm does not answer, or the files tell no state.
    """
    from transom.errors import SpecError
    from transom.slurm.consistency import look
    from transom.slurm.state import read_answers
    from transom.traces.records.values import instant

    if not answers:
        if now is not None:
            raise SpecError("--now needs files with answers; a running Slurm has a clock of its own")
        return look(asker(rest))
    if rest is not None:
        raise SpecError("--rest asks a running Slurm, and files are given")
    time = None if now is None else instant(now)
    if now is not None and (time is None or time < 0):
        raise SpecError(f"--now: expected a time such as 2026-01-31T12:00:00, got {now!r}")
    return read_answers(answers, time)


def tell_head(log: Audit) -> None:
    """Say what a copy of an audit log is to be compared with later, and what is missing in it."""
    from transom.cli.output.console import note

    if log.lost:
        note(f"{log.path}: lines are missing: {log.lost}")
    note(f"{log.path}: head {log.head}")


def remarks_on(seen: Seen) -> list[str]:
    """What is left to Slurm, and what else a reader should know; a line each."""
    lines = list(seen.remarks)
    if seen.left:
        told = ", ".join(f"{count} {reason}" for reason, count in seen.left.items())
        lines.append(f"left to Slurm: {sum(seen.left.values())} waiting jobs ({told})")
    return lines
