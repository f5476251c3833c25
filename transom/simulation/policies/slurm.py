"""Slurm's scheduling with the backfill plugin: a pass at every event, and a backfill cycle every so many seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from transom import registry
from transom.errors import SpecError
from transom.models import Cluster, JobTable, Window
from transom.models.arrays import IntArray
from transom.models.cluster import LARGEST
from transom.registry import Seconds, WholeSeconds
from transom.simulation.core import events
from transom.simulation.core.decision import Decision
from transom.simulation.core.drive import drive, new_log
from transom.simulation.core.schedule import COLUMNS
from transom.simulation.core.site_order import load_rule
from transom.simulation.passes.availability import new_profile
from transom.simulation.passes.shared_nodes import SharedNodes
from transom.simulation.passes.slurm_backfill import Tables, Terms, run_slurm, slurm_pass
from transom.simulation.passes.slurm_limits import Limits
from transom.simulation.passes.slurm_repeats import no_cycle
from transom.simulation.passes.slurm_reservations import Reserved
from transom.simulation.passes.window_pass import decision_of, window_state
from transom.simulation.policies.shared_nodes import check_node_cores, nobody_shares, shared_nodes
from transom.simulation.policies.slurm_leaves import node_plan
from transom.simulation.policies.slurm_limits import limits_of_users, with_site
from transom.simulation.policies.slurm_priority import slurm_priorities
from transom.simulation.policies.slurm_reservations import (
    hosts_of_all,
    hosts_of_partitions,
    nothing_reserved,
    on_hosts_of,
    reserved_for,
)
from transom.traces.job_facts import JobFacts, job_facts
from transom.traces.partitions import PREFIX, partition_groups
from transom.traces.records.slurm_text.limits import Association, Key, Qos, read_associations, read_qos
from transom.traces.records.slurm_text.priority import SETTINGS, PriorityTerms, read_priority_terms
from transom.traces.records.slurm_text.reservations import SlurmReservation, read_reservations
from transom.traces.trace_file import TraceCard, is_trace_file, read_trace_card

if TYPE_CHECKING:
    from transom.simulation.core.replay import Progress, Replay

_LONGEST = 10**9  # of any time [s], or number of jobs that are looked at


@dataclass(frozen=True, slots=True)
class SlurmBackfill:
    """Slurm's main scheduler and its backfill plugin, on whole nodes or on nodes that jobs share.

    At every event the main scheduler starts jobs in the order of priority until one does not fit, in each partition by
    itself; those that share nodes are one. (Partitions count where their nodes are resources of their own, see
    ``ReadingRules.partition_nodes``.) At the multiples of ``interval`` on the trace's clock at which jobs wait, a
    backfill cycle goes through the first jobs of the queue, builds the profile of what will be free by walltimes,
    starts what fits now without delaying a job before it, and reserves the earliest start of every other one.
    Reservations are made anew in each cycle and are no promise; in between nobody backfills.

    Parameters
    ----------
    order : the priority rule that orders the queue.
    depth : jobs that a backfill cycle looks at, > 0 (``bf_max_job_test``).
    queue : jobs that the main scheduler looks at, > 0 (``default_queue_depth``).
    interval : from one backfill cycle to the next [s], > 0 (``bf_interval``).
    resolution : reservations begin and end at multiples of this [s], > 0 (``bf_resolution``).
    window : a job that cannot start within this time of a cycle gets no reservation [s], > 0 (``bf_window``, which
        counts minutes).
    user_jobs : running jobs that a user may have, > 0 (``MaxJobsPerUser`` of a QOS); by default any number.
    user_nodes : nodes that a user's running jobs may have, > 0 (``MaxTRESPerUser``, ``node=``); a job that asks for
        more runs when no other one of its user does.
    assoc, qos : files with the limits of accounts and users, and those of QOS, as ``sacctmgr --parsable2 show assoc``
        and ``show qos`` print them: ``GrpJobs``, ``GrpTRES``, ``MaxJobs``, ``MaxTRES``, and per user and account
        ``MaxJobsPU``, ``MaxTRESPU``, ``MaxJobsPA``, ``MaxTRESPA``. A job that one of them holds back waits and
        holds back nobody. Decisions then have further columns: ``limited``, how many jobs limits hold back,
        ``limited_job``, the id of the first (-1 for none), and ``limit``, Slurm's reason.
    priority : a ``slurm.conf`` whose ``Priority...`` settings order the queue, instead of ``order``: priorities of
        :func:`~transom.simulation.policies.slurm_priority.slurm_priorities`, with the shares of ``assoc``.
    settings : settings of that file by name that are tried in place of what it states, such as
        ``[PriorityWeightAge=1000,PriorityMaxAge=7-0]``: weights, ages, ``PriorityFavorSmall``.
    reservations : a file with what ``scontrol show reservation`` prints, also with ``--json``: from its start to its
        end, jobs without access to a reservation keep off its nodes
        (:func:`~transom.simulation.policies.slurm_reservations.reserved_for`).
    timezone : of dates in ``reservations``, by name; UTC by default.
    node_cores : cores of each node, where jobs share nodes and sizes count cores: a job then starts only if as many
        nodes as it has (or as few as have its cores) have room for its share. 0: cores are counted over the machine.
    node_memory, node_gpus : memory [MiB] and GPUs of each node, with ``node_cores``; 0: they do not count.
    leaf : nodes below each leaf switch, in the order of their ids; the last one may have fewer. Cycles then reserve
        single nodes, chosen as Slurm does with topology/tree, and jobs start on these. 0: nodes are counted.
    completing : how long the nodes of a job stay busy after its end [s]: epilog, and the main scheduler's next look.
        With a fraction, some jobs take the whole second below, others the one above, so that the mean is right.

    Raises
    ------
    SpecError : a condition above does not hold, or there is no such rule or time zone.
    TraceError : a file of limits or reservations cannot be read.

    References
    ----------
    Slurm's documentation, Scheduling Configuration Guide; slurm.conf, SchedulerParameters; Resource Limits; Advanced
    Resource Reservation Guide.
    """

    own_bound: ClassVar[str] = "order=[fcfs:max_wait=7d] lets jobs go first that have waited longer"

    order: str = "fcfs"
    depth: int = 500
    queue: int = 100
    interval: WholeSeconds = 30
    resolution: WholeSeconds = 60
    window: WholeSeconds = 86400
    user_jobs: int = LARGEST
    user_nodes: int = LARGEST
    assoc: str = ""
    qos: str = ""
    priority: str = ""
    settings: str = ""
    reservations: str = ""
    timezone: str = ""
    node_cores: int = 0
    node_memory: int = 0
    node_gpus: int = 0
    leaf: int = 0
    completing: Seconds = 0.0

    def __post_init__(self) -> None:
        for name in ("depth", "queue", "interval", "resolution", "window"):
            if not 0 < getattr(self, name) <= _LONGEST:
                raise SpecError(f"slurm-backfill: {name} must be from 1 to {_LONGEST}, got {getattr(self, name)}")
        for name in ("user_jobs", "user_nodes"):
            if not 0 < getattr(self, name) <= LARGEST:
                raise SpecError(f"slurm-backfill: {name} must be from 1 to {LARGEST}, got {getattr(self, name)}")
        for name in ("node_cores", "node_memory", "node_gpus", "leaf"):
            if not 0 <= getattr(self, name) <= LARGEST:
                raise SpecError(f"slurm-backfill: {name} must be from 0 to {LARGEST}, got {getattr(self, name)}")
        if not 0 <= self.completing <= _LONGEST:
            raise SpecError(f"slurm-backfill: completing must be from 0 to {_LONGEST}, got {self.completing}")
        if not self.node_cores and (self.node_memory or self.node_gpus):
            raise SpecError("slurm-backfill: node_memory and node_gpus are of nodes that jobs share: give node_cores")
        if self.leaf and (self.node_cores or self.reservations):
            raise SpecError("slurm-backfill: leaf is of whole nodes and goes neither with node_cores nor reservations")
        load_rule(self.order)
        if self.timezone and not self.reservations:
            raise SpecError("slurm-backfill: timezone is that of dates in reservations=FILE, and there are none")
        if self.settings and not self.priority:
            raise SpecError("slurm-backfill: settings stand in place of those of priority=FILE, and there is none")
        self._site()
        if self.priority and self.order != "fcfs":
            raise SpecError(f"slurm-backfill: order={self.order} does not go with priority, an order by itself")

    @property
    def by_facts(self) -> bool:
        """Whether it goes by what the trace states of jobs beside the workload: accounts, QOS, memory, reservations."""
        return bool(self.assoc or self.qos or self.priority or self.reservations or self.node_cores)

    @property
    def without_outages(self) -> str:
        """The first setting that does not go with outages; empty where there is none."""
        settings = ("reservations", "node_cores", "completing", "leaf")
        return next((name for name in settings if getattr(self, name)), "")

    @property
    def digest(self) -> str:
        """A digest of the files that are named; empty where there is none."""
        return blake2b(repr(self._site()).encode(), digest_size=8).hexdigest() if self.by_facts else ""

    @property
    def _terms(self) -> Terms:
        return Terms(self.depth, self.queue, self.interval, self.resolution, self.window, steady=False)

    def _site(
        self,
    ) -> tuple[dict[Key, Association], dict[str, Qos], PriorityTerms | None, tuple[SlurmReservation, ...]]:
        return (
            read_associations(self.assoc) if self.assoc else {},
            read_qos(self.qos) if self.qos else {},
            read_priority_terms(self.priority, self._instead()) if self.priority else None,
            read_reservations(self.reservations, self.timezone) if self.reservations else (),
        )

    def _instead(self) -> dict[str, str]:
        known = {name.lower(): name for name in SETTINGS}
        found = {}
        for part in registry.listed(self.settings) if self.settings else ():
            name, equals, value = part.partition("=")
            if not equals or not value:
                raise SpecError(f"slurm-backfill: settings: expected NAME=VALUE, got {part!r}")
            if name.lower() not in known:
                raise registry.unknown("setting of a slurm.conf", name, SETTINGS)
            found[known[name.lower()]] = value
        return found

    def run(self, replay: Replay, report: Progress) -> dict[str, NDArray[Any]]:
        """A whole replay in one compiled loop.

        Raises
        ------
        SpecError : a setting does not go with outages, or not with the trace.
        """
        if replay.stepwise and self.without_outages:
            raise SpecError(f"slurm-backfill: {self.without_outages} does not go with --outages")
        state, order = replay.state, replay.order
        limits = limits_of_users(replay.jobs, self.user_jobs, self.user_nodes)
        priorities, reserved, shared = None, nothing_reserved(len(replay.jobs), _amounts(state)), nobody_shares()
        if self.by_facts:
            facts, (associations, qos, terms, reservations) = job_facts(replay.workload), self._site()
            reserved = self._reserved(replay, facts, associations, reservations)
            shared = self._shared(replay, facts)
            limits = with_site(limits, facts, replay.ids, associations, qos)
            if terms is not None:
                jobs = replay.jobs
                priorities = slurm_priorities(terms, facts, jobs.submit, jobs.walltime, associations, qos)
        busy = _whole_seconds(self.completing, len(replay.jobs))
        held_for = replay.runtime + busy
        tables = self._tables(state, held_for, replay.jobs, replay.cluster, limits.limits, reserved, shared)
        if self.leaf:
            self._check_whole_nodes(replay)
            tables = tables._replace(plan=node_plan(replay.jobs.nodes, replay.cluster.num_nodes, self.leaf, self.depth))
        if priorities is not None:
            state.jobs[:, events.RANK] = 0  # new jobs stay at the end of the queue until it is ordered
        leaps = replay.rule.timeless or order is not None  # else Python alone knows it: only passes are compiled
        same_order = leaps and order is None and priorities is None and not state.at[events.MAX_WAIT]
        terms_of_pass = self._terms._replace(steady=same_order)

        def step(row: int, until: int, arrived: bool) -> tuple[int, bool]:
            return run_slurm(state, order, priorities, terms_of_pass, tables, row, until, arrived)

        columns = {**dict(zip(COLUMNS, tables.log, strict=True)), "limited": tables.passed}
        decisions = drive(replay, step, columns, report, leaps)
        held = decisions.pop("limited")
        state.jobs[:, events.END] -= busy
        begin = decisions["reserved_start"]
        begin[begin >= 0] += math.ceil(self.completing)  # nodes are back so long after the planned end of a job
        if len(limits.reasons):
            decisions |= _limited(held, replay.ids, limits.reasons)
        return decisions

    def decide(self, window: Window, /) -> Decision:
        """What a cycle would start and reserve in a window, taken by itself.

        Raises
        ------
        SpecError : as of :meth:`decide_at`.
        """
        return self.decide_at(window, True)

    def decide_at(self, window: Window, cycle: bool) -> Decision:
        """What the main scheduler would start in a window and, with ``cycle``, a cycle after it.

        Raises
        ------
        SpecError : there are files of a site, which go by accounts, of which a window does not know.
        """
        if self.by_facts:
            raise SpecError(
                "slurm-backfill: assoc, qos, priority, reservations and node_cores need a replay: windows know neither "
                "accounts nor nodes"
            )
        if self.leaf:
            raise SpecError("slurm-backfill: leaf needs a replay: windows know no nodes")
        state = window_state(window, np.arange(len(window.queue)))
        jobs = JobTable(np.concatenate((window.queue.data, window.running.data)))
        limits = limits_of_users(jobs, self.user_jobs, self.user_nodes).limits
        reserved = nothing_reserved(len(jobs), _amounts(state))
        tables = self._tables(state, np.empty(0, np.int64), jobs, window.cluster, limits, reserved, nobody_shares())
        count, _, head, begin = slurm_pass(state, self._terms, tables, tables.passed[0], cycle)
        return decision_of(window, state.queue[tables.picks[:count]], tables.modes[:count], head, begin)

    def _reserved(
        self,
        replay: Replay,
        facts: JobFacts,
        associations: dict[Key, Association],
        reservations: tuple[SlurmReservation, ...],
    ) -> Reserved:
        amounts = _amounts(replay.state)
        if not reservations:
            return nothing_reserved(len(replay.jobs), amounts)
        path = replay.workload.origin.path
        card = read_trace_card(path) if is_trace_file(path) else TraceCard()
        if not self.node_cores and card.unit != "nodes":
            raise SpecError(
                f"slurm-backfill: reservations are of nodes, and sizes in {path} count cores: give node_cores"
            )
        jobs = replay.jobs
        first, last = int(jobs.submit.min()), int((jobs.submit + jobs.walltime).max())
        if not any(each.begin < last and first < each.end for each in reservations):
            raise SpecError(
                f"slurm-backfill: {self.reservations}: all reservations lie outside of the trace, which lasts from "
                f"{first} s to {last} s"
            )
        nodes = replay.cluster.num_nodes // max(self.node_cores, 1)
        partitions = hosts_of_partitions(replay.workload, card)
        if partitions:
            reservations = on_hosts_of(reservations, hosts_of_all(card), nodes)
        return reserved_for(reservations, facts, associations, nodes, amounts, self.node_cores, partitions)

    def _check_whole_nodes(self, replay: Replay) -> None:
        if replay.cluster.resources:
            raise SpecError(
                "slurm-backfill: leaf goes neither with further resources nor with --partition-nodes, which is the "
                "default where the trace states sizes (--merge-partitions makes one machine)"
            )
        path = replay.workload.origin.path
        if is_trace_file(path) and read_trace_card(path).unit != "nodes":
            raise SpecError(f"slurm-backfill: leaf counts nodes, and sizes in {path} count cores")

    def _shared(self, replay: Replay, facts: JobFacts) -> SharedNodes:
        if not self.node_cores:
            return nobody_shares()
        path, held = replay.workload.origin.path, facts.amounts
        if not is_trace_file(path):
            held = np.full_like(held, -1)  # what counts nodes there are cores
        elif (card := read_trace_card(path)).unit != "cores":
            raise SpecError(f"slurm-backfill: node_cores: sizes in {path} count nodes; import it with --unit cores")
        else:
            check_node_cores(card.partitions, {each.partition for each in facts.kinds}, self.node_cores)
        if any(name.startswith(PREFIX) for name in replay.cluster.resources):
            raise SpecError(
                "slurm-backfill: node_cores does not go with --partition-nodes, which is the default where the trace "
                "states sizes (--merge-partitions makes one machine, --partition takes one of them)"
            )
        room = (self.node_cores, self.node_memory, self.node_gpus)
        return shared_nodes(replay.jobs, replay.cluster.num_nodes, held, room)

    def _tables(
        self,
        state: events.State,
        runtime: IntArray,
        table: JobTable,
        cluster: Cluster,
        limits: Limits,
        reserved: Reserved,
        shared: SharedNodes,
    ) -> Tables:
        n, tested, known = len(state.jobs), min(self.depth, len(state.jobs)), len(reserved.end)
        amounts = state.jobs.shape[1] + known * len(reserved.counts)
        steps = 2 * n + 4 * tested + 4 + len(state.at) + len(reserved.changes)
        group, log = partition_groups(cluster.resources, table.demand), new_log()
        return Tables(
            runtime=runtime,
            ids=np.ascontiguousarray(table.id),
            log=log,
            picks=np.empty(n, np.int64),
            modes=np.empty(n, np.int64),
            profile=new_profile(reserved.base, steps),
            early=np.zeros((1, amounts), np.int64),
            asked=np.zeros((1, amounts), np.int64),
            group=group,
            blocked=np.zeros(int(group.max(initial=0)) + 1 + known, np.int64),
            limits=limits,
            passed=np.zeros((log.shape[1], 3), np.int64),
            reserved=reserved,
            shared=shared,
            plan=node_plan(table.nodes, 0, 1, 0),
            last=no_cycle(min(max(self.depth, self.queue), n)),
        )


def _whole_seconds(mean: float, jobs: int) -> IntArray:
    """Whole seconds of each job with this mean, the upper ones spread evenly."""
    golden = (np.sqrt(5) - 1) / 2
    seconds: IntArray = np.floor(mean + np.arange(jobs) * golden % 1).astype(np.int64)
    return seconds


def _amounts(state: events.State) -> int:
    """Nodes and further resources; limits by maintenance are none."""
    return len(state.free) - int(state.at[events.LIMITED])


def _limited(passed: IntArray, ids: IntArray, reasons: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Columns of decisions: how many jobs limits hold back in each, the first of them, and why."""
    some = passed[:, 0] > 0
    return {
        "limited": passed[:, 0],
        "limited_job": np.where(some, ids[np.where(some, passed[:, 1], 0)], -1),
        "limit": np.where(some, np.array(reasons)[np.where(some, passed[:, 2], 0)], ""),
    }
