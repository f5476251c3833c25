"""A workload of tasks: jobs of tasks of identical instances, and the machines they are placed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from transom.errors import ModelError
from transom.models.arrays import FloatArray, Frozen, IntArray, Like, Several, frozen_floats, frozen_ints, model, whole

_SAME: Any = None  # stands for an array that follows from another one


@model
class TaskWorkload(Frozen):
    """Jobs by submission, each with its tasks; every instance of a task asks for the same and runs as long.

    Parameters
    ----------
    name : what to call it in tables and figures.
    resources : names of the R resources.
    units : in how many units 1 of each resource is counted, > 0, length R.
    machines : capacities in units, > 0, shape ``(M, R)``.
    job_ids : names of the jobs, distinct, shape ``(J,)``.
    submit : submissions [s], ascending, shape ``(J,)``.
    job : the job of each task as a position, ascending, shape ``(T,)``; each job has a task.
    task_ids : names of the tasks, distinct within a job, shape ``(T,)``.
    instances : of each task, > 0, shape ``(T,)``.
    demands : of one instance in units, >= 0, shape ``(T, R)``.
    duration : of one instance [s], > 0, shape ``(T,)``.
    estimate : what schedulers know of the duration [s], > 0, shape ``(T,)``; by default the truth.
    repairs : what the reader left out: reason -> number of tasks.

    Raises
    ------
    ModelError : shapes differ, a number is out of range, or an instance fits on no machine.
    """

    name: str
    resources: Several[str]
    units: Several[int]
    machines: Like[IntArray]
    job_ids: Like[IntArray]
    submit: Like[IntArray]
    job: Like[IntArray]
    task_ids: Like[IntArray]
    instances: Like[IntArray]
    demands: Like[IntArray]
    duration: Like[FloatArray]
    estimate: Like[FloatArray] = _SAME
    repairs: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        resources, scales = tuple(self.resources), tuple(whole(each, "tasks: units") for each in self.units)
        if not resources or len(scales) != len(resources) or min(scales) <= 0:
            raise ModelError(f"tasks: expected units > 0 for each of {len(resources)} resources, got {scales}")
        jobs, tasks = (len(np.atleast_1d(self.job_ids)),), (len(np.atleast_1d(self.job)),)
        shapes = {
            "machines": (-1, len(resources)), "job_ids": jobs, "submit": jobs, "job": tasks, "task_ids": tasks,
            "instances": tasks, "demands": (*tasks, len(resources)),
        }  # fmt: skip
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen_ints(getattr(self, name), f"tasks: {name}", shape))
        object.__setattr__(self, "duration", frozen_floats(self.duration, "tasks: duration", tasks))
        stated = self.duration if self.estimate is None else self.estimate
        object.__setattr__(self, "estimate", frozen_floats(stated, "tasks: estimate", tasks))
        object.__setattr__(self, "resources", resources)
        object.__setattr__(self, "units", scales)
        object.__setattr__(self, "repairs", MappingProxyType(dict(self.repairs)))
        self._check()

    def _check(self) -> None:
        if not len(self.machines) or not len(self):
            raise ModelError(f"tasks: {self.name}: there must be a machine and a task")
        if self.machines.min() <= 0 or self.machines.max() >= 2**62:
            raise ModelError("tasks: machines: capacities must be > 0 and < 2**62")
        if len(np.unique(self.job_ids)) < len(self.job_ids):
            raise ModelError("tasks: job_ids: a job is named twice")
        if (np.diff(self.submit) < 0).any() or self.submit[0] < 0 or self.submit[-1] >= 2**50:
            raise ModelError("tasks: submit must be >= 0 s, < 2**50 s and ascend")
        if (np.diff(self.job, prepend=-1, append=len(self.job_ids)) > 1).any() or (np.diff(self.job) < 0).any():
            raise ModelError("tasks: job must ascend from 0, and every job have a task")
        for name, good, says in (
            ("instances", (self.instances > 0) & (self.instances < 2**31), "> 0 and < 2**31"),
            ("duration", (self.duration > 0) & (self.duration < 2**40), "> 0 s and < 2**40 s"),
            ("estimate", (self.estimate > 0) & (self.estimate < 2**40), "> 0 s and < 2**40 s"),
        ):
            if not good.all():
                task = int(good.argmin())
                raise ModelError(f"{self.name_of(task)}: {name} must be {says}, got {getattr(self, name)[task]}")
        kinds = np.unique(self.machines, axis=0)
        fits = np.all(self.demands[:, None, :] <= kinds, axis=2)
        unfit = ~np.any(fits, axis=1) | np.any(self.demands < 0, axis=1)
        if unfit.any():
            task = int(unfit.argmax())
            asked = ", ".join(f"{value:g} {name}" for name, value in zip(self.resources, self.asked(task), strict=True))
            raise ModelError(f"{self.name_of(task)}: an instance fits on no machine: it needs {asked}")

    def __len__(self) -> int:
        return len(self.job)

    def name_of(self, task: int) -> str:
        """How messages call a task."""
        return f"job {self.job_ids[self.job[task]]} task {self.task_ids[task]}"

    def asked(self, task: int) -> list[float]:
        """What an instance of a task needs of each resource, in the file's units."""
        return [int(amount) / scale for amount, scale in zip(self.demands[task], self.units, strict=True)]

    def take(self, first: int, number: int) -> TaskWorkload:
        """Jobs ``first`` to ``first + number - 1``, or as many as there are, submitted from second 0 on.

        Raises
        ------
        ModelError : there is no such job.
        """
        if not 0 <= first < len(self.job_ids) or number < 1:
            raise ModelError(f"tasks: {number} jobs from {first} on: there are {len(self.job_ids)}")
        jobs = slice(first, first + number)
        tasks = slice(*np.searchsorted(self.job, [first, first + number]).tolist())
        submit = self.submit[jobs]
        return replace(
            self,
            job_ids=self.job_ids[jobs],
            submit=submit - submit[0],
            job=self.job[tasks] - first,
            task_ids=self.task_ids[tasks],
            instances=self.instances[tasks],
            demands=self.demands[tasks],
            duration=self.duration[tasks],
            estimate=self.estimate[tasks],
        )

    def chunks(self, jobs: int) -> Iterator[TaskWorkload]:
        """One workload after another of so many consecutive jobs each; the last may have fewer."""
        for first in range(0, len(self.job_ids), jobs):
            yield self.take(first, jobs)
