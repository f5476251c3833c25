"""The judge of schedules: it knows the workload and looks at nothing but starts and ends."""

from __future__ import annotations

import numpy as np

from transom.simulation.schedule import Schedule
from transom.traces.workload import Workload


def check_schedule(workload: Workload, schedule: Schedule) -> list[str]:
    """Everything that is wrong with a schedule, in words; empty if it stands.

    Every job of the workload starts once, not before its submission nor before its parents have
    ended, and runs for its runtime; nodes and further resources are never oversubscribed.
    """
    jobs = workload.jobs
    if not np.array_equal(schedule.jobs.id, jobs.id):
        odd = np.setxor1d(schedule.jobs.id, jobs.id)
        which = f"job {odd[0]}" if odd.size else "the order of the jobs"
        return [f"the schedule and the workload differ in {which}"]
    wrong: list[str] = []
    start, end = schedule.start, schedule.end

    def report(bad: np.ndarray, says: str) -> None:
        if bad.any():
            wrong.append(f"job {jobs.id[bad.argmax()]}: {says} ({int(bad.sum())} in all)")

    report(start < jobs.submit, "starts before its submission")
    report(end - start != workload.runtime, "does not run for its runtime")
    report(schedule.jobs.nodes != jobs.nodes, "holds another number of nodes than it asked for")
    if jobs.depends_on:
        ended = dict(zip(jobs.id.tolist(), end.tolist(), strict=True))
        latest = np.array([max((ended[p] for p in jobs.depends_on.get(j, ())), default=0) for j in jobs.id.tolist()])
        report(start < latest, "starts before a job it depends on has ended")

    # At every instant ends come before starts, so sort by (time, end first) and add up.
    time = np.concatenate((end, start))
    kind = np.concatenate((np.zeros(len(jobs)), np.ones(len(jobs))))
    order = np.lexsort((kind, time))
    asked = np.column_stack((jobs.nodes, jobs.demand))
    used = np.concatenate((-asked, asked))[order].cumsum(axis=0)
    capacities = (workload.cluster.num_nodes, *workload.cluster.capacities)
    for name, amount, capacity in zip(("nodes", *workload.cluster.resources), used.T, capacities, strict=True):
        if (amount > capacity).any():
            when = time[order][(amount > capacity).argmax()]
            wrong.append(f"{name}: {amount.max()} of {capacity} are used at once, first at {when} s")
    return wrong
