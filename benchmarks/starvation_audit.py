"""An audit of the starvation bound, from the windows and the decisions alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from transom.models import Window
from transom.simulation import Schedule
from transom.simulation.core.decision import Decision, Policy


@dataclass
class Audited:
    """A policy with somebody who counts how often each job is passed over, and writes down what it is promised.

    A job is passed over by a pass in which it waits and a job behind it in the queue starts. From the pass that
    passes it over for the ``bound``-th time it has to hold a reservation, or start. ``draws`` are its random numbers.
    """

    policy: Policy
    bound: int
    draws: np.random.Generator
    order: str = "fcfs"
    passed: dict[int, int] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.order = getattr(self.policy, "order", "fcfs")

    def reset(self, rng: np.random.Generator) -> None:
        """Begin with the random numbers of the replay that is audited, not with those of this one."""
        self.policy.reset(self.draws)

    def decide(self, window: Window, /) -> Decision:
        """Decide as the policy does, and look at it."""
        decision = self.policy.decide(window)
        started = {*decision.start, *decision.backfill}
        reserved = {each.job: each.start for each in decision.reserve}
        behind = False
        for job in reversed(window.queue.id.tolist()):
            if job in started:
                behind = True
                continue
            self.passed[job] = self.passed.get(job, 0) + behind
            self._look(job, reserved.get(job), window.now)
        return decision

    def _look(self, job: int, start: int | None, now: int) -> None:
        if start is not None:
            if start > self.promised.setdefault(job, start):
                self.faults.append(f"at {now} s: job {job} was promised {self.promised[job]} s, now {start} s")
        elif job in self.promised:
            self.faults.append(f"at {now} s: job {job} has lost its reservation")
        elif self.passed[job] >= self.bound:
            self.faults.append(f"at {now} s: job {job} was passed over {self.passed[job]} times and holds nothing")

    def verdict(self, schedule: Schedule) -> list[str]:
        """All that is wrong: also jobs that start later than they were first promised."""
        start = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
        late = [job for job, instant in self.promised.items() if start[job] > instant]
        return self.faults + [f"job {job} starts at {start[job]} s, promised {self.promised[job]} s" for job in late]
