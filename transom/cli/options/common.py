"""Options that several commands share, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import completion

if TYPE_CHECKING:
    from transom.traces import ReadingRules, Workload


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


class ZeroRuntimes(StrEnum):
    """What becomes of a runtime of 0 of a job that completed."""

    bad = "bad"
    second = "second"


class EstimatesFor(StrEnum):
    """Whose walltimes are modelled."""

    missing = "missing"
    all = "all"


LARGEST = 2**40
"""The most nodes of a machine, as of :class:`~transom.models.Cluster`, which is imported by whoever needs one."""

Trace = Annotated[Path, typer.Argument(help="A trace in the Standard Workload Format, plain or gzip.")]
Nodes = Annotated[
    int | None,
    typer.Option("--nodes", min=1, max=LARGEST, help="Number of nodes, instead of what the header of the trace says."),
]
MachineNodes = Annotated[
    int | None, typer.Option("--nodes", min=1, max=LARGEST, help="Workflows: nodes of the machine.")
]
Amounts = Annotated[
    str | None,
    typer.Option(
        "--amounts",
        metavar="NAME=AMOUNT,...",
        help="Workflows: what the machine has of further resources, such as memory=64000000000. By default, enough.",
    ),
]
Together = Annotated[
    bool,
    typer.Option("--together", help="Workflows: all of the files are one problem, each released when it is submitted."),
]
Start = Annotated[int, typer.Option("--start", min=0, help="Position of the first job, from 0.")]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="Number of jobs, instead of all that follow.")]
SizeOption = Annotated[Size, typer.Option("--size", help="Which size of a job counts, where the trace has it.")]
WalltimeOption = Annotated[
    Walltime, typer.Option("--walltime", help="Where no time was requested, take the runtime, or drop the job.")
]
LongRunsOption = Annotated[LongRuns, typer.Option("--long-runs", help="What to do with a runtime above the walltime.")]
NonpositiveOption = Annotated[
    Bad, typer.Option("--nonpositive", help="What to do with a job whose id, size or runtime is <= 0.")
]
OversizedOption = Annotated[Bad, typer.Option("--oversized", help="What to do with a job larger than the machine.")]
SizeField = Annotated[
    str | None,
    typer.Option(
        "--size-field",
        metavar="FIELD",
        help="Field with the size of a job, instead of --size: a number, a name such as "
        "requested-processors, the name of a further column in the header, or column19 "
        "and so on.",
    ),
]
ZeroRuntimesOption = Annotated[
    ZeroRuntimes,
    typer.Option(
        "--zero-runtimes", help="Treat a runtime of 0 of a completed job as --nonpositive says, or as one second."
    ),
]
Partition = Annotated[
    list[str] | None,
    typer.Option("--partition", metavar="NUMBER|NAME", help="Only the jobs of this partition. Repeat for several."),
]
PartitionNodes = Annotated[
    str | None,
    typer.Option(
        "--partition-nodes",
        metavar="trace|NAME=NODES,...",
        help="Jobs keep to the nodes of their own partition: as many as the trace states, or as stated here. By "
        "default, all partitions are replayed as one machine.",
    ),
]
Estimates = Annotated[
    str,
    typer.Option(
        "--estimates",
        metavar="MODEL",
        help="Model of walltimes that nobody requested: exact (the runtime), factor:F, "
        "overestimated, tsafrir[:longest=SECONDS,share=SHARE], or trace:FILE, as in "
        "another trace. Drawn with --seed.",
    ),
]
EstimatesForOption = Annotated[
    EstimatesFor,
    typer.Option("--estimates-for", help="Apply the model to jobs without a requested walltime, or to all."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")]
Objective = Annotated[
    str | None,
    typer.Option(
        "--objective",
        autocompletion=completion.objectives,
        help="Value of a job in a window, such as wait (by default, its nodes), or of an instance in a placement: "
        "count, area or area-duration.",
    ),
]
Objectives = Annotated[
    str | None,
    typer.Option(
        "--objectives",
        help="Objectives of a selection: resources and objectives, separated by slashes, such "
        "as nodes/gpu/wait. By default, the use of every resource.",
    ),
]
CostModel = Annotated[
    str | None,
    typer.Option(
        "--cost-model",
        autocompletion=completion.cost_models,
        help="Hop costs in windows, such as authors or custom:same_leaf=1,... By default, equation (1) of the paper.",
    ),
]
Wrap = Annotated[
    bool | None,
    typer.Option(
        "--wrap/--no-wrap",
        help="Whether the nodes of a job may wrap around from the last idle node to the first. "
        "By default yes, or as the files say.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


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


READING = (
    "size", "size_field", "walltime", "long_runs", "nonpositive", "oversized", "zero_runtimes", "partition",
    "partition_nodes", "estimates", "estimates_for",
)  # fmt: skip
"""The options about how jobs are read."""


def reading_rules(
    size: Size = Size.requested,
    size_field: str | None = None,
    walltime: Walltime = Walltime.requested_else_runtime,
    long_runs: LongRuns = LongRuns.cut,
    nonpositive: Bad = Bad.drop,
    oversized: Bad = Bad.drop,
    zero_runtimes: ZeroRuntimes = ZeroRuntimes.bad,
    partition: Sequence[str] | None = None,
    partition_nodes: str | None = None,
    estimates: str = "exact",
    estimates_for: EstimatesFor = EstimatesFor.missing,
    seed: int = 0,
) -> ReadingRules:
    """The rules that options state.

    Raises
    ------
    SpecError : they contradict each other, or there is no such model of estimates.
    """
    from transom.traces import ReadingRules

    return ReadingRules(
        nodes=size.value,
        walltime=walltime.value,
        long_runs=long_runs.value,
        nonpositive=nonpositive.value,
        oversized=oversized.value,
        size_field=size_field,
        zero_runtimes=zero_runtimes.value,
        partitions=tuple(partition or ()),
        partition_nodes=partition_nodes,
        estimates=estimates,
        estimates_for=estimates_for.value,
        seed=seed,
    )


def told(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Options about reading as a recording states them, in JSON's terms."""
    return {name: value.value if isinstance(value, Enum) else value for name, value in reading.items()}


def read_workload(
    trace: Path,
    nodes: int | None = None,
    start: int = 0,
    jobs: int | None = None,
    events: str = "textbook",
    **reading: Any,
) -> Workload:
    """Read a trace under the rules given (:func:`reading_rules`) and cut it.

    ``events`` names the event rules of the replay: under those of other programs jobs wait for no others, and
    ``rlscheduler`` reads jobs by rules of its own and cuts by id.
    """
    from transom.simulation.event_rules import parse_rules
    from transom.simulation.reading import read_sequence

    return read_sequence(trace, parse_rules(events), nodes, start, jobs, reading_rules(**reading)).workload
