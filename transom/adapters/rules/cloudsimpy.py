"""The event rules of CloudSimPy, for cross-checks with the DeepJS paper and its program.

The scheduler is asked once a second. The first tick sees an empty cluster, as it comes before the first submission. A
job with the submission of the one before it is seen a tick late, and so is one a second after a late one. What ends
between two ticks is free at the second one, what runs for exactly one second a tick after that. Capacities are doubles,
from which demands are taken and to which they are given back.

References
----------
Li and Hu, DeepJS: Job scheduling based on deep reinforcement learning in cloud data center, ICBDC 2019; its program
CloudSimPy, ``core/scheduler.py``, ``core/broker.py``, ``core/machine.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from transom.models.arrays import IntArray
from transom.simulation.placement.state import Arranged
from transom.traces.tasks.workload import TaskWorkload


@dataclass(frozen=True, slots=True)
class CloudSimPy:
    """A scheduler that is asked every second, and capacities in double precision."""

    name: ClassVar[str] = "cloudsimpy"
    stated: ClassVar[str] = name
    replayed: ClassVar[str] = name

    def arranged(self, workload: TaskWorkload) -> Arranged:
        """The workload as the program takes it."""
        units = np.array(workload.units, np.float64)
        return Arranged(
            demands=workload.demands / units,
            machines=workload.machines / units,
            visible=_first_ticks(workload.submit)[workload.job],
            duration=workload.duration,
            ticks=True,
        )


def _first_ticks(submit: IntArray) -> IntArray:
    """The tick that sees each job: that of its submission, or the next one."""
    late, seen = True, submit.copy()
    for job, gap in enumerate(np.diff(submit, prepend=submit[0]).tolist()):
        late = gap == 0 or (gap == 1 and late)
        seen[job] += late
    return seen
