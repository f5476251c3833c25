"""A bound on waiting for any policy: jobs that have waited for too long go first, and it decides over the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from transom.errors import SpecError
from transom.heuristics.priority_rules import PriorityRule, check_max_wait
from transom.models import JobTable, Window
from transom.models.arrays import IntArray
from transom.simulation.core.decision import Decision, Policy


@dataclass(frozen=True)
class MaxWaitPolicy:
    """Let jobs that have waited for too long go first, first come, first served, and a policy decide over the others.

    The first of those that does not fit gets a reservation (EASY). Behind it the policy is shown only jobs that fit now
    and would not delay it, and what would together with its other choices is left out. A policy whose ``backfilling``
    is ``none`` is not asked: nothing starts ahead. Where nobody has waited for too long, it decides as by itself. Notes
    on decisions are dropped.

    Parameters
    ----------
    policy : decides over all other jobs. It may not go by which jobs it has seen before: one with ``own_bound``, a text
        that says what it has instead, is refused.
    seconds : a job that has waited longer, from its submission on, goes first [s], 1 to 10**9.

    Raises
    ------
    SpecError : the bound is out of range, or the policy has its own.
    """

    policy: Policy
    seconds: int

    def __post_init__(self) -> None:
        check_max_wait(self.seconds)
        if instead := getattr(self.policy, "own_bound", ""):
            raise SpecError(f"max_wait does not go with {type(self.policy).__name__}: {instead}")

    @property
    def order(self) -> str | PriorityRule:
        """The rule that orders the queue, that of the policy."""
        return cast("str | PriorityRule", getattr(self.policy, "order", "fcfs"))

    @property
    def period(self) -> Any:
        """The policy's period, if it has one."""
        return getattr(self.policy, "period", None)

    @property
    def rules(self) -> tuple[PriorityRule, ...]:
        """The rules among which the policy chooses, if it does."""
        return cast("tuple[PriorityRule, ...]", getattr(self.policy, "rules", ()))

    @property
    def backfilling(self) -> Any:
        """How the policy starts jobs ahead of others; None where it is no setting of it."""
        return getattr(self.policy, "backfilling", None)

    def reset(self, rng: np.random.Generator) -> None:
        """Begin a replay."""
        if (forget := getattr(self.policy, "reset", None)) is not None:
            forget(rng)

    def decide(self, window: Window, /) -> Decision:
        """Start those who have waited for too long, then what the policy chooses and does not delay them."""
        from transom.simulation.passes.easy_backfill import Starts, easy_pass, plain_pass
        from transom.simulation.passes.window_pass import decision_of, window_state

        late = np.flatnonzero(window.wait > self.seconds)
        if not late.size:
            said = self.policy.decide(window)
            return replace(said, notes={}) if isinstance(said, Decision) else said
        late = late[np.lexsort((window.queue.id[late], window.queue.submit[late]))]
        state, count = window_state(window, late), len(late)
        starts, left, head, begin = Starts(np.empty_like(late), np.empty_like(late)), np.empty_like(state.free), -1, -1
        parts = state.jobs, state.queue, state.expected, state.free, state.at
        if self.backfilling == "none":
            count = plain_pass(*parts, starts.picks, starts.modes)
        else:
            count, _, head, begin = easy_pass(*parts, starts, left, True)
        started = late[starts.picks[:count]]
        decision = decision_of(window, started, starts.modes[:count], head, begin)
        if head >= 0:
            return self._around(window, decision, started, _Hole(begin, state.free, left))
        others = np.flatnonzero(window.wait <= self.seconds)
        if count < len(late) or not others.size:
            return decision
        said = self.policy.decide(_after(window, decision, started, others))
        return replace(said, start=decision.start + said.start, notes={}) if isinstance(said, Decision) else said

    def _around(self, window: Window, decision: Decision, started: IntArray, hole: _Hole) -> Decision:
        """Add what the policy starts ahead of the job with the reservation, and does not delay it."""
        others, places = np.flatnonzero(window.wait <= self.seconds), window.positions()
        requests, beyond = window.requests(), window.now + window.queue.walltime > hole.begin
        place_of = dict(zip(window.queue.id.tolist(), places.tolist(), strict=True))
        free, left = hole.free, hole.left
        cut = True
        while cut:
            most = np.where(beyond[others, None], np.minimum(free, left), free)
            others = others[(requests[others] <= most).all(axis=1)]
            if not others.size:
                break
            said = self.policy.decide(_after(window, decision, started, others))
            if not isinstance(said, Decision) or not place_of.keys() >= {*said.start, *said.backfill}:
                return said  # an error that is reported where decisions are carried out
            kept: list[int] = []
            for place in (place_of[job] for job in said.start + said.backfill):
                if not beyond[place] or (requests[place] <= left).all():
                    left -= requests[place] * beyond[place]
                    free -= requests[place]
                    kept.append(place)
            cut = 0 < len(kept) < len(said.start + said.backfill)
            ids = tuple(window.queue.id[kept].tolist())
            nodes = {job: at for job, at in said.nodes.items() if job in ids}
            decision = replace(decision, backfill=decision.backfill + ids, nodes={**decision.nodes, **nodes})
            started, others = np.append(started, kept).astype(np.int64), np.setdiff1d(others, kept)
        return decision


class _Hole(NamedTuple):
    """Around a reservation: when it begins [s], what is free now, and what will be left beside it."""

    begin: int
    free: IntArray
    left: IntArray


def _after(window: Window, decision: Decision, started: IntArray, shown: IntArray) -> Window:
    """The window once some jobs of its queue have started, by their places, and with some of the others as its queue.

    Of the idle nodes those that a decision states are taken, and the lowest others for jobs whose nodes it leaves open.
    """
    queue, idle = window.queue, window.idle
    data = np.concatenate((window.running.data, queue.data[started]))
    ends = np.concatenate((window.running_end, window.now + queue.walltime[started]))
    order = np.argsort(ends, kind="stable")
    available = window.available - window.requests()[started].sum(axis=0)
    if idle is not None:
        stated = np.array([node for nodes in decision.nodes.values() for node in nodes], np.int64)
        idle = np.setdiff1d(idle, stated)
        idle = idle[len(idle) - available[0] :]
        idle.flags.writeable = False
    ends = ends[order]
    ends.flags.writeable = available.flags.writeable = False
    running = JobTable(data[order])
    return Window._trusted(window.now, window.cluster, queue.take(shown), running, ends, available, idle)
