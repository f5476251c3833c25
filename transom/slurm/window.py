"""The window of a Slurm: what of its state a policy and the solvers can decide, and what is left to Slurm."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from transom._system.wording import counted, digits
from transom.errors import SlurmError
from transom.models import Cluster, FatTree, JobTable, Window
from transom.models.arrays import IntArray
from transom.models.job import DEMAND
from transom.simulation.core.site_order import load_rule, site_order
from transom.slurm.node_types import FEATURES, MORE_THAN_NODES, Acceptance, Kinds, NodeSet, kinds_of, types_of
from transom.slurm.state import SlurmState
from transom.traces.records.hostlist import compressed
from transom.traces.records.slurm_text.jobs import GENERIC, SWITCHES, SlurmJob
from transom.traces.records.slurm_text.nodes import SlurmNode
from transom.traces.records.slurm_text.site import Licence, Partition, Reservation, tree_of
from transom.traces.records.slurm_text.tokens import named_hosts

_YEAR = 365 * 86400  # the walltime of a job without a limit [s]
_STARTABLE = frozenset(("", "None", "Priority", "Resources", "Licenses", "BeginTime", "Cleaning", "SchedDefer"))
_WITHIN = 1  # a running job that is over its time ends so soon [s]
_BEYOND = "nodes_beyond_"
MORE_THAN_SERVE = "more nodes than are in service"
"""The reason that may pass by itself."""

KeptFrom = Sequence[tuple[int, frozenset[int]]]
"""For each reservation to come, its begin [s since 1970] and the ids of its nodes."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A window with the names that Slurm knows its parts by.

    Parameters
    ----------
    window : what the policy decides.
    partition : whose window it is.
    names : of the nodes, by their ids in the window.
    jobs : queued and running jobs by their ids in the window.
    left : how many waiting jobs are left to Slurm, by reason.
    refused : the reason for each of them, by name.
    remarks : what else a reader should know.
    idle : ids of the idle nodes, ascending, also where the cluster has no topology.
    kept_from : the reservations to come.
    leaf_limits : the most leaf switches of each queued job that states such a limit, by its id in the window.
    """

    window: Window
    partition: str
    names: list[str]
    jobs: dict[int, SlurmJob]
    left: dict[str, int]
    refused: dict[str, str]
    remarks: list[str]
    idle: IntArray
    kept_from: KeptFrom
    leaf_limits: dict[int, int]


def window_of(
    state: SlurmState,
    partition: str | None = None,
    order: str | None = None,
    held: bool = False,
    only: Callable[[SlurmJob], bool] | None = None,
    limits: bool = False,
    types: bool = False,
) -> Seen:
    """The window of a partition, in whole nodes.

    A node is idle if it serves and no job holds any of its CPUs; a completing job holds those that are not back yet. A
    node that several jobs share becomes idle with the last of them, to which it is counted. Licences are further
    resources. So are the nodes that are not reserved from some instant on: a job that would still run then takes of
    these. So are the nodes that some job is confined to by features, cores or memory, for the jobs that are.

    Parameters
    ----------
    state : what Slurm reports.
    partition : by default Slurm's own default.
    order : the priority rule that orders the queue; by default Slurm's priorities.
    held : whether held jobs, too, could start.
    only : jobs that are offered; all others are left to Slurm.
    limits : whether who chooses nodes keeps limits on leaf switches; otherwise jobs with such limits are left to Slurm.
    types : whether who chooses nodes keeps to node types; otherwise jobs that do not take every node are left to Slurm.

    Raises
    ------
    SlurmError : there is no such partition, or it has no nodes.
    SpecError : there is no such rule.
    """
    where, guessed = _partition(state, partition)
    known = {node.name: node for node in state.nodes}
    names = [node.name for node in state.nodes if node.name in where.nodes]
    if not names:
        raise SlurmError(f"partition {where.name}: Slurm reports none of its nodes")
    tree, names, remarks = tree_of(state.switches, names)
    remarks += guessed
    now, ids = state.now, {name: i for i, name in enumerate(names)}
    nodes = [known[name] for name in names]
    if not where.up:
        remarks.append(f"partition {where.name} is not up: Slurm starts nothing there")
    if doubtful := [name for name in state.doubtful if name in ids]:
        which = compressed(doubtful)
        many = counted(len(doubtful), "node")
        remarks.append(f"{many} not taken as idle, for jobs and nodes contradict each other: {which}")

    running, owned = _running(state, nodes, ids, where)
    reserved = {ids[n] for each in state.reservations if each.start <= now < each.end for n in each.nodes if n in ids}
    idle = np.array([i for i, node in enumerate(nodes) if node.idle and i not in owned and i not in reserved], np.int64)
    running = {job: kept for job, held_ in running.items() if (kept := held_ - reserved)}

    most = len(idle) + sum(map(len, running.values()))
    serving: NodeSet = frozenset(i for i, node in enumerate(nodes) if node.serves)
    takes = Acceptance(nodes)
    asked = _Question(where, most, state.licences, held, _leaves(tree, nodes) if limits else [], serving, takes, types)
    refused: dict[str, str] = {}
    queue: list[SlurmJob] = []
    for job in state.jobs:
        if not job.waits:
            continue
        reason = asked.refusal(job, now) if only is None or only(job) else "not selected"
        if reason is None:
            queue.append(job)
        else:
            refused[job.name] = reason
    kinds = kinds_of(queue, takes.nodes_for, serving)
    if kinds is None:
        kinds = Kinds({}, {})
        confined = [job for job in queue if not (takes.nodes_for(job) or serving) >= serving]
        refused |= {job.name: FEATURES for job in confined}
        queue = [job for job in queue if job.name not in refused]
    if shared := sum(job.shares and not where.whole for job in queue):
        remarks.append(f"{counted(shared, 'job')} allowed to share nodes with others; a window counts whole nodes")

    coming = [each for each in state.reservations if each.start > now and each.nodes & ids.keys()]
    kept_from = [
        (each.start, frozenset(ids[name] for name in each.nodes if name in ids))
        for each in _first(coming, queue, now, where)
    ]
    licences = [each for each in state.licences if any(each.name in _licences(job.licences) for job in queue)]
    end_of = {job: max(_end(job, now, where), now + _WITHIN) for job in running}
    ends = sorted(running, key=lambda job: (end_of[job], job.id))
    waiting = JobTable(_rows(queue, {}, now, where, licences, kept_from, kinds))
    active = JobTable(_rows(ends, running, now, where, licences, kept_from, kinds))
    window = Window(
        now=now,
        cluster=Cluster(
            len(names),
            (*(each.name for each in licences), *(f"{_BEYOND}{start}" for start, _ in kept_from), *kinds.sets),
            (
                *(each.total for each in licences),
                *(len(names) - len(kept) for _, kept in kept_from),
                *map(len, kinds.sets.values()),
            ),
            tree,
        ),
        queue=waiting,
        running=active,
        running_end=np.array([end_of[job] for job in ends], np.int64),
        available=_available(idle, licences, kept_from, kinds, active),
        idle=None if tree is None else idle,
    )
    window = _ordered(window, order, {job.id: job for job in queue})
    both = {job.id: job for job in (*queue, *ends)}
    left = dict(Counter(refused.values()).most_common())
    leaves = {job.id: job.most_leaves for job in queue if job.most_leaves is not None}
    if leaves and tree is not None:
        window = replace(window, leaf_limits=np.array([leaves.get(job, 0) for job in window.queue.id.tolist()]))
    if (stated := types_of(kinds, window.queue.id.tolist(), len(names))) is not None:
        window = replace(window, cluster=replace(window.cluster, node_types=stated[0]), accepts=stated[1])
    return Seen(window, where.name, names, both, left, refused, remarks, idle, kept_from, leaves)


def _partition(state: SlurmState, name: str | None) -> tuple[Partition, list[str]]:
    """A partition, by default Slurm's own; where nothing states that, the largest, of equal ones that of the most jobs.
    And what a reader should know of the choice."""
    every = frozenset(node.name for node in state.nodes)
    known = {each.name: replace(each, nodes=every) if "ALL" in each.nodes else each for each in state.partitions}
    if not known:  # as in answers that were kept without them
        for word in sorted({word for node in state.nodes for word in node.partitions}):
            inside = frozenset(node.name for node in state.nodes if word in node.partitions)
            known[word] = Partition(word, inside, False, -1, True, True)
    if not known:
        known[name or "all"] = Partition(name or "all", every, True, -1, True, True)
    if name is not None:
        if name not in known:
            raise SlurmError(f"there is no partition {name!r}; Slurm has {', '.join(sorted(known))}")
        return known[name], []
    if (default := next((each for each in known.values() if each.default), None)) is not None:
        return default, []
    jobs = Counter(job.partition for job in state.jobs)
    chosen = max(known.values(), key=lambda each: (len(each.nodes), jobs[each.name]))
    others = [each.name for each in known.values() if each is not chosen]
    if not others:
        return chosen, []
    return chosen, [f"no answer states Slurm's default partition: {chosen.name} is taken, not {', '.join(others)}"]


def _running(
    state: SlurmState, nodes: Sequence[SlurmNode], ids: dict[str, int], where: Partition
) -> tuple[dict[SlurmJob, set[int]], set[int]]:
    """The nodes in service that become idle with each job, and all nodes that jobs hold."""
    last: dict[int, SlurmJob] = {}
    for job in state.jobs:
        if job.holds and job.held_nodes:
            for name in named_hosts(job.held_nodes):
                node = ids.get(name)
                if node is None:
                    continue
                if node not in last or _end(job, state.now, where) > _end(last[node], state.now, where):
                    last[node] = job
    by_job: dict[int, tuple[SlurmJob, set[int]]] = {}
    for node, job in last.items():
        if nodes[node].serves:
            by_job.setdefault(job.id, (job, set()))[1].add(node)
    return dict(by_job.values()), set(last)


def _end(job: SlurmJob, now: int, where: Partition) -> int:
    """When a running job ends at the latest; one whose end is not reported has begun now."""
    return job.end if job.end > 0 else (job.start if job.start > 0 else now) + _walltime(job, now, where)


class _Question:
    """Whether a waiting job can be expressed, asked for one after the other."""

    def __init__(
        self,
        where: Partition,
        most: int,
        licences: Sequence[Licence],
        held: bool,
        leaves: Sequence[int],
        serving: NodeSet,
        takes: Acceptance,
        types: bool,
    ) -> None:
        self.where, self.most, self.held, self.leaves = where, most, held, leaves
        self.licences = {each.name for each in licences}
        self.serving, self.takes, self.types = serving, takes, types

    def refusal(self, job: SlurmJob, now: int) -> str | None:
        """Why a waiting job is left to Slurm; None if it is not."""
        if job.partition != self.where.name:
            return "several partitions" if "," in job.partition else "other partitions"
        if job.held and not self.held:
            return "held"
        if job.eligible > now and not (job.held and self.held):
            return "not eligible yet"
        for name in job.asks:
            asks_of_nodes = name == FEATURES or (name == GENERIC and job.gres)
            if asks_of_nodes and self.types and self.takes.nodes_for(job) is not None:
                continue
            if name != SWITCHES or job.nodes > sum(self.leaves[: job.most_leaves or 0]):
                return name
        if not job.held and not job.reason.startswith(("ReqNodeNotAvail", *_PREFIXES)) and job.reason not in _STARTABLE:
            return f"limit {job.reason}"
        if job.most != job.nodes:
            return "no fixed number of nodes"
        if job.nodes > self.most:
            return MORE_THAN_SERVE
        takes = self.takes.nodes_for(job)
        if takes is not None and not takes >= self.serving:
            if not self.types:
                return "more of a node than every node has"
            if len(takes & self.serving) < job.nodes:
                return MORE_THAN_SERVE if len(takes) >= job.nodes else MORE_THAN_NODES
        if not _licences(job.licences).keys() <= self.licences:
            return "licences"
        return None


def _leaves(tree: FatTree | None, nodes: Sequence[SlurmNode]) -> list[int]:
    """How many nodes in service hang on each leaf switch, the most first; none without a network."""
    if tree is None:
        return []
    return sorted(Counter(tree.leaf[[node.serves for node in nodes]].tolist()).values(), reverse=True)


_PREFIXES = ("JobHeld", "Nodes required", "Nodes_required", "Reserved")


def _licences(text: str) -> dict[str, int]:
    """``matlab:2,ansys`` as counts; alternatives (``a|b``) stay one name, which no licence has."""
    found: dict[str, int] = {}
    for part in filter(None, re.split(r"[,;]", text)):
        name, _, amount = part.partition(":")
        found[name.strip()] = found.get(name.strip(), 0) + (int(amount) if digits(amount) else 1)
    return found


def _walltime(job: SlurmJob, now: int, where: Partition) -> int:
    if job.holds and job.start > 0 and job.end > job.start:
        return job.end - job.start
    return next((limit for limit in (job.limit, where.limit) if limit > 0), _YEAR)


def _first(coming: list[Reservation], queue: Sequence[SlurmJob], now: int, where: Partition) -> list[Reservation]:
    """The reservations that begin before every job of the queue would have ended."""
    horizon = now + max((_walltime(job, now, where) for job in queue), default=0)
    return sorted((each for each in coming if each.start < horizon), key=lambda each: (each.start, each.name))


def _rows(
    jobs: Sequence[SlurmJob],
    running: Mapping[SlurmJob, set[int]],
    now: int,
    where: Partition,
    licences: Sequence[Licence],
    kept_from: KeptFrom,
    kinds: Kinds,
) -> IntArray:
    """The table of some jobs; a running one holds what comes back with its end."""
    rows = np.zeros((len(jobs), DEMAND + len(licences) + len(kept_from) + len(kinds.sets)), np.int64)
    # Of each set that jobs are confined to, the sets that hold it: asked for once, and not for each job.
    inside = {each: [each <= other for other in kinds.sets.values()] for each in dict.fromkeys(kinds.of.values())}
    for row, job in zip(rows, jobs, strict=True):
        walltime, held, wanted = _walltime(job, now, where), running.get(job), _licences(job.licences)
        nodes = job.nodes if held is None else len(held)
        submit = job.submit if 0 <= job.submit <= now else now
        row[:DEMAND] = job.id, submit, nodes, walltime, job.uid, min(job.priority, 2**62)
        beyond = [
            len(held - kept) if held is not None else nodes if now + walltime > start else 0
            for start, kept in kept_from
        ]
        confined = kinds.of.get(job.id)
        if held is not None:
            typed = [len(held & each) for each in kinds.sets.values()]
        else:
            typed = [0] * len(kinds.sets) if confined is None else [nodes * counts for counts in inside[confined]]
        row[DEMAND:] = [*(wanted.get(each.name, 0) for each in licences), *beyond, *typed]
    return rows


def _available(
    idle: IntArray, licences: Sequence[Licence], kept_from: KeptFrom, kinds: Kinds, active: JobTable
) -> IntArray:
    free, used = set(idle.tolist()), active.demand.sum(axis=0).tolist()
    licensed = [max(min(each.free, each.total - n), 0) for each, n in zip(licences, used, strict=False)]
    return np.array(
        [
            len(idle),
            *licensed,
            *(len(free - kept) for _, kept in kept_from),
            *(len(free & each) for each in kinds.sets.values()),
        ],
        np.int64,
    )


def _ordered(window: Window, order: str | None, jobs: dict[int, SlurmJob]) -> Window:
    if order is None:
        queue = window.queue
        ranked = np.lexsort((queue.id, queue.submit, -queue.priority))
    else:
        origin = int(window.queue.submit.min()) if len(window.queue) else 0
        ranked = site_order(load_rule(order), window.queue, window.now, origin)
    return replace(window, queue=window.queue.take(ranked))
