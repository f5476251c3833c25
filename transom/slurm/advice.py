"""What a policy would do in a Slurm now: the same decision as in a replay, with nodes by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from transom.errors import SpecError
from transom.models import Cluster, FatTree, Window
from transom.models.arrays import IntArray
from transom.rng import stream
from transom.simulation.core.decision import Policy
from transom.simulation.nodes.allocator import Allocator, Placer, takes_limits, takes_types
from transom.simulation.nodes.typed import Wants
from transom.simulation.policies.by_name import make_policy
from transom.slurm.window import KeptFrom, Seen
from transom.traces.records.hostlist import compressed
from transom.traces.records.slurm_text.jobs import SlurmJob

_NONE: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Start:
    """A job that should start now, and where; ``backfilled`` if ahead of one that holds a reservation."""

    job: SlurmJob
    nodes: tuple[str, ...]
    backfilled: bool

    @property
    def where(self) -> str:
        """The nodes as one of Slurm's lists."""
        return compressed(self.nodes)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do at ``now`` [s since 1970]: starts in order, and the jobs that hold a reservation with its time.

    Where no job may start later than in Slurm's own plan and some time, ``latest`` has these times [s since 1970], and
    ``kept_back`` the jobs that the policy would start and that would make another one too late.
    """

    now: int
    starts: list[Start]
    reserve: list[tuple[SlurmJob, int]]
    latest: Mapping[str, int] | None = None
    kept_back: tuple[str, ...] = ()

    def within(self, latest: Callable[[str], int | None], kept_back: Sequence[str]) -> Advice:
        """The same without what is kept back, and with the latest starts of all jobs."""
        names = [start.job.name for start in self.starts] + [job.name for job, _ in self.reserve]
        known = {name: at for name in names if (at := latest(name)) is not None}
        starts = [start for start in self.starts if start.job.name not in kept_back]
        return replace(self, starts=starts, latest=known, kept_back=tuple(kept_back))

    def document(self) -> dict[str, Any]:
        """As JSON, beside what Slurm itself means to do."""
        bound = {} if self.latest is None else {"latest": dict(self.latest), "kept_back": list(self.kept_back)}
        return bound | {
            "start": [
                {"job": s.job.name, "nodes": list(s.nodes), "backfilled": s.backfilled, **_slurms(s.job)}
                for s in self.starts
            ],
            "reserve": [{"job": job.name, "at": at, **_slurms(job)} for job, at in self.reserve],
        }


class Choice(NamedTuple):
    """A decision by ids: the nodes of each job that starts, in order; those backfilled; reservations with times [s]."""

    nodes: dict[int, tuple[int, ...]]
    backfilled: list[int]
    reserve: list[tuple[int, int]]


def _slurms(job: SlurmJob) -> dict[str, Any]:
    return {"slurm_start": job.start if job.start > 0 else None, "slurm_nodes": job.planned or None}


class Adviser:
    """A policy and an allocator at work on the windows of a Slurm.

    Parameters
    ----------
    policy : a specification, as for a replay.
    allocator : the solver that chooses nodes; None for the lowest idle ones.
    seed : >= 0, for what draws random numbers.

    Raises
    ------
    SpecError : there is no such policy or solver.
    """

    def __init__(self, policy: str, allocator: Allocator | None = None, seed: int = 0) -> None:
        self.policy: Policy = make_policy(policy)
        self.order = str(getattr(self.policy, "order", "fcfs"))
        if (reset := getattr(self.policy, "reset", None)) is not None:
            reset(stream(seed, policy))
        self._allocator, self._seed = allocator or Allocator(), seed
        self.keeps_limits = takes_limits(self._allocator)
        self.keeps_types = takes_types(self._allocator)
        self._placer: Placer | None = None

    def advise(self, seen: Seen) -> Advice:
        """What to do in a window whose queue is in the order of the policy.

        Raises
        ------
        SpecError : nodes are to be chosen on a network that Slurm does not describe, or the allocator does not take it.
        """
        chosen = self.choose(seen.window, seen.idle, seen.kept_from, seen.leaf_limits)
        starts = [
            Start(seen.jobs[job], tuple(seen.names[i] for i in nodes), job in chosen.backfilled)
            for job, nodes in chosen.nodes.items()
        ]
        return Advice(seen.window.now, starts, [(seen.jobs[job], at) for job, at in chosen.reserve])

    def choose(
        self, window: Window, idle: IntArray, kept_from: KeptFrom, leaf_limits: Mapping[int, int] = _NONE
    ) -> Choice:
        """The same by ids of jobs and nodes; idle nodes and the rest as in :class:`~transom.slurm.window.Seen`.

        Jobs that the policy would start, and whose limits on leaf switches or node types the idle nodes do not allow,
        wait.
        """
        if not len(window.queue):
            return Choice({}, [], [])
        decision = self.policy.decide(window)
        chosen = decision.start + decision.backfill
        # A policy that states nodes knows of no limits, and of no types.
        stated = decision.nodes if window.accepts is None else {}
        nodes = {job: tuple(ids) for job, ids in stated.items() if job not in leaf_limits}
        taken = [node for ids in nodes.values() for node in ids]
        free = np.setdiff1d(idle, taken)
        nodes |= self._places(window, free, kept_from, leaf_limits, [job for job in chosen if job not in nodes])
        return Choice(
            {job: nodes[job] for job in chosen if job in nodes},
            [job for job in decision.backfill if job in nodes],
            [(each.job, each.start) for each in decision.reserve],
        )

    def _places(
        self, window: Window, idle: IntArray, kept_from: KeptFrom, leaf_limits: Mapping[int, int], jobs: list[int]
    ) -> dict[int, tuple[int, ...]]:
        """Nodes for jobs; those that would run into a reservation first, beside its nodes."""
        placer = self._placer_on(window.cluster)
        row = {job: i for i, job in enumerate(window.queue.id.tolist())}
        groups: dict[frozenset[int], list[int]] = {}
        for job in jobs:
            end = window.now + int(window.queue.walltime[row[job]])
            kept = frozenset(node for start, ids in kept_from if start < end for node in ids)
            groups.setdefault(kept, []).append(job)
        placed: dict[int, tuple[int, ...]] = {}
        for kept, group in sorted(groups.items(), key=lambda each: -len(each[0])):
            allowed: IntArray = np.setdiff1d(idle, list(kept))
            sizes = [int(window.queue.nodes[row[job]]) for job in group]
            while sum(sizes) > len(allowed):  # several reservations together leave less than each alone
                group, sizes = group[:-1], sizes[:-1]
            if window.accepts is not None or any(job in leaf_limits for job in group):
                accepts = None if window.accepts is None else window.accepts[[row[job] for job in group]]
                limits = [leaf_limits.get(job) for job in group]
                found = placer.place_within(allowed, Wants(sizes, limits, window.cluster.node_types, accepts))
            else:
                found = placer.place(allowed, sizes).nodes if group else []
            for job, ids in zip(group, found, strict=True):
                if len(ids):
                    placed[job] = tuple(ids.tolist())
                    idle = np.setdiff1d(idle, ids)
        return placed

    def _placer_on(self, cluster: Cluster) -> Placer:
        if cluster.topology is None and self._allocator.solver is not None:
            raise SpecError("--allocate needs a network: Slurm describes none (topology.conf)")
        size = cluster.num_nodes
        tree = cluster.topology or FatTree.uniform(size, size, size)
        if self._placer is None or tree != self._placer.tree:
            self._placer = Placer(tree, self._allocator, self._seed)
        return self._placer
