"""Outages as a user states them: files, laws, reservations of a Slurm, and what the log of the trace shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from transom._system.wording import counted
from transom.errors import SpecError
from transom.reading import head
from transom.traces.outages import OnFailure, Outage, Outages, parse_outages
from transom.traces.partitions import STATED
from transom.traces.records.slurm_text.reservations import for_maintenance, read_reservations
from transom.traces.standstills import standstills
from transom.traces.trace_file import TraceCard, is_trace_file, read_trace_card
from transom.traces.workload import Workload

LOGGED = "logged"
"""The standstills of the log as maintenance."""


def known_outages(
    texts: Sequence[str],
    workload: Workload,
    on_failure: OnFailure = "requeue",
    note: Callable[[str], None] = lambda text: None,
) -> Outages:
    """The outages of a replay as they are stated.

    Parameters
    ----------
    texts : each a file or a law as :func:`~transom.traces.outages.parse_outages` takes them, what ``scontrol show
        reservation`` printed, whose reservations with the flag ``MAINT`` are maintenance that is known from the start;
        ``trace``, such reservations that the trace states; or ``logged``, the standstills of the log.
    workload : what is replayed.
    on_failure : see :class:`~transom.traces.outages.Outages`.
    note : takes what is left out, a line each.

    Raises
    ------
    SpecError : a law is malformed, there are two, a reservation has more nodes than the machine, sizes of jobs count no
        nodes, or the trace states no maintenance or no starts.
    TraceError : a file cannot be read; the message names file, line and broken condition.
    """
    files = [text for text in texts if text not in (LOGGED, STATED) and not _prints_reservations(text)]
    made = parse_outages(files, workload.cluster.num_nodes, on_failure)
    rows = list(made.rows)
    for text in texts:
        if text == LOGGED:
            rows += _logged(workload)
        elif text == STATED:
            if not (stated := stated_maintenance(workload)):
                raise SpecError(f"{workload.name}: the trace states no maintenance (transom import --conf keeps it)")
            rows += stated
        elif text not in files:
            rows += _reserved(text, workload, note)
    return replace(made, rows=tuple(rows))


def stated_maintenance(workload: Workload) -> list[Outage]:
    """The maintenance that the trace of a workload states; none where it states none.

    Raises
    ------
    SpecError : it is of a part of a machine of which the workload has another part.
    """
    path, nodes = workload.origin.path, workload.cluster.num_nodes
    card = read_trace_card(path) if is_trace_file(path) else TraceCard()
    rows, whole = [], card.machine.get(card.unit, 0)
    for each in card.maintenance:
        number = int(each[card.unit])
        if number < whole > nodes:
            raise SpecError(
                f"{path}: states maintenance of {number:,} of {whole:,} {card.unit}, not how many of the {nodes:,} here"
            )
        if number > 0:
            out = nodes if number >= whole > 0 else min(number, nodes)
            rows.append(Outage("maintenance", int(each["begin"]), int(each["end"]), out))
    return rows


def _logged(workload: Workload) -> list[Outage]:
    if workload.origin.started is None:
        raise SpecError(f"{workload.name}: the trace does not say when jobs started, so nothing is logged of outages")
    return [Outage("maintenance", each.begin, each.end, each.nodes) for each in standstills(workload)]


def _prints_reservations(path: str) -> bool:
    """Whether a file is what ``scontrol show reservation`` prints, by its beginning."""
    try:
        begin = head(path, 1024).lstrip() if Path(path).is_file() else b""  # what a pipe has it gives once
    except (OSError, ValueError):
        return False
    return begin[:16].lower() == b"reservationname=" or begin[:1] in (b"{", b"[")


def _reserved(path: str, workload: Workload, note: Callable[[str], None]) -> list[Outage]:
    """Maintenance by numbers of nodes, each host once at a time."""
    trace, nodes = workload.origin.path, workload.cluster.num_nodes
    if is_trace_file(trace) and read_trace_card(trace).unit != "nodes":
        raise SpecError(f"{path}: reservations are of nodes, and sizes in {trace} count cores: state them as CSV")
    found = read_reservations(path)
    if left := sum("MAINT" not in each.flags for each in found):
        note(f"{path}: {counted(left, 'reservation')} without the flag MAINT left out: they are for certain jobs")
    rows = []
    for each, hosts in for_maintenance(found):
        if len(hosts) > nodes:
            raise SpecError(f"{path}: {each.name!r} reserves {len(hosts)} nodes, the machine has {nodes}")
        rows.append(Outage("maintenance", each.begin, each.end, len(hosts)))
    return rows
