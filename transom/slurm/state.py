"""What a Slurm is doing at an instant: asked for by its commands, or read from answers that were kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from transom.errors import SlurmError
from transom.slurm.commands import run_slurm
from transom.traces.records.slurm_text import jobs as slurm_jobs
from transom.traces.records.slurm_text import site
from transom.traces.records.slurm_text.documents import PLACES, json_records, stated
from transom.traces.records.slurm_text.job_fields import RECORDED, WAITING
from transom.traces.records.slurm_text.jobs import SEPARATOR, SlurmJob
from transom.traces.records.slurm_text.nodes import SlurmNode, nodes_of
from transom.traces.records.slurm_text.site import Licence, Partition, Reservation
from transom.traces.records.slurm_text.switches import Switch
from transom.traces.records.slurm_text.tokens import (
    BLOCK,
    JOB,
    LICENCE,
    NODE,
    PARTITION,
    RESERVATION,
    SWITCH,
    Record,
    numbered_lines,
    records_of,
)
from transom.traces.records.values import instant
from transom.traces.swf_blocks import blocks


@dataclass(slots=True)
class SlurmState:
    """Jobs, nodes and what stands beside them; ``now`` is Slurm's own clock [s since 1970], ``doubtful`` the nodes of
    which jobs and nodes report different things."""

    now: int = -1
    jobs: list[SlurmJob] = field(default_factory=list)
    nodes: list[SlurmNode] = field(default_factory=list)
    partitions: list[Partition] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    licences: list[Licence] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    doubtful: tuple[str, ...] = ()

    def latest(self) -> int:
        """The latest time of something that happened, as the jobs report it."""
        return max((max(j.submit, j.looked, j.start if j.holds else -1) for j in self.jobs), default=-1)


def ask_slurm() -> SlurmState:
    """What the Slurm of this machine is doing now; polled as text, which stays cheap with thousands of jobs.

    Raises
    ------
    SlurmError : there is no Slurm, or it does not answer.
    """
    state = SlurmState(now=slurm_clock(), jobs=ask_jobs())
    for what in ("nodes", "partition", "reservation", "licenses", "topology"):
        command = ("scontrol", "-a", "-o", "show", what)
        try:
            take_text(state, run_slurm(*command))
        except SlurmError:
            if what in ("nodes", "partition"):
                raise  # the others are refused where a site has none
    if not state.nodes:
        raise SlurmError("scontrol show nodes: Slurm names no node")
    return state


def ask_jobs(states: str = "") -> list[SlurmJob]:
    """The jobs that wait, run or are completing; with ``states`` those in these (``all``).

    Raises
    ------
    SlurmError : there is no Slurm, or it does not answer.
    """
    jobs = _jobs_listed(states, "-r")
    # squeue -r of 24.11 leaves out the last task of 1-9:2, and squeue without it joins tasks that differ.
    pending = run_slurm("squeue", "-a", "-h", "-t", "PD", "-o", "%i").splitlines()
    if any("_[" in name for name in pending):
        known = {job.name for job in jobs}
        jobs += [job for job in _jobs_listed(states) if job.name not in known]
    return jobs


def _jobs_listed(states: str, *which: str) -> list[SlurmJob]:
    """The jobs that ``squeue`` lists with some options."""
    every = RECORDED | WAITING
    form = ",".join(f"{every[name].asked}:{SEPARATOR}" for name in slurm_jobs.POLLED)
    asked = ("squeue", "-a", "-h", *which)
    excluding = run_slurm(*asked, "-t", "PD", "-o", f"%i{SEPARATOR}%x").splitlines()
    named = frozenset(line.split(SEPARATOR)[0] for line in excluding if stated(line.partition(SEPARATOR)[2]))
    comments = run_slurm(*asked, "-t", "PD", "-o", f"%i{SEPARATOR}%k").splitlines()
    lines = run_slurm(*asked, *(("-t", states) if states else ()), "-O", form).splitlines()
    return list(slurm_jobs.jobs_of_squeue(lines, named, slurm_jobs.handed_over(comments)))


def slurm_clock() -> int:
    """The controller's clock [s since 1970].

    Raises
    ------
    SlurmError : it does not answer.
    """
    answer = run_slurm("scontrol", "show", "config").partition("\n")[0]
    now = instant(answer.split()[-1]) if answer.split() else None
    if now is None or now < 0:
        raise SlurmError(f"scontrol show config: expected a time in its first line, got {answer[:80]!r}")
    return now


def read_answers(paths: Sequence[Path], now: int | None = None) -> SlurmState:
    """A state from answers that were kept in files, of any kind and in any order.

    Parameters
    ----------
    paths : outputs of ``squeue --json``, ``sinfo --json``, ``scontrol show job|nodes|partition|reservation|licenses|
        topology`` as text or JSON, ``topology.conf``; plain or gzip.
    now : the instant [s since 1970], by default the latest at which something happened.

    Raises
    ------
    SlurmError : a file is none of these, or jobs or nodes are missing.
    TraceError : a file cannot be read.
    """
    state = SlurmState()
    for path in paths:
        text = b"".join(bytes(block) for _, block in blocks(str(path))).decode("utf-8", "replace")
        taken = take_json(state, str(path), text) if text.lstrip()[:1] == "{" else take_text(state, text)
        if not taken:
            raise SlurmError(f"{path}: holds none of Slurm's answers: jobs, nodes, partitions, reservations, topology")
    if not state.nodes:
        raise SlurmError(f"{', '.join(map(str, paths))}: no file names nodes; add that of scontrol show nodes")
    state.now = state.latest() if now is None else now
    if state.now < 0:
        raise SlurmError(f"{', '.join(map(str, paths))}: no file states a time; state it with --now")
    return state


def take_text(state: SlurmState, text: str) -> bool:
    """Add what records of ``scontrol show`` report; whether they are any."""
    return _take(state, records_of(numbered_lines(text))) or text.startswith("No ")


def take_json(state: SlurmState, source: str, text: str) -> bool:
    """Add what a document of Slurm reports; whether it is one.

    Raises
    ------
    SlurmError : it is no JSON, or reports nothing but an error; the message begins with ``source``.
    """
    try:
        answer = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError) as error:
        raise SlurmError(f"{source}: is not the JSON that Slurm prints: {error}") from None
    taken = any(isinstance(answer.get(place), list) for place in ("jobs", *PLACES))
    if not taken and (errors := errors_of(answer.get("errors"))):
        raise SlurmError(f"{source}: Slurm reports: {errors}")
    if isinstance(answer.get("jobs"), list):
        state.jobs += slurm_jobs.jobs_of_json(answer["jobs"])
    _take(state, json_records(answer))
    return taken


def _take(state: SlurmState, records: Iterable[tuple[Any, str, Record]]) -> bool:
    """Add what records report; whether there is any of a kind that is read."""
    readers: dict[str, tuple[list[Any], Callable[[list[Record]], Iterable[Any]]]] = {
        JOB: (state.jobs, slurm_jobs.jobs_of_records),
        NODE: (state.nodes, nodes_of),
        PARTITION: (state.partitions, site.partitions_of),
        RESERVATION: (state.reservations, site.reservations_of),
        LICENCE: (state.licences, site.licences_of),
        SWITCH: (state.switches, site.switches_of),
        BLOCK: (state.switches, site.switches_of),
    }
    found: dict[str, list[Record]] = {}
    for _, kind, record in records:
        if kind in readers:
            found.setdefault(kind, []).append(record)
    for kind, several in found.items():
        into, read = readers[kind]
        into += read(several)
    return bool(found)


def errors_of(errors: Any) -> str:
    """The first error of a document; empty for none."""
    first: Iterable[Any] = errors[:1] if isinstance(errors, list) else ()
    return "".join(stated(e.get("error") or e.get("description")) if isinstance(e, dict) else str(e) for e in first)
