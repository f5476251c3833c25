"""A policy at work in somebody else's simulator: the one part that all adapters share.

An adapter says who waits and who runs whenever its simulator asks for a decision; back come the jobs that start. A
policy sees a :class:`~transom.models.Window`, as in a replay: limits on runtimes and never how long jobs really run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from transom.errors import PolicyError
from transom.models import Cluster, Job, JobTable, Window
from transom.rng import stream
from transom.simulation.core.decision import Decision
from transom.simulation.core.site_order import load_rule, site_order
from transom.simulation.passes.kept_plan import KeptPlan
from transom.simulation.passes.window_pass import planned_starts
from transom.simulation.policies.by_name import RulePolicy, make_policy
from transom.simulation.policies.slurm import SlurmBackfill

UNLIMITED = 365 * 86400
"""The walltime of a job without a limit [s]."""


class Running(NamedTuple):
    """A job that runs: since when [s], and how many nodes will be free again with its end."""

    job: Job
    start: int
    back: int


class Live:
    """A policy and what it remembers from one decision to the next.

    Parameters
    ----------
    policy : a specification, as for a replay.
    nodes : of the machine, > 0.
    seed : >= 0, for policies that draw random numbers: the same draws as in a replay.

    Raises
    ------
    SpecError : there is no such policy.
    """

    def __init__(self, policy: str, nodes: int, seed: int = 0) -> None:
        self.spec, self._policy, self._cluster = policy, make_policy(policy), Cluster(nodes)
        if (reset := getattr(self._policy, "reset", None)) is not None:
            reset(stream(seed, policy))
        self._rule = load_rule(getattr(self._policy, "order", "fcfs"))
        kept = isinstance(self._policy, RulePolicy) and self._policy.backfilling == "conservative"
        self._plan = KeptPlan(getattr(self._policy, "depth", None)) if kept else None
        self._origin: int | None = None
        self._running: dict[int, tuple[Job, int]] = {}
        self.wake: int | None = None
        """When to ask again if nothing happens before [s]; None for never."""
        self.more = True
        """Whether jobs may still be submitted: a policy by period goes on asking for its ticks."""

    def decide(self, now: int, queue: Iterable[Job], running: Sequence[Running], free: int) -> list[int]:
        """The ids of the jobs that start now, in order.

        Parameters
        ----------
        now : the instant [s]; all that happened at it has been taken in.
        queue : the waiting jobs, in any order. One that asks for more nodes than are in service waits.
        running : the running jobs, in any order.
        free : idle nodes in service.

        Raises
        ------
        PolicyError : the policy starts a job that does not wait, or more than fit.
        ModelError : ids occur twice, or free and used nodes exceed the machine.
        """
        self.wake = None
        known = {each.job.id: (each.job, each.start) for each in running}
        ended = {job: found for job, found in self._running.items() if job not in known}
        self._running = known
        active, waiting = _by_end(running), {job.id: job for job in queue}
        window = self._window(now, waiting.values(), active, free)
        if not len(window.queue):
            return []
        decision = self._decision(window, np.array([each.start for each in active], np.int64), ended)
        chosen = [*decision.start, *decision.backfill]
        if len(set(chosen)) < len(chosen) or not set(chosen) <= set(window.queue.id.tolist()):
            raise PolicyError(f"policy {self.spec!r} starts a job that is not waiting at {now} s")
        if sum(waiting[job].nodes for job in chosen) > free:
            raise PolicyError(f"policy {self.spec!r} starts more than fits at {now} s")
        self._running |= {job: (waiting[job], now) for job in chosen}
        if len(chosen) == len(waiting):
            self.wake = None
        return chosen

    def wait_of(self, job: Job, now: int, queue: Iterable[Job], running: Sequence[Running], free: int) -> int:
        """How long a job would wait behind the queue, by the limits of all jobs [s]; the rest as in :meth:`decide`."""
        window = self._window(now, (*queue, job), _by_end(running), free)
        places = window.queue.id.tolist()
        if job.id not in places:
            return UNLIMITED
        last = [at for at, other in enumerate(places) if other != job.id] + [places.index(job.id)]
        return int(planned_starts(window, last)[last[-1]]) - now

    def _window(self, now: int, queue: Iterable[Job], active: Sequence[Running], free: int) -> Window:
        """What the policy sees, with the queue in its order."""
        serving = free + sum(each.back for each in active)
        waiting = JobTable.of(job for job in queue if job.nodes <= serving)
        if len(waiting):
            first = int(waiting.submit.min())
            self._origin = first if self._origin is None else min(self._origin, first)
            waiting = waiting.take(site_order(self._rule, waiting, now, self._origin))
        return Window(
            now=now,
            cluster=self._cluster,
            queue=waiting,
            running=JobTable.of(job if job.nodes == back else replace(job, nodes=back) for job, _, back in active),
            running_end=np.array([max(each.start + each.job.walltime, now + 1) for each in active], np.int64),
            available=np.array([free], np.int64),
        )

    def _decision(self, window: Window, started: np.ndarray, ended: dict[int, tuple[Job, int]]) -> Decision:
        now = window.now
        if self._plan is not None:
            decision = self._plan.decide(window, started, ended)
            self.wake = self._plan.wake
            return decision
        if isinstance(self._policy, SlurmBackfill):
            every = self._policy.interval
            decision = self._policy.decide_at(window, now % every == 0)
            if len(window.running) or decision.start or decision.backfill or now % every:
                self.wake = (now // every + 1) * every
            return decision
        every = getattr(self._policy, "period", None) or 1
        decision = Decision() if now % every else self._policy.decide(window)
        if not isinstance(decision, Decision):
            raise PolicyError(f"a policy returns a Decision, got {type(decision).__name__}")
        if every > 1 and (self.more or len(window.running) or decision.start or decision.backfill or now % every):
            self.wake = (now // every + 1) * every
        return decision


def _by_end(running: Iterable[Running]) -> list[Running]:
    """The running jobs that give nodes back, by the ends that follow from their limits."""
    return sorted(
        (each for each in running if each.back), key=lambda each: (each.start + each.job.walltime, each.job.id)
    )
