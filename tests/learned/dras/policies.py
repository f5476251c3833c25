"""Policies for the tests of the decision process: one that shares nothing with it, and one that walks through it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from transom.learned.dras.process.inference import decide_window, new_workspace
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.process.state_from_window import decision_of, parts
from transom.learned.scorer import ScorerWeights
from transom.models import Job, Window
from transom.models.arrays import IntArray
from transom.simulation import Decision
from transom.simulation.core.decision import Reservation


class Plain:
    """The process over lists of jobs; ``key`` is smallest for the candidate that is taken, the first of equals."""

    name = "plain"

    def __init__(self, scheme: AgentConfig, key: Callable[[Job], int]) -> None:
        self.scheme, self.key = scheme, key
        self.holder: int | None = None

    def choosing(self, window: Window, candidates: list[Job]) -> None:
        """Called before one of so many candidates is taken."""

    def chosen(self, window: Window, job: Job, waiting: list[Job], free: IntArray) -> None:
        """Called after a candidate was taken, with who waits then and what is free."""

    def decide(self, window: Window, /) -> Decision:
        """Decide one window."""
        scheme, now = self.scheme, window.now
        waiting = list(window.queue)
        free = window.available.copy()
        leaving = [(int(end), asks(job)) for end, job in zip(window.running_end, window.running, strict=True)]
        start: list[int] = []
        backfill: list[int] = []

        def launch(job: Job, among: list[int]) -> None:
            nonlocal free
            among.append(job.id)
            waiting.remove(job)
            free = free - asks(job)
            leaving.append((now + job.walltime, asks(job)))

        def fits(job: Job, amount: IntArray) -> bool:
            return bool((asks(job) <= amount).all())

        reserved = next((job for job in waiting if job.id == self.holder), None) if scheme.keep else None
        if reserved is not None and fits(reserved, free):
            launch(reserved, start)
            reserved = None
        while reserved is None:
            seen = waiting[: scheme.window]
            if scheme.levels == 1:
                seen = [job for job in seen if fits(job, free)]
            if not seen:
                break
            self.choosing(window, seen)
            selected = job = min(seen, key=self.key)
            if scheme.head and not fits(job, free):
                job = waiting[0]
            if fits(job, free):
                launch(job, start)
            else:
                reserved = job
            self.chosen(window, selected, waiting, free)
        self.holder = None if reserved is None else reserved.id
        if reserved is None:
            return Decision(tuple(start))
        for shadow in sorted({end for end, _ in leaving}):
            extra = free + sum(amount for end, amount in leaving if end <= shadow) - asks(reserved)
            if (extra >= 0).all():
                break
        while True:
            seen = [job for job in waiting if fits(job, free) and (now + job.walltime <= shadow or fits(job, extra))]
            if not seen:
                break
            seen = seen[: scheme.window]
            self.choosing(window, seen)
            job = min(seen, key=self.key)
            if now + job.walltime > shadow:
                extra = extra - asks(job)
            launch(job, backfill)
            self.chosen(window, job, waiting, free)
        return Decision(tuple(start), tuple(backfill), (Reservation(reserved.id, shadow),))


class Walking:
    """What a policy does that is given windows and scores with the compact network."""

    name = "walking"

    def __init__(self, scheme: AgentConfig, weights: ScorerWeights, rng: Generator, epsilon: float = 0.0) -> None:
        self.scheme, self.weights, self.rng, self.epsilon = scheme, weights, rng, epsilon
        self.view = new_workspace(scheme.window)
        self.holder = -1

    def decide(self, window: Window, /) -> Decision:
        """Decide one window."""
        at = parts(window), window.cluster.num_nodes, self.scheme, self.holder
        _, told = decide_window(*at, self.weights, self.view, self.rng, self.epsilon)
        self.holder = told[2]
        return decision_of(*told)


def asks(job: Job) -> IntArray:
    """Nodes and further resources."""
    return np.array([job.nodes, *job.demand], np.int64)
