"""Conservative backfilling over windows that follow each other, each with the reservations that the one before left.

In a replay the plan lives on from pass to pass; here it is put together again from what is remembered of it, so that
somebody else's simulator can ask for one pass after the other. The starts are those of a replay.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transom.models import Job, JobTable, Window
from transom.models import job as table
from transom.models.arrays import IntArray
from transom.simulation.core.decision import Decision
from transom.simulation.core.events import ENDED, NEVER, REPLAN, RUNNING, START, WAKE, WALLTIME
from transom.simulation.passes.availability import TAKEN, add
from transom.simulation.passes.conservative_backfill import conservative_pass
from transom.simulation.passes.conservative_plan import OVERDUE, new_plan, restore_plan
from transom.simulation.passes.window_pass import decision_of, state_at


class KeptPlan:
    """The reservations of one machine.

    Parameters
    ----------
    depth : how many waiting jobs hold reservations, by default all.
    """

    def __init__(self, depth: int | None = None) -> None:
        self.wake: int | None = None
        """When a reservation comes due without any event [s]; None if there is none."""
        self._depth = depth
        self._begin: dict[int, int] = {}
        self._overdue, self._nodes = 0, -1

    def decide(self, window: Window, started: IntArray, ended: Mapping[int, tuple[Job, int]]) -> Decision:
        """One pass.

        Parameters
        ----------
        window : whose running jobs are in the order of start + walltime, also those beyond it.
        started : when each running job started, shape ``(running jobs,)`` [s].
        ended : the jobs that ended since the pass before, and when each had started [s].
        """
        gone = JobTable.of(job for job, _ in ended.values())
        queued, running = len(window.queue), len(window.running)
        begun = np.concatenate((started, np.array([at for _, at in ended.values()], np.int64)))
        rows = np.concatenate((window.running.data, gone.data))
        order = np.arange(queued)
        s = state_at(window.now, window.queue.data, rows, begun + rows[:, table.WALLTIME], window.available, order)
        s = s._replace(ended=np.arange(queued + running, queued + len(rows)))
        s.jobs[queued:, START] = begun
        s.at[RUNNING], s.at[ENDED] = running, len(gone)
        nodes = int(window.available[0] + window.running.nodes.sum())
        p = new_plan(s, depth=self._depth)
        kept = np.array([self._begin.get(job, -1) for job in window.queue.id.tolist()], np.int64)
        restore_plan(s, p, kept)
        # Nodes went away or came back, or nobody asked when a reservation came due.
        s.at[REPLAN] = nodes != self._nodes or ((kept >= 0) & (kept < window.now)).any()
        self._nodes, p.at[OVERDUE] = nodes, self._overdue
        for row in range(queued + running, queued + len(rows)):  # the pass frees what they held
            add(p.profile, s.jobs, row, window.now, int(s.jobs[row, START] + s.jobs[row, WALLTIME]), TAKEN)
        picks, modes = np.empty(queued, np.int64), np.empty(queued, np.int64)
        count, _, head, begin = conservative_pass(s, p, picks, modes)
        self._begin = {
            job: at for job, at in zip(window.queue.id.tolist(), p.begin[:queued].tolist(), strict=True) if at >= 0
        }
        self._overdue = int(p.at[OVERDUE])
        self.wake = int(s.at[WAKE]) if s.at[WAKE] < NEVER else None
        return decision_of(window, order[picks[:count]], modes[:count], head, begin)
