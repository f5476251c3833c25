"""A metric, and event rules under which jobs run one after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom.simulation.core.schedule import READY
from transom.simulation.event_rules import Outcome

HOUR = 3600


class LateShare:
    """The share of the jobs that wait for more than an hour."""

    unit = ""
    better = "lower"
    description = "share of the jobs that wait for more than an hour"

    def __call__(self, schedule: Any, kept: Any, /) -> float:
        waits = schedule.wait[kept]
        return float((waits > HOUR).mean()) if len(waits) else float("nan")


@dataclass(frozen=True)
class OneByOne:
    """A machine that runs a single job at a time, in the order of submissions."""

    name: ClassVar[str] = "one-by-one"
    stated: ClassVar[str] = "one-by-one"
    replayed: ClassVar[str] = "one-by-one"

    def replay(self, workload: Any, policy: Any, report: Any) -> Outcome:
        """Start each job when the one before has ended; ``policy`` orders nothing here."""
        start = np.zeros(len(workload), np.int64)
        free = 0
        for job, submit in enumerate(workload.jobs.submit.tolist()):
            start[job] = max(free, submit)
            free = start[job] + workload.runtime[job]
        everybody = np.arange(len(workload))
        log = np.zeros((7, len(workload)), np.int64)
        log[0], log[1], log[3], log[5], log[6] = start, 1, 1, -1, -1
        return Outcome(start, np.full(len(workload), READY), everybody, log)
