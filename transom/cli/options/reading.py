"""The options about how the jobs of a trace are read, in one place for every command that reads one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

if TYPE_CHECKING:
    from transom.traces import ReadingRules, Workload

Bad = Literal["drop", "error"]


class Reading(NamedTuple):
    """Fields of :class:`~transom.traces.ReadingRules` as options."""

    size: Annotated[
        Literal["requested", "allocated", "max"],
        typer.Option("--size", help="Which size of a job counts, where the trace has it."),
    ] = "requested"
    size_field: Annotated[
        str | None,
        typer.Option(
            "--size-field",
            metavar="FIELD",
            help="Field with the size of a job, instead of --size: a number, a name such as "
            "requested-processors, the name of a further column in the header, or column19 "
            "and so on.",
        ),
    ] = None
    walltime: Annotated[
        Literal["requested-else-runtime", "requested"],
        typer.Option("--walltime", help="Where no time was requested, take the runtime, or drop the job."),
    ] = "requested-else-runtime"
    long_runs: Annotated[
        Literal["cut", "keep", "drop"],
        typer.Option("--long-runs", help="What to do with a runtime above the walltime."),
    ] = "cut"
    nonpositive: Annotated[
        Bad, typer.Option("--nonpositive", help="What to do with a job whose id, size or runtime is <= 0.")
    ] = "drop"
    oversized: Annotated[Bad, typer.Option("--oversized", help="What to do with a job larger than the machine.")] = (
        "drop"
    )
    zero_runtimes: Annotated[
        Literal["bad", "second"],
        typer.Option(
            "--zero-runtimes", help="Treat a runtime of 0 of a completed job as --nonpositive says, or as one second."
        ),
    ] = "bad"
    partition: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="NUMBER|NAME", help="Only the jobs of this partition. Repeat for several."),
    ] = None
    partition_nodes: Annotated[
        str | None,
        typer.Option(
            "--partition-nodes",
            metavar="trace|NAME=NODES,...",
            help="Jobs keep to the nodes of their own partition: as many as the trace states, or as stated here. "
            "Default: trace, if it states them, else one machine.",
        ),
    ] = None
    merge_partitions: Annotated[
        bool,
        typer.Option("--merge-partitions", help="Replay all partitions as one machine, even if the trace sizes them."),
    ] = False
    estimates: Annotated[
        str,
        typer.Option(
            "--estimates",
            metavar="MODEL",
            help="Model of walltimes that nobody requested: exact (the runtime), factor:F, "
            "overestimated, tsafrir[:longest=DURATION,share=SHARE], or trace:FILE, as in "
            "another trace. Drawn with --seed.",
        ),
    ] = "exact"
    estimates_for: Annotated[
        Literal["missing", "all"],
        typer.Option("--estimates-for", help="Apply the model to jobs without a requested walltime, or to all."),
    ] = "missing"


def reading_rules(reading: Reading, seed: int = 0) -> ReadingRules:
    """The rules that options state.

    Raises
    ------
    SpecError : they contradict each other, or there is no such model of estimates.
    """
    from transom.traces import ReadingRules

    stated = reading._asdict()
    size, partition = stated.pop("size"), stated.pop("partition")
    return ReadingRules(nodes=size, partitions=tuple(partition or ()), seed=seed, **stated)


def read_workload(
    trace: Path,
    nodes: int | None = None,
    start: int = 0,
    jobs: int | None = None,
    events: str = "textbook",
    seed: int = 0,
    reading: Reading = Reading(),  # noqa: B008  (a named tuple)
) -> Workload:
    """Read a trace as the options say and cut it.

    ``events`` names the event rules of the replay: under those of other programs jobs wait for no others, and
    ``rlscheduler`` reads jobs by rules of its own and cuts by id.
    """
    from transom.simulation.event_rules import parse_rules
    from transom.simulation.reading import read_sequence

    rules = reading_rules(reading, seed)
    return read_sequence(trace, parse_rules(events), nodes, start, jobs, rules).workload
