"""Repair rules for jobs that a log leaves incomplete or impossible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np

from transom._system.wording import counted
from transom.errors import ModelError, SpecError, TraceError
from transom.models import Cluster, JobTable
from transom.models.arrays import BoolArray, IntArray
from transom.models.job import UNKNOWN
from transom.traces.estimates import TAKEN, Whose, parse_estimates, with_estimates
from transom.traces.origin import EXACT, Origin
from transom.traces.partitions import (
    PartitionNodes,
    nodes_of_partitions,
    numbers_of,
    parse_partition_nodes,
    selected,
    sized,
)
from transom.traces.workload import Workload

_HORIZON = 2.0**62

LARGER = "left out: larger than the machine"
"""The repair of jobs that ask for more nodes than there are."""


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """How to repair the jobs of a log; changes and omissions are counted.

    Parameters
    ----------
    nodes : ``requested``, else allocated (the default); ``allocated``, else requested; or the
        larger one (``max``).
    walltime : the requested time; without one, the real runtime
        (``requested-else-runtime``), or the job is omitted (``requested``).
    long_runs : ``cut`` a runtime above the walltime, as a scheduler that kills at the limit does,
        ``keep`` it, or ``drop`` the job.
    nonpositive : an id, size or runtime <= 0 or a submission before 0: ``drop`` or ``error``.
    oversized : a job larger than the machine: ``drop`` or ``error``.
    size_field : the field that states the size, instead of ``nodes``: its number from 1, its name in
        the format (``requested-processors``), the name that the header gives it, or ``column19`` ...
    zero_runtimes : a runtime of 0 of a completed job (status 1) is treated as ``nonpositive`` (``bad``) or counts
        as a second (``second``), because logs round times.
    partitions : numbers or names of the partitions (field 16) to read; all by default.
    partition_nodes : the nodes of partitions, to which their jobs keep: ``trace``: as many as the trace states, which
        must state them; ``NAME=NODES,...``: as many as this says; None: as the trace states where it does, else all
        partitions are one machine. Sizes of another field (``size_field``) are not in its unit: that is one machine.
    merge_partitions : all partitions are one machine, even where the trace states their sizes.
    estimates : the model for walltimes that were not requested (:mod:`~transom.traces.estimates`): their runtimes
        (``exact``), ``factor:F``, ``overestimated``, ``tsafrir``, ``trace:FILE``.
    estimates_for : jobs with modelled walltimes: those without a request (``missing``), or ``all``.
    seed : seed of the walltimes.

    Raises
    ------
    SpecError : a value is not one of these, the model is unknown, or two rules contradict each other.
    """

    nodes: Literal["requested", "allocated", "max"] = "requested"
    walltime: Literal["requested-else-runtime", "requested"] = "requested-else-runtime"
    long_runs: Literal["cut", "keep", "drop"] = "cut"
    nonpositive: Literal["drop", "error"] = "drop"
    oversized: Literal["drop", "error"] = "drop"
    size_field: int | str | None = None
    zero_runtimes: Literal["bad", "second"] = "bad"
    partitions: tuple[int | str, ...] = ()
    partition_nodes: str | None = None
    merge_partitions: bool = False
    estimates: str = EXACT
    estimates_for: Whose = "missing"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            known, value = get_args(hint), getattr(self, name)
            if get_origin(hint) is Literal and value not in known:
                raise SpecError(f"reading rule {name}: expected {' or '.join(known)}, got {value!r}")
        if self.size_field is not None and self.nodes != "requested":
            raise SpecError(f"reading rule nodes: {self.nodes!r} does not go with size_field {self.size_field!r}")
        parse_estimates(self.estimates)
        if self.partition_nodes is not None:
            parse_partition_nodes(self.partition_nodes)
            if self.merge_partitions:
                text = f"partition_nodes {self.partition_nodes!r}"
                raise SpecError(f"reading rule merge_partitions: one machine does not go with {text}")
        if self.seed < 0:
            raise SpecError(f"reading rule seed: expected a number >= 0, got {self.seed}")
        if (self.walltime, self.estimates_for) == ("requested", "missing") and self.estimates != EXACT:
            text = "jobs without a requested time, which walltime 'requested' leaves out"
            raise SpecError(f"reading rule estimates: {self.estimates!r} is for {text}")


@dataclass(frozen=True, slots=True)
class LoggedJobs:
    """The columns of a log as they stand in the file, a number <= 0 for what is not known.

    Parameters
    ----------
    line : line of the file, from 1.
    id, submit, runtime, allocated, requested, walltime, user : as in :class:`~transom.models.Job`,
        with the size twice; times in seconds.
    parent : the job that must have ended before this one may start.
    wait : from submission to start [s], below 0 where unknown.
    group, partition : their numbers, below 0 where unknown.
    partial : whether the line states one execution of a job that was interrupted, not the whole job.
    completed : whether the job ran to its end.
    unfinished : whether the job still waits or runs when the records end.
    sized : the size by the field that was chosen for it; None where none was.
    partitions, groups : names by number.
    partition_nodes : sizes of partitions, as far as the file states them.
    """

    line: IntArray
    id: IntArray
    submit: IntArray
    runtime: IntArray
    allocated: IntArray
    requested: IntArray
    walltime: IntArray
    user: IntArray
    parent: IntArray
    group: IntArray
    partition: IntArray
    partial: BoolArray
    completed: BoolArray
    unfinished: BoolArray
    wait: IntArray
    sized: IntArray | None = None
    partitions: Mapping[int, str] = field(default_factory=dict)
    groups: Mapping[int, str] = field(default_factory=dict)
    partition_nodes: PartitionNodes = field(default_factory=PartitionNodes)


def repaired(log: LoggedJobs, rules: ReadingRules, nodes: int | None, name: str, path: str) -> Workload:
    """The workload of a log under ``rules``.

    Parameters
    ----------
    log : the jobs as logged.
    rules : what to do with those that are incomplete or impossible.
    nodes : size of the machine; None takes that of the largest job.
    name : what to call the workload.
    path : the file, for error messages.

    Raises
    ------
    TraceError : two lines have one id, a rule says so, the dependencies form a cycle, no job is
        left, or the times are too large to schedule.
    """
    sieve = _Sieve(log, path)
    sieve.drop(~selected(log.partition, log.partitions, rules.partitions, path), "left out: in another partition")
    unfinished = log.submit[log.unfinished & sieve.keep]
    _count_ambiguous(sieve, rules)
    size, runtime = _size(log, rules), _runtime(sieve, rules)
    walltime = np.where(log.walltime > 0, log.walltime, runtime)
    _refuse_or_drop_nonpositive(sieve, size, runtime, rules)
    if rules.walltime == "requested":
        sieve.drop(log.walltime <= 0, "left out: no requested time")
    if nodes is None:
        nodes = int(size[sieve.keep].max(initial=0))
        sieve.repairs[f"machine size taken from the largest job ({counted(nodes, 'node')})"] = 1
    condition = f"size {{}} exceeds the {counted(nodes, 'node')} of the machine"
    sieve.refuse_or_drop(size > nodes, rules.oversized, LARGER, condition, size)
    apart = _refuse_or_drop_too_large_for_partition(sieve, size, rules)
    long = runtime > walltime
    if rules.long_runs == "drop":
        sieve.drop(long, "left out: runtime above the walltime")
    if not sieve.keep.any():
        why = ", ".join(f"{reason.removeprefix('left out: ')} ({count})" for reason, count in sieve.repairs.items())
        raise TraceError(f"{path}: line {log.line[0]}: none of its {len(log.line)} jobs can be used: {why}")

    _count_fallbacks(sieve, rules)
    if rules.long_runs == "cut":
        sieve.count("runtime above the walltime, cut", long)
        runtime = np.minimum(runtime, walltime)
    else:
        sieve.count("runtime above the walltime, kept", long)
    _refuse_overflow(sieve, walltime, runtime)
    made = _workload(sieve, size, walltime, runtime, nodes, name)
    made = replace(made, origin=replace(made.origin, unfinished=unfinished))
    if apart is not None:
        made = _kept_apart(made, apart, int(log.partition[sieve.keep][0]))
    elif log.partition_nodes.sizes and made.origin.partition is not None:
        made = replace(made, origin=replace(made.origin, merged=True))
    if (rules.estimates, rules.estimates_for) == (EXACT, "missing"):
        return made
    try:
        return with_estimates(made, rules.estimates, rules.seed, rules.estimates_for)
    except ModelError as error:
        raise TraceError(f"{path}: {error}") from None


def _workload(sieve: _Sieve, size: IntArray, walltime: IntArray, runtime: IntArray, nodes: int, name: str) -> Workload:
    """The jobs that are left."""
    log, keep = sieve.log, slice(None) if sieve.keep.all() else sieve.keep
    runtime = runtime[keep]
    data = np.empty((len(runtime), JobTable([]).data.shape[1]), np.int64)
    user = np.maximum(log.user, UNKNOWN)  # unknown is -1
    for column, values in enumerate((log.id, log.submit, size, walltime, user)):
        data[:, column] = values[keep]
    data[:, -1] = UNKNOWN
    data.flags.writeable = False
    depends_on = _dependencies(sieve)
    # All that a table asks of its rows has been checked above.
    jobs = JobTable._trusted(data, MappingProxyType(depends_on))
    unasked, partition, group, wait = log.walltime[keep] <= 0, log.partition[keep], log.group[keep], log.wait[keep]
    stated = wait >= 0
    try:
        return Workload(
            name,
            Cluster(nodes),
            jobs,
            runtime,
            sieve.repairs,
            Origin(
                modelled=unasked if unasked.any() else None,
                partition=partition if len(partition) and partition.min() < partition.max() else None,
                names=log.partitions,
                group=group if len(group) and group.min() < group.max() else None,
                groups=log.groups,
                started=np.where(stated, log.submit[keep] + wait, UNKNOWN) if stated.any() else None,
                path=sieve.path,
                repaired={what: left for what, each in sieve.marks.items() if (left := each[keep]).any()},
            ),
        )
    except ModelError as error:
        raise TraceError(f"{sieve.path}: {_line_of(str(error), log)}{error}") from error


def _kept_apart(workload: Workload, stated: PartitionNodes, only: int) -> Workload:
    """A workload whose jobs keep to the nodes of their partitions (of ``only`` one where the jobs know no others),
    which are further resources."""
    origin, jobs = workload.origin, workload.jobs
    partition = np.full(len(jobs), only) if origin.partition is None else origin.partition
    made = nodes_of_partitions(stated, partition, origin.names, workload.cluster.num_nodes)
    demand = np.array([np.where(uses, jobs.nodes, 0) for _, _, uses in made], np.int64).reshape(-1, len(jobs))
    cluster = Cluster(
        workload.cluster.num_nodes, tuple(name for name, _, _ in made), tuple(capacity for _, capacity, _ in made)
    )
    made_apart = replace(
        workload,
        cluster=cluster,
        jobs=JobTable(np.hstack((jobs.data, demand.T)), jobs.depends_on),
        origin=replace(origin, apart=True),
    )
    unknown = ~np.isin(partition, list(stated.sizes))
    return made_apart.with_repair("partition of unknown size: may use any node", unknown)


def _line_of(message: str, log: LoggedJobs) -> str:
    # The models name the job (of a cycle, say); only the log knows where it stands.
    job = re.match(r"job (\d+):", message)
    return f"line {log.line[np.flatnonzero(log.id == int(job[1]))[0]]}: " if job else ""


class _Sieve:
    """Which jobs are left, and how many went for which reason (the first that applies)."""

    def __init__(self, log: LoggedJobs, path: str) -> None:
        self.log = log
        self.path = path
        self.keep: BoolArray = np.ones(len(log.line), dtype=bool)
        self.repairs: dict[str, int] = {}
        self.marks: dict[str, BoolArray] = {}

    def count(self, what: str, jobs: BoolArray) -> None:
        kept = jobs & self.keep
        if number := int(kept.sum()):
            self.repairs[what], self.marks[what] = number, kept

    def drop(self, bad: BoolArray, reason: str) -> None:
        self.count(reason, bad)
        self.keep &= ~bad

    def refuse_or_drop(self, bad: BoolArray, rule: str, reason: str, condition: str, value: IntArray) -> None:
        if rule == "error" and (bad & self.keep).any():
            at = int(np.flatnonzero(bad & self.keep)[0])
            self.refuse(at, condition.format(value[at]))
        self.drop(bad, reason)

    def refuse(self, at: int, condition: str) -> None:
        raise TraceError(f"{self.path}: line {self.log.line[at]}: job {self.log.id[at]}: {condition}")


def _refuse_or_drop_too_large_for_partition(
    sieve: _Sieve, size: IntArray, rules: ReadingRules
) -> PartitionNodes | None:
    """The sizes of partitions that jobs keep to, without the jobs that are larger; None where they keep to none."""
    log = sieve.log
    if rules.partition_nodes is not None:
        stated = sized(rules.partition_nodes, log.partition_nodes, log.partition, log.partitions, sieve.path)
    elif rules.merge_partitions or rules.size_field is not None or not log.partition_nodes.sizes:
        return None
    else:
        stated = log.partition_nodes
    room = np.full(len(size), np.iinfo(np.int64).max)
    for number, nodes in stated.sizes.items():
        room[log.partition == number] = nodes
    bad, reason = size > room, "left out: larger than its partition"
    sieve.refuse_or_drop(bad, rules.oversized, reason, "size {} exceeds the nodes of its partition", size)
    return stated


def _count_ambiguous(sieve: _Sieve, rules: ReadingRules) -> None:
    """Say which partitions a name stands for that several of them have."""
    log = sieve.log
    sizes = None if rules.partition_nodes is None else parse_partition_nodes(rules.partition_nodes)
    names = dict.fromkeys(map(str, (*rules.partitions, *(sizes or ()))))
    there = np.unique(log.partition).tolist() if names else []
    for each in names:
        numbers = numbers_of(each, log.partitions, there)
        if len(numbers) > 1:
            listed = " and ".join(map(str, numbers))
            sieve.count(f"partition {each!r} is ambiguous, taken for all of {listed}", np.isin(log.partition, numbers))


def _runtime(sieve: _Sieve, rules: ReadingRules) -> IntArray:
    log = sieve.log
    short = log.completed & (log.runtime == 0)
    if rules.zero_runtimes == "bad" or not short.any():
        return log.runtime
    sieve.count("runtime 0 of a completed job, counted as 1 s", short)
    return np.where(short, 1, log.runtime)


def _size(log: LoggedJobs, rules: ReadingRules) -> IntArray:
    if log.sized is not None:
        return log.sized
    if rules.nodes == "max":
        return np.maximum(log.requested, log.allocated)
    first, second = (log.requested, log.allocated) if rules.nodes == "requested" else (log.allocated, log.requested)
    return np.where(first > 0, first, second)


def _refuse_or_drop_nonpositive(sieve: _Sieve, size: IntArray, runtime: IntArray, rules: ReadingRules) -> None:
    log, rule = sieve.log, rules.nonpositive
    sieve.refuse_or_drop(log.id <= 0, rule, "left out: id <= 0", "id must be > 0, got {}", log.id)
    _drop_partial_executions(sieve)
    _refuse_duplicates(sieve)  # before other jobs go: which of two lines is the job is for the user to say
    for bad, reason, condition, value in (
        (log.submit < 0, "left out: submission before 0 s", "submission must be >= 0 s, got {}", log.submit),
        (size <= 0, "left out: size unknown or <= 0", "size must be > 0, got {}", size),
        (runtime <= 0, "left out: runtime unknown or <= 0", "runtime must be > 0 s, got {}", runtime),
    ):
        sieve.refuse_or_drop(bad, rule, reason, condition, value)


def _drop_partial_executions(sieve: _Sieve) -> None:
    # A job that was checkpointed or swapped out has one line for the whole and one per execution.
    log = sieve.log
    if log.partial.any():
        whole = np.isin(log.id, log.id[~log.partial])
        sieve.drop(log.partial & whole, "left out: part of a job that has a line of its own")


def _count_fallbacks(sieve: _Sieve, rules: ReadingRules) -> None:
    log = sieve.log
    sieve.count(TAKEN, log.walltime <= 0)
    if log.sized is not None:
        return
    if rules.nodes == "requested":
        sieve.count("size taken from the allocated one", log.requested <= 0)
    elif rules.nodes == "allocated":
        sieve.count("size taken from the requested one", log.allocated <= 0)


def _refuse_duplicates(sieve: _Sieve) -> None:
    if (np.diff(sieve.log.id[sieve.keep]) > 0).all():
        return
    at = np.flatnonzero(sieve.keep)
    order = at[np.argsort(sieve.log.id[at], kind="stable")]
    twice = np.flatnonzero(np.diff(sieve.log.id[order]) == 0)
    if twice.size:
        pairs = [(int(order[i + 1]), int(order[i])) for i in twice]
        second, first = min(pairs)
        sieve.refuse(second, f"this id stands already in line {sieve.log.line[first]}")


def _refuse_overflow(sieve: _Sieve, walltime: IntArray, runtime: IntArray) -> None:
    # Even one job after another must end within 62 bits, or times would wrap around in a replay.
    keep, submit = sieve.keep, sieve.log.submit
    length = np.where(keep, np.maximum(walltime, runtime), 0).astype(np.float64)
    if float(submit[keep].max()) + length.sum() >= _HORIZON:
        at = int(np.argmax(np.where(keep, submit, 0) + length))
        times = f"submission {submit[at]} and walltime {walltime[at]}"
        sieve.refuse(at, f"{times} are too large to schedule within 62 bits")


def _dependencies(sieve: _Sieve) -> dict[int, tuple[int, ...]]:
    log = sieve.log
    dependent = sieve.keep & (log.parent > 0)
    if not dependent.any():
        return {}
    itself = dependent & (log.parent == log.id)
    if itself.any():
        sieve.refuse(int(np.flatnonzero(itself)[0]), "depends on itself")
    there = np.isin(log.parent, log.id[sieve.keep])
    sieve.count("dependency dropped: the other job is not there", dependent & ~there)
    found = dependent & there
    return dict(zip(log.id[found].tolist(), zip(log.parent[found].tolist(), strict=True), strict=True))
