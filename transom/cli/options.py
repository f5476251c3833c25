"""Options that several commands share, and what becomes of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from transom.traces import Workload


class Size(StrEnum):
    """Which size of a job to read."""

    requested = "requested"
    allocated = "allocated"
    max = "max"


class Walltime(StrEnum):
    """Where a walltime comes from."""

    requested_else_runtime = "requested-else-runtime"
    requested = "requested"


class LongRuns(StrEnum):
    """What becomes of a runtime above the walltime."""

    cut = "cut"
    keep = "keep"
    drop = "drop"


class Bad(StrEnum):
    """What becomes of a job that cannot run."""

    drop = "drop"
    error = "error"


Trace = Annotated[Path, typer.Argument(help="A trace in the Standard Workload Format, plain or gzip.")]
Nodes = Annotated[
    int | None, typer.Option("--nodes", min=1, help="Nodes of the machine, instead of what the header says.")
]
Start = Annotated[int, typer.Option("--start", min=0, help="Begin with the job at this position, from 0.")]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="Take so many jobs, instead of all that follow.")]
SizeOption = Annotated[Size, typer.Option("--size", help="Which size of a job counts, where it is known.")]
WalltimeOption = Annotated[
    Walltime, typer.Option("--walltime", help="Take the runtime where no time was requested, or leave the job out.")
]
LongRunsOption = Annotated[LongRuns, typer.Option("--long-runs", help="What to do with a runtime above the walltime.")]
NonpositiveOption = Annotated[
    Bad, typer.Option("--nonpositive", help="What to do with a job whose id, size or runtime is <= 0.")
]
OversizedOption = Annotated[Bad, typer.Option("--oversized", help="What to do with a job larger than the machine.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")]
Objective = Annotated[
    str | None,
    typer.Option("--objective", help="What a job of a window is worth, such as wait; its nodes by default."),
]
Objectives = Annotated[
    str | None,
    typer.Option(
        "--objectives",
        help="What a selection of a window maximises: resources and objectives with slashes between, such as "
        "nodes/gpu/wait; the use of every resource by default.",
    ),
]
CostModel = Annotated[
    str | None,
    typer.Option(
        "--cost-model",
        help="What hops cost in windows, such as authors or custom:same_leaf=1,...; eq. (1) of the paper by default.",
    ),
]
Wrap = Annotated[
    bool | None,
    typer.Option(
        "--wrap/--no-wrap", help="Whether a job's nodes may go on at the head of the idle ones; yes, or as files say."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table.")]


def refuse(given: dict[str, Any], where: str) -> None:
    """Say no to options that do not go with something.

    Raises
    ------
    SpecError : one of them is given, that is, not None.
    """
    from transom.errors import SpecError

    for name, value in given.items():
        if value is not None:
            raise SpecError(f"{name} does not go with {where}")


def read_workload(
    trace: Path,
    nodes: int | None = None,
    start: int = 0,
    jobs: int | None = None,
    size: Size = Size.requested,
    walltime: Walltime = Walltime.requested_else_runtime,
    long_runs: LongRuns = LongRuns.cut,
    nonpositive: Bad = Bad.drop,
    oversized: Bad = Bad.drop,
    events: str = "textbook",
) -> Workload:
    """Read a trace under the rules given and cut it.

    ``events`` names the event rules of the replay: under those of other programs jobs wait for no others, and
    ``rlscheduler`` reads jobs by rules of its own and cuts by id.
    """
    from transom.simulation.event_rules import parse_rules
    from transom.simulation.reading import read_sequence
    from transom.traces import ReadingRules

    reading = ReadingRules(size.value, walltime.value, long_runs.value, nonpositive.value, oversized.value)
    return read_sequence(trace, parse_rules(events), nodes, start, jobs, reading).workload
