"""Which workloads an agent is trained and compared on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast, get_args

import numpy as np

from transom._system.wording import digits
from transom.errors import SpecError
from transom.generate.workload.jobsets import JOBS, Phase, jobsets
from transom.learned.dras.training.split import Split
from transom.models import JobTable
from transom.rng import stream
from transom.traces import Workload

COPIES = 50
"""Copies of a trace before they repeat."""

JITTER = 60
"""By how much submissions are moved in each copy [s]."""


def scale_load(workload: Workload, load: float) -> Workload:
    """A copy whose times between submissions are divided by ``load``, > 0: so many times the work per second."""
    data = workload.jobs.data.copy()
    if len(data):
        data[:, 1] = data[0, 1] + np.rint((data[:, 1] - data[0, 1]) / load).astype(np.int64)
    return replace(workload, jobs=JobTable(data, workload.jobs.depends_on))


def repeat(workload: Workload, times: int) -> Workload:
    """A workload that follows on itself so many times; ids count from 1, dependencies hold within a lap.

    Whether an agent starves jobs shows on long traces alone: at the end of a trace everybody runs.
    """
    count = len(workload)
    if times == 1 or not count:
        return workload
    submit, ids = workload.jobs.submit, workload.jobs.id
    lap = int(submit[-1] - submit[0]) + max(1, round((submit[-1] - submit[0]) / count))
    data = np.concatenate([workload.jobs.data] * times)
    data[:, 0] = np.arange(1, len(data) + 1)
    data[:, 1] += np.repeat(np.arange(times) * lap, count)
    place = {int(job): number for number, job in enumerate(ids)}
    depends = {
        time * count + place[job] + 1: tuple(time * count + place[parent] + 1 for parent in parents)
        for time in range(times)
        for job, parents in workload.jobs.depends_on.items()
    }
    laps = np.tile(np.arange(count), times)
    return replace(
        workload, jobs=JobTable(data, depends), runtime=workload.runtime[laps], origin=workload.origin.take(laps)
    )


def copies(
    workload: Workload, loads: tuple[float, float], seed: int, times: int = 1, count: int = COPIES
) -> list[Workload]:
    """Copies of a trace in so many laps, jittered by :data:`JITTER` and squeezed by factors drawn from ``loads``."""
    made, whole = [], repeat(workload, times)
    for number in range(count):
        rng = stream(seed, "copy", number)
        made.append(scale_load(whole.jittered(JITTER, rng), rng.uniform(*loads)))
    return made


def compared(workload: Workload, loads: tuple[float, float], times: int = 1, count: int = 3) -> list[Workload]:
    """What snapshots are compared on: such copies squeezed by evenly spaced factors, the same for every seed."""
    whole = repeat(workload, times)
    return [
        scale_load(whole.jittered(JITTER, stream(0, "compared", number)), float(factor))
        for number, factor in enumerate(np.linspace(*loads, count))
    ]


def phased(workload: Workload, phases: str, seed: int, jobs: int | None = None) -> list[Workload]:
    """Jobsets phase by phase.

    Parameters
    ----------
    workload : the part of a trace that is there for training.
    phases : names with commas between, each perhaps with a number of jobsets: ``sampled,real,synthetic=20``.
    seed : of what is drawn.
    jobs : of each sampled or synthetic jobset.

    Raises
    ------
    SpecError : a phase is unknown, or a number is not a positive integer.

    References
    ----------
    Fan et al. (2021), section III-C.
    """
    made: list[Workload] = []
    for number, part in enumerate(phases.split(",")):
        name, _, count = part.strip().partition("=")
        if name not in get_args(Phase):
            raise SpecError(f"unknown phase {name!r}. Known: {', '.join(get_args(Phase))}")
        if count and not (digits(count) and int(count)):
            raise SpecError(f"phase {name}: expected a number of jobsets > 0, got {count!r}")
        rng = stream(seed, "phase", name, number)
        made += jobsets(workload, cast(Phase, name), rng, int(count) if count else None, jobs or JOBS)
    return made


def how_copied(times: int, loads: str) -> str:
    """What a card says of copies of a trace."""
    return f"jittered copies in {times} laps, squeezed by {loads}"


def validated_on(parts: Split, how: str, workloads: Sequence[Workload]) -> str:
    """What a card says of the validation: which part of the trace, how it was copied, and what was trained on, too."""
    return (
        f"{parts.validation.name}: {how}, {lengths(workloads)}; trained on as well: {parts.shared or 'nothing of it'}"
    )


def lengths(workloads: Sequence[Workload]) -> str:
    """What a card says of workloads."""
    jobs = [len(workload) for workload in workloads]
    span = f"{min(jobs):,}" if min(jobs) == max(jobs) else f"{min(jobs):,} to {max(jobs):,}"
    return f"{len(jobs)} episodes of {span} jobs"
