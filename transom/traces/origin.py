"""The origin of a workload's jobs, as far as it matters for interpreting figures.

That is: walltimes that nobody requested, and partitions of a machine that are replayed as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from transom._system.wording import counted
from transom.errors import ModelError
from transom.models.arrays import BoolArray, FloatArray, Frozen, IntArray

EXACT = "exact"
"""The model under which a job asks for its runtime."""


_FEW = 0.02
"""So many unfinished jobs, as a share of the others, are not worth a remark."""

_ARRAYS = ("modelled", "partition", "group", "started", "cost")


class Diagnostic(NamedTuple):
    """A warning about a workload: ``short`` for titles and captions, ``text`` in full."""

    short: str
    text: str


class Partition(NamedTuple):
    """A partition of the logged machine: number, name in the header, shares of the jobs and of the node-seconds."""

    number: int
    name: str
    jobs: float
    node_seconds: float

    def __str__(self) -> str:
        text = f"{self.number} {self.name}".strip() if self.number >= 0 else "unknown"
        return f"{text} ({100 * self.jobs:.1f} % of the jobs, {100 * self.node_seconds:.1f} % of the node-seconds)"


def unix_epoch(stated: int, first: int) -> int | None:
    """0 s on a trace's clock in Unix time [s], by which its times become dates; None where it is not known.

    Parameters
    ----------
    stated : by the trace; 0 where it does not say.
    first : the first submission [s]; one in 1985 or later is a Unix time itself.
    """
    return 0 if first > 500_000_000 else stated or None


@dataclass(frozen=True, eq=False, slots=True)
class Origin(Frozen):
    """Facts about the jobs of a workload that are no part of the problem.

    Parameters
    ----------
    modelled : whose walltime nobody requested, shape ``(jobs,)``; None where all were.
    estimates : the model that those walltimes come from (:mod:`~transom.traces.estimates`).
    partition : the number of each job's partition, below 0 where unknown, shape ``(jobs,)``; None where there is one.
    names : of partitions, by number.
    group : the number of the group that each job's user belongs to, below 0 where unknown, shape ``(jobs,)``; None
        where there is one.
    groups : names of groups, by number.
    cost : what running each job costs, in any unit, shape ``(jobs,)``; None where no job states any.
    repaired : which jobs the reader changed, by what it did, shape ``(jobs,)`` each.
    apart : whether jobs keep to the nodes of their partition.
    merged : whether partitions are one machine although the trace states their sizes.
    started : when each job started by the log [s], -1 where it does not say, shape ``(jobs,)``; None where it says so
        of no job.
    path : the trace that the jobs were read from; empty where there is none.
    epoch : 0 s on the trace's clock in Unix time [s]; None where it is not known (:func:`unix_epoch`).
    machine : what is doubtful about the size of the machine; empty where nothing is.
    unfinished : when the jobs were submitted [s] that still waited or ran when the records end, which have no runtime
        and are left out, shape ``(left out,)``; empty in a part of the jobs.
    """

    modelled: BoolArray | None = None
    estimates: str = EXACT
    partition: IntArray | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    group: IntArray | None = None
    groups: Mapping[int, str] = field(default_factory=dict)
    started: IntArray | None = None
    cost: FloatArray | None = None
    repaired: Mapping[str, BoolArray] = field(default_factory=dict)
    apart: bool = False
    merged: bool = False
    path: str = ""
    epoch: int | None = None
    machine: str = ""
    unfinished: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def take(self, index: Any) -> Origin:
        """The facts about some of the jobs (positions or a mask)."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        repaired = {what: each[index] for what, each in self.repaired.items()}
        taken = {name: each[index] for name, each in arrays.items() if each is not None}
        return replace(self, repaired=repaired, unfinished=np.zeros(0, np.int64), **taken)

    def check(self, jobs: int) -> None:
        """Refuse facts about another number of jobs.

        Raises
        ------
        ModelError : an array has another shape.
        """
        for name, array in (*((name, getattr(self, name)) for name in _ARRAYS), *self.repaired.items()):
            if array is not None and array.shape != (jobs,):
                raise ModelError(f"workload: {name} has shape {array.shape}, there are {jobs} jobs")

    def partitions(self, area: IntArray) -> tuple[Partition, ...]:
        """The partitions of the logged machine, ascending; none where there is one.

        ``area`` are the node-seconds of the jobs, shape ``(jobs,)``.
        """
        if self.partition is None or not len(area) or self.partition.min() == self.partition.max():
            return ()
        numbers, of = np.unique(self.partition, return_inverse=True)
        jobs, held = np.bincount(of) / len(area), np.bincount(of, area)
        rows = zip(numbers.tolist(), jobs.tolist(), (held / held.sum()).tolist(), strict=True)
        return tuple(Partition(number, self.names.get(number, ""), *shares) for number, *shares in rows)


def diagnostics(origin: Origin, nodes: IntArray, walltime: IntArray, runtime: IntArray) -> tuple[Diagnostic, ...]:
    """The remarks on jobs of these sizes, walltimes and runtimes [s], each of shape ``(jobs,)``."""
    found, stated = [], _estimates(origin, walltime, runtime)
    if origin.machine:
        found.append(Diagnostic("MACHINE SIZE IN DOUBT", f"MACHINE SIZE IN DOUBT: {origin.machine}"))
    jobs, count, share = len(walltime), stated["jobs"], f"{100 * stated['share']:.1f} %"
    if count and not stated["perfect"]:
        many = f"{count:,} of {counted(jobs, 'job')} ({share})"
        text = f"walltimes of {many} are not requested, but modelled: {origin.estimates}"
        found.append(Diagnostic(f"walltimes modelled: {origin.estimates}", text))
    elif count:
        text = f"{count:,} of {counted(jobs, 'job')} ({share}) request no time, and their runtime is taken for it"
        short = f"PERFECT ESTIMATES ({share} of the jobs)"
        found.append(Diagnostic(short, f"PERFECT ESTIMATES: {text} (--estimates takes a model)"))
    elif stated["perfect"]:
        whose = "the job" if jobs == 1 else f"each of the {jobs:,} jobs"
        text = f"PERFECT ESTIMATES: {whose} requests exactly its runtime"
        found.append(Diagnostic("PERFECT ESTIMATES", text))
    if not origin.apart and (partitions := origin.partitions(nodes * runtime)):
        listed = "; ".join(map(str, partitions))
        one = f"{len(partitions)} partitions replayed as one machine"
        text = f"partitions: {listed}" if origin.merged else f"{one}: {listed} (--partition takes some of them)"
        found.append(Diagnostic(f"{len(partitions)} partitions as one machine", text))
    if len(left := origin.unfinished) > _FEW * jobs:
        # Jobs that somebody holds may wait since long ago, and say nothing of the queue.
        days = ceil((int(left.max()) - int(np.quantile(left, 0.1))) / 86_400)
        what = f"left out are {counted(len(left), 'job')} that still waited or ran when the records end"
        short = "towards the end the queue of a replay is too short, which its error beside the log does not show"
        text = f"{what}: {short} (compare with --cool-down {days}d)"
        found.append(Diagnostic(f"{counted(len(left), 'unfinished job')} left out", text))
    return tuple(found)


def facts(origin: Origin, nodes: IntArray, walltime: IntArray, runtime: IntArray) -> dict[str, Any]:
    """What :func:`diagnostics` says of jobs, shapes ``(jobs,)``, for machines: in JSON's terms."""
    partitions = origin.partitions(nodes * runtime)
    return {
        "estimates": _estimates(origin, walltime, runtime),
        "partitions": [each._asdict() for each in partitions],
        **({"machine": "by partition" if origin.apart else "merged"} if partitions else {}),
        **({"machine_in_doubt": origin.machine} if origin.machine else {}),
        **({"unfinished": len(origin.unfinished)} if len(origin.unfinished) else {}),
    }


def _estimates(origin: Origin, walltime: IntArray, runtime: IntArray) -> dict[str, Any]:
    jobs, count = len(walltime), 0 if origin.modelled is None else int(origin.modelled.sum())
    exact = count and origin.estimates == EXACT
    return {
        "model": origin.estimates if count else None,
        "jobs": count,
        "share": count / max(jobs, 1),
        "perfect": bool(exact or (jobs and (walltime == runtime).all())),
    }
