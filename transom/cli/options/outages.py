"""The options ``--outages`` and ``--on-failure``: which nodes go out of service, and what becomes of their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from transom._system.durations import day
from transom._system.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transom.simulation.runs import Run
    from transom.traces import Workload
    from transom.traces.outages import Outage, Outages
    from transom.traces.standstills import Standstill


OnFailure = Literal["requeue", "lose"]
"""What becomes of jobs whose nodes go out of service under them."""

NONE = "none"
"""No outages, not even the maintenance that the trace states."""


OutagesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--outages",
        metavar="FILE|LAW|trace|logged|none",
        help="Node failures, drains and maintenance: a CSV file with the columns kind, begin, end, "
        "nodes, announced; what scontrol show reservation prints; random failures such as "
        "mtbf=30d,mttr=4h, drawn with --seed; trace, the default: maintenance that the trace states; logged: "
        "when the log started nothing though jobs waited; or none. Repeat to combine.",
    ),
]
OnFailureOption = Annotated[
    OnFailure, typer.Option("--on-failure", help="What happens to jobs whose nodes go out of service.")
]


class OutOfService(NamedTuple):
    """The outages of a comparison, None if there are none; what a person should know of others; and a sentence on
    those that are replayed though nobody asked for them, if there are any."""

    outages: Outages | None = None
    notes: Sequence[str] = ()
    unasked: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        """What a program reads of them."""
        from transom.traces.outages import outage_card

        said = {"maintenance": self.unasked[0]} if self.unasked else {}
        return {} if self.outages is None else {"outages": outage_card(self.outages), **said}


def with_outages(
    runs: list[Run],
    texts: list[str] | None,
    on_failure: OnFailure,
    workload: Workload,
    context: typer.Context,
    today: str | None = None,
) -> tuple[list[Run], OutOfService]:
    """Runs with the outages that are stated: on the command line, or else, of maintenance, by the trace.

    Parameters
    ----------
    runs : the policies.
    texts, on_failure : the options.
    workload : what is replayed.
    context : of the command.
    today : ``[LABEL=]SPEC`` of a policy that is replayed beside them.

    Raises
    ------
    SpecError : a law is malformed, the log states no starts, --on-failure is stated without --outages, or ``none`` with
        others.
    TraceError : a file cannot be read.
    """
    from dataclasses import replace

    from transom.errors import SpecError
    from transom.simulation.known_outages import LOGGED, known_outages
    from transom.simulation.runs import parse_runs
    from transom.traces.outages import Outages
    from transom.traces.partitions import STATED, partition_sizes
    from transom.traces.standstills import standstills

    lines: list[str] = []
    if NONE in (texts or ()) and texts != [NONE]:
        raise SpecError("--outages none goes with no other --outages")
    if texts and texts != [NONE]:
        made = known_outages(texts, workload, on_failure, lines.append)
        if LOGGED in texts:
            found = standstills(workload)
            said = f"{_in_words(found, workload)}: replayed as maintenance" if found else "the log shows no standstill"
            lines.append(f"--outages logged: {said}")
        else:
            lines += _offered(workload, [*made.rows, *_stated(workload)[0]], ())
        known = [row for row in made.rows if row.kind == "maintenance" and row.number < workload.cluster.num_nodes]
        if known and partition_sizes(workload.cluster):
            part = f"{counted(len(known), 'maintenance period')} of fewer than {workload.cluster.num_nodes:,} nodes"
            lines.append(f"{part}: taken from the whole machine, not from a partition")
        left = [row for row in _stated(workload)[0] if not _known(row.begin, row.end, made.rows)]
        if left and STATED not in texts:
            lines.append(f"the trace states maintenance, {_windows(left, workload)}: --outages trace adds it")
        return [replace(run, outages=made) for run in runs], OutOfService(made, lines)
    rows: list[Outage] = []
    if not texts:
        rows, lines = _by_default([*runs, *parse_runs([today] if today else [])], workload)
    if rows:
        made = Outages(tuple(rows), on_failure=on_failure)
        unasked = f"Maintenance as the trace states it: {_windows(rows, workload)}; --outages none leaves it out."
        return [replace(run, outages=made) for run in runs], OutOfService(made, lines, [unasked])
    source = context.get_parameter_source("on_failure")
    if source is not None and source.name == "COMMANDLINE":
        raise SpecError("--on-failure needs --outages")
    return runs, OutOfService(None, lines)


def _by_default(runs: Sequence[Run], workload: Workload) -> tuple[list[Outage], list[str]]:
    """The maintenance that is replayed where no outages are stated, and lines on what is not."""
    from transom.traces.partitions import partition_sizes

    stated, why = _stated(workload)
    refused = _refusal(runs, workload)
    if refused or why:
        lines = [f"maintenance that the trace states is left out: {refused or why}"] if stated or why else []
        return [], lines if refused else [*lines, *_offered(workload, stated, ())]
    replayed, lines = stated, []
    if partition_sizes(workload.cluster):
        # Whose nodes a part of the machine is, the trace does not say.
        replayed = [row for row in stated if row.number == workload.cluster.num_nodes]
        if parts := [row for row in stated if row not in replayed]:
            known = "--outages trace replays it as if it were of any partition's nodes"
            lines = [f"the trace states maintenance of a part of the machine, {_windows(parts, workload)}: {known}"]
    return replayed, [*lines, *_offered(workload, stated, replayed)]


def unforeseen(workload: Workload, first: int, last: int) -> list[str]:
    """A line on the maintenance that the trace states between two instants [s], which forecasts leave out."""
    rows = _stated(workload, (first, last))[0]
    left_out = "Left out of the forecast is maintenance that the trace states"
    return [f"{left_out}: {_windows(rows, workload)}."] if rows else []


def not_replayed(workload: Workload) -> list[str]:
    """A line on the maintenance that the trace states, for replays that leave it out."""
    rows = _stated(workload)[0]
    return [f"Left out is maintenance that the trace states: {_windows(rows, workload)}."] if rows else []


def _stated(workload: Workload, within: tuple[int, int] | None = None) -> tuple[list[Outage], str]:
    """The maintenance that the trace states between two instants [s], by default from the first submission to the last
    end by walltime after it; or why it cannot be replayed on these nodes."""
    from transom.errors import SpecError
    from transom.simulation.known_outages import stated_maintenance

    jobs = workload.jobs
    first, last = within or (int(jobs.submit.min(initial=2**62)), int((jobs.submit + jobs.walltime).max(initial=0)))
    try:
        return [row for row in stated_maintenance(workload) if row.begin < last and first < row.end], ""
    except SpecError as error:  # that of other nodes
        return [], str(error)


def _refusal(runs: Sequence[Run], workload: Workload) -> str:
    """Why outages cannot be replayed under these policies on this machine; empty where they can."""
    from transom.simulation.nodes.sections import sections_of
    from transom.traces.outages import MOST_NODES

    for run in runs:
        if run.rules != "textbook":
            return f"the event rules {run.rules} know no outages"
        if setting := getattr(run.policy, "without_outages", ""):
            return f"{run.label} has {setting}, which does not go with outages"
    if workload.cluster.num_nodes > MOST_NODES:
        return f"of more than {MOST_NODES:,} nodes none can be watched"
    if workload.cluster.topology is not None and sections_of(workload.cluster, workload.jobs) is not None:
        return "nodes are placed by partition or by tree, which outages do not state"
    return ""


def _offered(workload: Workload, stated: Sequence[Outage], replayed: Sequence[Outage]) -> list[str]:
    """A line on the standstills of the log, or else of a partition, of which the trace states nothing."""
    from transom.traces.standstills import of_partitions, standstills

    # Before maintenance that is known, jobs wait because they would run into it.
    longest = int(workload.jobs.walltime.max(initial=0))
    if found := [each for each in standstills(workload) if not _known(each.begin, each.end + longest, stated)]:
        these, both = "this" if len(found) == 1 else "these", "--outages trace " if replayed else ""
        return [f"{_in_words(found, workload)}: {both}--outages logged replays {these} as maintenance"]
    for name, partly in of_partitions(workload).items():
        if found := [each for each in partly if not _known(each.begin, each.end + longest, stated)]:
            alone = f"--partition {name} --outages logged replays that partition with it"
            return [f"{_in_words(found, workload, f' in {name}')}: {alone}"]
    return []


def _known(begin: int, end: int, rows: Sequence[Outage]) -> bool:
    """Whether maintenance is known at any time between two instants [s]."""
    return any(row.kind == "maintenance" and row.begin < end and begin < row.end for row in rows)


def _windows(rows: Sequence[Outage], workload: Workload) -> str:
    """When how many nodes are out, of many the first."""
    epoch = workload.origin.epoch
    said = [f"{_date(row.begin, epoch)} to {_date(row.end, epoch)}, {counted(row.number, 'node')}" for row in rows[:3]]
    return "; ".join([*said, *([f"and {len(rows) - 3} times more"] if len(rows) > 3 else [])])


def _in_words(found: list[Standstill], workload: Workload, where: str = "") -> str:
    """When a log started nothing, of several the longest, in dates where its clock has them."""
    longest, epoch = max(found, key=lambda each: each.end - each.begin), workload.origin.epoch
    begin, end = (_date(time, epoch) for time in (longest.begin, longest.end))
    while_waiting = f"between {begin} and {end} while {longest.waiting:,} jobs waited"
    if len(found) == 1:
        return f"the log started nothing{where} {while_waiting}"
    return f"{len(found)} times the log started nothing{where} for hours while jobs waited, longest {while_waiting}"


def _date(time: int, epoch: int | None) -> str:
    if epoch is None:
        return f"{time:,} s"
    time += epoch
    return f"{day(time)} {time % 86_400 // 3600:02}:{time % 3600 // 60:02}"


def recorded_outages(details: dict[str, Any], where: str) -> Outages | None:
    """The outages that a recording states, None if it states none.

    Raises
    ------
    DocumentError : they are not known.
    """
    from transom.errors import DocumentError
    from transom.traces.outages import outages_of

    if "outages" not in details:
        return None
    try:
        return outages_of(details["outages"])
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"{where}: the outages in its metadata are not known: {error}") from None
