"""What is known of a machine and its jobs: the past, who runs and who waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from transom.forecast.pools import Pools, new_pools
from transom.heuristics.priority_rules import PriorityRule
from transom.models import Cluster, JobTable
from transom.models.arrays import IntArray
from transom.simulation.core.decision import Backfilling
from transom.simulation.core.due_times import backlogs_of, due_in


@dataclass(frozen=True)
class Known:
    """Jobs by (submission, id) with their starts and ends; a question reads of them what has happened by its instant.

    Parameters
    ----------
    cluster : the machine.
    jobs : the jobs.
    start, end : of each [s], shape ``(jobs,)``; what lies after the instant of a question is not read.
    name : number of the application of each job, -1 where unknown, shape ``(jobs,)``.
    rule, backfilling, depth : of the policy.
    origin : when the clock of the rule began [s].
    """

    cluster: Cluster
    jobs: JobTable
    start: IntArray
    end: IntArray
    name: IntArray
    rule: PriorityRule
    backfilling: Backfilling
    depth: int | None
    origin: int
    submit: IntArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "submit", np.ascontiguousarray(self.jobs.submit))

    @cached_property
    def due(self) -> IntArray | None:
        """When each job is due by what was there when it came [s], shape ``(jobs,)``, for rules that go by it."""
        backlogs = backlogs_of(self.rule)
        return None if backlogs is None else due_in(backlogs, self.jobs, self.start, self.end, self.cluster.num_nodes)

    @cached_property
    def pools(self) -> Pools:
        """Which jobs are alike."""
        return new_pools(self.jobs, self.name, self.end - self.start)
