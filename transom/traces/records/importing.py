"""From files of records to one trace: read, assemble, size the machine, hide names, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from transom.errors import SpecError
from transom.traces.records.assembled import assembled, peak
from transom.traces.records.findings import Findings
from transom.traces.trace_file import TraceCard

if TYPE_CHECKING:
    import polars as pl

UNITS = ("auto", "nodes", "cores")
"""What sizes of jobs may be counted in; ``auto``: nodes, where jobs state them."""


@dataclass(frozen=True, slots=True)
class ImportRules:
    """How records become a trace.

    Parameters
    ----------
    unit : one of :data:`UNITS`.
    bad : the largest share of records that may be unusable, from 0 to 1.
    timezone : name of the zone of times that state none; None is UTC.
    nodes : size of the machine in ``unit``; None takes that of the configuration, else the most in use at once.

    Raises
    ------
    SpecError : a value is out of range, or there is no such zone.
    """

    unit: str = "auto"
    bad: float = 0.1
    timezone: str | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise SpecError(f"unit: expected {' or '.join(UNITS)}, got {self.unit!r}")
        if not 0 <= self.bad <= 1:
            raise SpecError(f"bad: expected a share from 0 to 1, got {self.bad:g}")
        self.zone()

    def zone(self) -> ZoneInfo | None:
        """The zone of times that state none.

        Raises
        ------
        SpecError : the name of the zone is not known.
        """
        if self.timezone is None:
            return None
        try:
            return ZoneInfo(self.timezone)
        except (OSError, ValueError, KeyError):
            raise SpecError(
                f"timezone: {self.timezone!r} is not known; expected a name such as Europe/Berlin"
            ) from None


@dataclass(frozen=True, slots=True)
class Site:
    """What the configuration of a site says.

    Parameters
    ----------
    machine : numbers of ``nodes``, ``cores``, ``gpus``, and ``memory`` [MiB].
    partitions : by name: ``nodes``, ``cores``, ``max_time`` and ``default_time`` [s], and so on.
    topology : the switch and the pod of each node.
    notes : what it leaves open, and what is not counted.
    maintenance : reservations for it: ``begin`` and ``end`` [s], ``nodes`` and their ``cores``.
    """

    machine: Mapping[str, int] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    topology: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    maintenance: Sequence[Mapping[str, int]] = ()


class Imported(NamedTuple):
    """A trace in memory, its metadata, and what was found on the way."""

    jobs: pl.DataFrame
    card: TraceCard
    findings: Findings


def built(
    frames: list[pl.DataFrame],
    findings: Findings,
    rules: ImportRules,
    path: str,
    site: Site = Site(),
    further: Sequence[str] = (),
) -> Imported:
    """The trace of records.

    Parameters
    ----------
    frames : columns of records; the list is emptied.
    findings : what was found in them so far.
    rules : how records become a trace.
    path : the file or files, for messages.
    site : what a configuration says.
    further : columns that are kept beside those of a trace.

    Raises
    ------
    TraceError : too many records cannot be used, or no job is left.
    SpecError : no job states a size in the unit.
    """
    findings.check(rules.bad)
    for text in site.notes:
        findings.note(text)
    jobs = assembled(frames, findings, path, further)
    unit = rules.unit if rules.unit != "auto" else _unit(jobs)
    if not _stated(jobs, unit):
        raise SpecError(f"{path}: no job states its size in {unit}")
    if findings.bad:
        findings.count("cannot be read, left out", findings.bad)
        findings.note(f"first record that cannot be used: {findings.first}")
    used = sorted(set(jobs["partition"].unique().to_list()) - {""} - set(site.partitions))
    partitions = {**site.partitions, **{name: {} for name in used}}
    machine = {name: size for name, size in site.machine.items() if size > 0}
    told_by = ""
    if rules.nodes is not None:
        if machine.get(unit, rules.nodes) != rules.nodes:
            findings.note(f"--nodes {rules.nodes:,} counts, not the {machine[unit]:,} {unit} that are stated")
        machine[unit] = rules.nodes
    elif unit not in machine:
        machine[unit] = max(peak(jobs, unit), _largest(jobs, unit)) or _asked_for(jobs, unit)
        told_by = f"the most {unit} in use at once"
        findings.note(f"the machine has at least {machine[unit]:,} {unit}, the most in use at once (--conf or --nodes)")
    if unit == "nodes" and told_by == "" and peak(jobs, unit) > machine[unit]:
        findings.note("more nodes are in use at once than there are: jobs share nodes (--unit cores counts cores)")
    size = jobs[unit].zip_with(jobs[unit] > 0, jobs[f"req_{unit}"])
    findings.count(f"larger than the machine of {machine[unit]:,} {unit}", int((size > machine[unit]).sum()))
    repairs = dict(findings.repairs)
    card = TraceCard(unit, machine, told_by, partitions, site.topology, repairs, maintenance=site.maintenance)
    return Imported(jobs, card, findings)


def _unit(jobs: pl.DataFrame) -> str:
    return "nodes" if _stated(jobs, "nodes") or not _stated(jobs, "cores") else "cores"


def _stated(jobs: pl.DataFrame, unit: str) -> bool:
    return bool(((jobs[unit] > 0) | (jobs[f"req_{unit}"] > 0)).any())


def _largest(jobs: pl.DataFrame, unit: str) -> int:
    ran = jobs.filter(jobs["runtime"] > 0)
    return max((int(ran[name].max() or 0) for name in (unit, f"req_{unit}")), default=0)  # type: ignore[arg-type]


def _asked_for(jobs: pl.DataFrame, unit: str) -> int:
    """Where no job has ended, as in what squeue prints: what running jobs have now, at least the largest request."""
    running, largest = jobs.filter(jobs["start"] >= 0)[unit], jobs[f"req_{unit}"].to_numpy().max(initial=0)
    return max(int(running.clip(0).sum()), int(largest))
