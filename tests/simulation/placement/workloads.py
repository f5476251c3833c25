"""Small random workloads of tasks with many ties."""

from __future__ import annotations

from typing import Any

import numpy as np

from transom.traces.tasks import TaskWorkload


def small_workload(seed: int, **other: Any) -> TaskWorkload:
    """Up to four jobs of up to four tasks on up to three machines, which may differ."""
    rng = np.random.default_rng(seed)
    jobs, machines, resources = rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 4)
    job = np.repeat(np.arange(jobs), rng.integers(1, 5, jobs))
    capacities = rng.integers(4, 9, (machines, resources))
    whole = rng.random() < 0.5
    duration = rng.integers(1, 6, len(job)) if whole else rng.choice([1.0, 1.5, 2.0, 2.25, 0.5, 3.75], len(job))
    fields: dict[str, Any] = {
        "name": f"small {seed}",
        "resources": ["cpu", "memory", "disk"][:resources],
        "units": [1, 10, 4][:resources],
        "machines": capacities,
        "job_ids": rng.permutation(jobs) + 3,
        "submit": np.sort(rng.integers(0, 7, jobs)) if seed % 3 else np.zeros(jobs),
        "job": job,
        "task_ids": np.arange(len(job)),
        "instances": rng.integers(1, 7, len(job)),
        "demands": np.minimum(rng.integers(0, 6, (len(job), resources)), capacities[0]),
        "duration": duration,
    }
    return TaskWorkload(**{**fields, **other})
