"""The options ``--outages`` and ``--on-failure``: which nodes go out of service, and what becomes of their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from transom._system.durations import day

if TYPE_CHECKING:
    from transom.simulation.runs import Run
    from transom.traces import Workload
    from transom.traces.outages import Outages
    from transom.traces.standstills import Standstill


OnFailure = Literal["requeue", "lose"]
"""What becomes of jobs whose nodes go out of service under them."""


OutagesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--outages",
        metavar="FILE|LAW|trace|logged",
        help="Node failures, drains and maintenance: a CSV file with the columns kind, begin, end, "
        "nodes, announced; what scontrol show reservation prints; random failures such as "
        "mtbf=30d,mttr=4h, drawn with --seed; trace: maintenance that the trace states; or logged: "
        "when the log started nothing though jobs waited. Repeat to combine.",
    ),
]
OnFailureOption = Annotated[
    OnFailure, typer.Option("--on-failure", help="What happens to jobs whose nodes go out of service.")
]


def with_outages(
    runs: list[Run], texts: list[str] | None, on_failure: OnFailure, workload: Workload, context: typer.Context
) -> tuple[list[Run], Outages | None, list[str]]:
    """Runs with the outages that are stated, these (None if none are), and what a person should know of others.

    Raises
    ------
    SpecError : a law is malformed, the log states no starts, or --on-failure is stated without --outages.
    TraceError : a file cannot be read.
    """
    from dataclasses import replace

    from transom.errors import SpecError
    from transom.simulation.known_outages import LOGGED, known_outages
    from transom.traces.standstills import standstills

    if texts:
        lines: list[str] = []
        made = known_outages(texts, workload, on_failure, lines.append)
        if LOGGED in texts:
            found = standstills(workload)
            said = f"{_in_words(found, workload)}: replayed as maintenance" if found else "the log shows no standstill"
            lines.append(f"--outages logged: {said}")
        return [replace(run, outages=made) for run in runs], made, lines
    source = context.get_parameter_source("on_failure")
    if source is not None and source.name == "COMMANDLINE":
        raise SpecError("--on-failure needs --outages")
    takes_them = all(run.rules == "textbook" and not getattr(run.policy, "reservations", "") for run in runs)
    return runs, None, _offered(workload) if takes_them else []


def _offered(workload: Workload) -> list[str]:
    """The maintenance that the trace states, else that of which its log tells."""
    from transom.errors import SpecError
    from transom.simulation.known_outages import stated_maintenance
    from transom.traces.standstills import of_partitions, standstills

    try:
        stated = stated_maintenance(workload)
    except SpecError:  # that of other nodes
        stated = []
    if stated:
        begin, end = (_date(time, workload.origin.epoch) for time in (stated[0].begin, stated[0].end))
        more = f" and {len(stated) - 1} times more" if len(stated) > 1 else ""
        return [f"the trace states maintenance between {begin} and {end}{more}: --outages trace replays it"]
    if found := standstills(workload):
        replayed = "this" if len(found) == 1 else "these"
        return [f"{_in_words(found, workload)}: --outages logged replays {replayed} as maintenance"]
    for name, found in of_partitions(workload).items():
        alone = f"--partition {name} --outages logged replays that partition with it"
        return [f"{_in_words(found, workload, f' in {name}')}: {alone}"]
    return []


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
