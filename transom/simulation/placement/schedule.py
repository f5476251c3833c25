"""What a replay of tasks on machines produced: batches of instances, and one row per pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transom.models.arrays import FloatArray, Frozen, IntArray, Like, frozen_ints, model
from transom.simulation.placement.state import COUNT, END, MACHINE, QUEUED, START, STARTED, TASK, TIME
from transom.traces.tasks.workload import TaskWorkload

if TYPE_CHECKING:
    import polars as pl


@model
class TaskSchedule(Frozen):
    """Where and when every instance of a workload ran under one policy.

    Parameters
    ----------
    policy : what the policy is called.
    workload : what was replayed.
    batches : rows of task (position), machine (position), start [s], end [s] and count: so many instances of a task
        that started on one machine one after another at an instant, in the order in which they started; shape
        ``(B, 5)``.
    passes : rows of time [s], instances that waited before the pass and instances that it started, one for every
        instant at which some waited, shape ``(P, 3)``.
    rules : the event rules that made it; figures made under different rules never share a table.
    """

    policy: str
    workload: TaskWorkload
    batches: Like[IntArray]
    passes: Like[IntArray]
    rules: str = "textbook"

    def __post_init__(self) -> None:
        object.__setattr__(self, "batches", frozen_ints(self.batches, "schedule: batches", (-1, 5)))
        object.__setattr__(self, "passes", frozen_ints(self.passes, "schedule: passes", (-1, 3)))

    def __len__(self) -> int:
        return len(self.batches)

    @property
    def makespan(self) -> int:
        """From the first submission to the last end [s]."""
        return int(self.batches[:, END].max()) - int(self.workload.submit[0])

    @property
    def job_start(self) -> IntArray:
        """When the first instance of each job started [s], shape ``(J,)``."""
        first = np.full(len(self.workload.job_ids), np.iinfo(np.int64).max)
        np.minimum.at(first, self.workload.job[self.batches[:, TASK]], self.batches[:, START])
        return first

    @property
    def job_end(self) -> IntArray:
        """When the last instance of each job ended [s], shape ``(J,)``."""
        last = np.zeros(len(self.workload.job_ids), np.int64)
        np.maximum.at(last, self.workload.job[self.batches[:, TASK]], self.batches[:, END])
        return last

    @property
    def completion(self) -> IntArray:
        """Job completion times: from submission to the end of the last instance [s], shape ``(J,)``."""
        return self.job_end - self.workload.submit

    def used(self) -> FloatArray:
        """What instances used of each resource, as shares of all machines x makespan, shape ``(R,)``."""
        rows = self.batches
        seconds = (rows[:, END] - rows[:, START]) * rows[:, COUNT].astype(np.float64)
        amount = seconds @ self.workload.demands[rows[:, TASK]].astype(np.float64)
        share: FloatArray = amount / (self.workload.machines.astype(np.float64).sum(axis=0) * self.makespan)
        return share

    def summary(self) -> dict[str, float]:
        """The figures of a replay by name: times in seconds, utilisation as a share of what there is.

        ``makespan``; mean, median and maximum of the job completion time, from submission to the end of the last
        instance; the mean time until a job's first instance starts; ``utilisation_`` and each resource.
        """
        completion, wait = self.completion, self.job_start - self.workload.submit
        utilisation = zip(self.workload.resources, self.used().tolist(), strict=True)
        return {
            "makespan": float(self.makespan),
            "mean_completion": float(completion.mean()),
            "median_completion": float(np.median(completion)),
            "max_completion": float(completion.max()),
            "mean_wait": float(wait.mean()),
            **{f"utilisation_{name}": share for name, share in utilisation},
        }

    def jobs_frame(self) -> pl.DataFrame:
        """A row per job: what ``jobs.parquet`` holds."""
        import polars as pl

        work = self.workload
        instances = np.bincount(work.job, work.instances, len(work.job_ids)).astype(np.int64)
        columns = {
            "job_id": work.job_ids,
            "submit": work.submit,
            "start": self.job_start,
            "end": self.job_end,
            "tasks": np.bincount(work.job, minlength=len(work.job_ids)),
            "instances": instances,
            "completion": self.completion,
        }
        return pl.DataFrame({name: pl.Series(name, column) for name, column in columns.items()})

    def batches_frame(self) -> pl.DataFrame:
        """A row per batch: what ``instances.parquet`` holds."""
        import polars as pl

        work, task = self.workload, self.batches[:, TASK]
        columns = {
            "job_id": work.job_ids[work.job[task]],
            "task_id": work.task_ids[task],
            "task": task,
            "machine": self.batches[:, MACHINE],
            "start": self.batches[:, START],
            "end": self.batches[:, END],
            "instances": self.batches[:, COUNT],
        }
        return pl.DataFrame({name: pl.Series(name, np.ascontiguousarray(column)) for name, column in columns.items()})

    def passes_frame(self) -> pl.DataFrame:
        """A row per pass: what ``decisions.parquet`` holds."""
        import polars as pl

        columns = {"time": TIME, "queued": QUEUED, "started": STARTED}
        return pl.DataFrame({name: np.ascontiguousarray(self.passes[:, column]) for name, column in columns.items()})
