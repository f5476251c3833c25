"""The judge of schedules of tasks: it knows the workload and looks at nothing but the batches."""

from __future__ import annotations

import numpy as np

from transom.simulation.placement.schedule import TaskSchedule
from transom.simulation.placement.state import COUNT, END, MACHINE, START, TASK
from transom.traces.tasks.workload import TaskWorkload


def check_tasks(workload: TaskWorkload, schedule: TaskSchedule) -> list[str]:
    """Everything that is wrong with a schedule, in words; empty if it stands.

    Every instance starts once, on a machine that is there, not before its submission, and runs for its duration; no
    machine holds more than it has. Under rules of other programs, which see ends late, a run may take two seconds more.
    """
    rows, tasks = schedule.batches, len(workload)
    if schedule.workload != workload:
        return ["is a schedule of another workload"]
    if len(rows) and (rows[:, TASK].min() < 0 or rows[:, TASK].max() >= tasks):
        return [f"a task is stated that is none of {tasks}"]
    wrong: list[str] = []

    def report(bad: np.ndarray, says: str) -> None:
        if bad.any():
            wrong.append(f"{workload.name_of(int(rows[bad.argmax(), TASK]))}: {says} ({int(bad.sum())} in all)")

    report((rows[:, MACHINE] < 0) | (rows[:, MACHINE] >= len(workload.machines)), "runs on a machine that is not there")
    report(rows[:, COUNT] <= 0, "starts no instance in a batch")
    report(rows[:, START] < workload.submit[workload.job[rows[:, TASK]]], "starts before its submission")
    length, needed = rows[:, END] - rows[:, START], np.ceil(workload.duration[rows[:, TASK]])
    late = 0 if schedule.rules == "textbook" else 2
    report((length < needed) | (length > needed + late), "does not run for its duration")
    started = np.bincount(rows[:, TASK], rows[:, COUNT], tasks).astype(np.int64)
    off = started != workload.instances
    if off.any():
        task = int(off.argmax())
        wrong.append(f"{workload.name_of(task)}: {started[task]} instances run, not {workload.instances[task]}")
    return wrong or _overfull(workload, schedule)


def _overfull(workload: TaskWorkload, schedule: TaskSchedule) -> list[str]:
    """The first machine that holds more of a resource than it has; ends of an instant come before its starts."""
    for machine in range(len(workload.machines)):
        rows = schedule.batches[schedule.batches[:, MACHINE] == machine]
        # In Python's integers: 64 bits might not hold a sum that is too large.
        amounts = workload.demands[rows[:, TASK]].astype(object) * rows[:, COUNT, None]
        time = np.concatenate((rows[:, END], rows[:, START]))
        order = np.lexsort((np.repeat([0, 1], len(rows)), time))
        held = np.concatenate((-amounts, amounts))[order].cumsum(axis=0)
        for r, name in enumerate(workload.resources):
            over = held[:, r] > int(workload.machines[machine, r]) + _slack(workload, schedule, r)
            if over.any():
                when = int(time[order][over.argmax()])
                return [f"machine {machine}: holds more {name} than it has, first at {when} s"]
    return []


def _slack(workload: TaskWorkload, schedule: TaskSchedule, resource: int) -> int:
    """What rounding may hide from a program that counts in doubles, in units: one part in 2**40."""
    return 0 if schedule.rules == "textbook" else int(workload.machines[:, resource].max()) >> 40
