"""Questions to a snapshot of a queue: when will the waiting jobs start, as far as a history tells?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transom.errors import SpecError
from transom.forecast.calibration import Calibration, asked_before, calibration_key
from transom.forecast.futures import Instant
from transom.forecast.known import Known
from transom.forecast.past import Past
from transom.forecast.questions import Answer, answers
from transom.models import Cluster, JobTable, Window
from transom.models import job as table
from transom.models.arrays import IntArray
from transom.simulation.core.events import NEVER
from transom.traces.workload import Workload

_WEEK = 7 * 86400


class History:
    """A replayed history, with the calibration that it gives.

    Parameters
    ----------
    workload : the history.
    policy : a priority rule, without or with backfilling.
    name : number of the application of each job of the history, -1 where unknown.
    seed : of the futures, >= 0.
    keep : whether to keep past forecasts in the user's cache, and to use those that are there.

    Raises
    ------
    SpecError : the policy is not a priority rule.
    """

    def __init__(self, workload: Workload, policy: str, name: IntArray, seed: int = 0, keep: bool = False) -> None:
        self._past, self._seed = Past(workload, policy, name), seed
        self._calibration = Calibration(self._past, calibration_key(workload, name, policy, seed) if keep else "", seed)

    def ask(self, window: Window, jobs: Sequence[int] | None = None) -> list[Answer]:
        """When queued jobs of a snapshot will start.

        Of the history counts what had ended by the snapshot. Where the history is on an earlier clock or ends weeks
        before the snapshot, it is taken to have ended in the week before. What is neither free nor used stays so.

        Parameters
        ----------
        window : the snapshot.
        jobs : ids of queued jobs; by default all.

        Raises
        ------
        SpecError : a job is not queued, the history says nothing of the time before the snapshot, or the two machines
            have different resources.
        """
        queued = {job: i for i, job in enumerate(window.queue.id.tolist())}
        asked = list(queued) if jobs is None else list(jobs)
        for job in asked:
            if job not in queued:
                raise SpecError(f"snapshot at {window.now} s: there is no queued job {job}")
        known, moment, shown = self._joined(window)
        before = asked_before(self._past, int(self._past.known.submit[shown - 1]) + 1, shown)
        self._calibration.make(before.tolist())
        place = {int(known.jobs.id[i]): i for i in moment.active.tolist()}
        places = np.array([place[job] for job in asked], np.int64)
        return answers(known, moment, places, self._calibration.scores(before), self._seed)

    def _joined(self, window: Window) -> tuple[Known, Instant, int]:
        """The jobs of the history that had ended, and those of the snapshot after them; how many of the history."""
        past, now = self._past.known, window.now
        if past.cluster.resources != window.cluster.resources:
            raise SpecError(
                f"snapshot at {now} s: its resources {list(window.cluster.resources)} are not those of the history, "
                f"{list(past.cluster.resources)}"
            )
        shown = int(np.searchsorted(past.submit, now))
        if shown == 0:
            raise SpecError(f"snapshot at {now} s: no job of the history was submitted before")
        shift = max((now - int(past.submit[shown - 1])) // _WEEK, 0) * _WEEK
        cluster = _in_service(window)
        asked = np.column_stack((past.jobs.nodes, past.jobs.demand))[:shown]
        fits = (asked <= np.array([cluster.num_nodes, *cluster.capacities])).all(axis=1)
        ended = np.flatnonzero(fits & (past.end[:shown] + shift <= now))
        old, queue, running = past.jobs.data[ended], window.queue.data, window.running.data
        old[:, table.SUBMIT] += shift
        live = np.concatenate((queue, running))
        number = len(old) + len(live)
        old[:, table.ID] = live[:, table.ID].max(initial=0) + 1 + np.arange(len(old))  # theirs may be in use
        data = np.concatenate((old, live))
        started = np.minimum(window.running_end - running[:, table.WALLTIME], now - 1)
        start = np.concatenate((past.start[ended] + shift, np.full(len(queue), NEVER), started))
        end = np.concatenate((past.end[ended] + shift, np.full(len(live), NEVER)))
        name = np.concatenate((past.name[ended], np.full(len(live), -1)))
        order = np.lexsort((data[:, table.ID], data[:, table.SUBMIT]))
        jobs = JobTable(data[order])
        known = Known(
            cluster, jobs, start[order], end[order], name[order], past.rule, past.backfilling,
            past.depth, past.origin + shift,
        )  # fmt: skip
        active = np.flatnonzero(order >= len(old))
        elapsed = np.where(known.start[active] < now, now - known.start[active], -1)
        return known, Instant(now, number, active, elapsed, np.full(len(active), -1), True), shown


def _in_service(window: Window) -> Cluster:
    """The machine without what is neither free nor used, but as large as the largest request of the queue."""
    used = np.append(window.running.nodes.sum(), window.running.demand.sum(axis=0, dtype=np.int64))
    there = window.available + used[: len(window.available)]
    nodes, *capacities = np.maximum(there, window.requests().max(axis=0, initial=0)).tolist()
    return Cluster(nodes, window.cluster.resources, tuple(capacities))
