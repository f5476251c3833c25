"""No job later than in Slurm's own plan plus some time: which starts keep that, and which jobs are to be given back.

Slurm's own plan is that of its backfill scheduler: in the order of its priorities, each job gets the earliest place
that delays none before it, by the limits of all jobs. Where Slurm states a start, that counts. Of a job that it does
not plan, such as one under lease, the start is computed by the same rule over the same queue. The plan of the first
look that shows a job is the one that holds. Planned in the order of these starts, no job is planned later than its
own as long as running jobs keep to their limits and nodes serve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from transom.simulation.core.events import NEVER
from transom.simulation.passes.window_pass import planned_starts
from transom.slurm.window import Seen
from transom.traces.records.slurm_text.jobs import SlurmJob


class Kept(NamedTuple):
    """Which of some starts are made, which are kept back, and the jobs for which they are, if these could start now."""

    made: list[str]
    kept_back: list[str]
    due: list[str]


class LatestStarts:
    """The latest start of each job that was seen.

    Parameters
    ----------
    slack : which jobs may start after Slurm's plan [s of Slurm's clock], >= 0.
    """

    def __init__(self, slack: int) -> None:
        self._slack = slack
        self._latest: dict[str, int] = {}

    def note(
        self, seen: Seen, jobs: Sequence[SlurmJob], stated: Callable[[SlurmJob], bool] = lambda job: False
    ) -> None:
        """Take note of the jobs of a window in the order of Slurm's priorities.

        Parameters
        ----------
        seen : with all jobs for which Slurm plans, as if those under lease could start.
        jobs : all that Slurm has; others are forgotten.
        stated : whether what Slurm states as a job's start is its plan.
        """
        queue, now = [seen.jobs[job] for job in seen.window.queue.id.tolist()], seen.window.now
        waiting = {job.name for job in jobs if job.waits}
        self._latest = {name: at for name, at in self._latest.items() if name in waiting}
        if all(job.name in self._latest for job in queue):
            return
        ours = planned_starts(seen.window, np.arange(len(queue))).tolist()
        for job, computed in zip(queue, ours, strict=True):
            start = job.start if stated(job) and job.start > 0 else computed
            if start < NEVER:
                self._latest.setdefault(job.name, max(start, now) + self._slack)

    def of(self, name: str) -> int | None:
        """The latest start of a job [s since 1970]; None if it was not seen, or is not planned."""
        return self._latest.get(name)

    def passed(self, name: str, at: int) -> bool:
        """Whether a start at this time would be too late."""
        latest = self._latest.get(name)
        return latest is not None and at > latest

    def late(self, seen: Seen, names: Sequence[str]) -> list[str]:
        """Those of some jobs that start too late even if nothing but jobs with a latest start is started any more."""
        planned, now = self._plan(seen, []), seen.window.now
        return [name for name in names if self.passed(name, max(planned.get(name, now), now))]

    def keep(self, seen: Seen, starts: Sequence[str]) -> Kept:
        """Which of some starts now leave a plan in which no other job starts too late; in their order.

        A job that starts too late even without them may not start later by them.
        """
        before = self._plan(seen, [])
        if not self._hurt(seen, before, starts):
            return Kept([*starts], [], [])
        made: list[str] = []
        kept_back, hurt = [], dict[str, None]()
        for name in starts:
            if found := self._hurt(seen, before, [*made, name]):
                kept_back.append(name)
                hurt.update(dict.fromkeys(found))
            else:
                made.append(name)
        after = self._plan(seen, made)
        return Kept(made, kept_back, [name for name in hurt if after[name] <= seen.window.now and name not in made])

    def _hurt(self, seen: Seen, before: dict[str, int], starts: Sequence[str]) -> list[str]:
        planned, ours = self._plan(seen, starts), set(starts)
        return [
            name
            for name, at in planned.items()
            if name not in ours and name in self._latest and at > max(self._latest[name], before[name])
        ]

    def _plan(self, seen: Seen, first: Sequence[str]) -> dict[str, int]:
        """The starts of all jobs with a latest start: some before all others, then in the order of these."""
        rows = {seen.jobs[job].name: row for row, job in enumerate(seen.window.queue.id.tolist())}
        rest = sorted((name for name in rows if name in self._latest), key=self._latest.__getitem__)
        order = dict.fromkeys([*(name for name in first if name in rows), *rest])
        planned = planned_starts(seen.window, np.array([rows[name] for name in order], np.int64))
        return {name: int(planned[rows[name]]) for name in order}
