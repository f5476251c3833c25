"""A policy in RAPS, the scheduler and simulator of ExaDigiT: the body of a scheduler module of its in-tree form.

``transom adapters raps --policy SPEC --out raps/schedulers/transom.py`` writes the module, whose ``Scheduler`` is
:class:`Decides` above RAPS's own. RAPS asks when jobs are submitted or end, and has no timers: a policy that works in
cycles, or whose promise comes due in between, is heard at the next of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from transom.adapters.live import UNLIMITED, Live, Running
from transom.models import Job

MODULE = '''"""Scheduler of RAPS in which a policy of Transom decides; made by `transom adapters raps`."""

from transom.adapters.raps import Decides

from .default import Scheduler as Default


class Scheduler(Decides, Default):
    spec = {policy!r}
    seed = {seed}
'''
"""The module, to be filled in."""


class Decides:
    """What stands above RAPS's own scheduler, and decides in its place; jobs that ran before the begin are left to it.

    ``spec`` is the policy, a specification as for a replay, ``seed`` is for policies that draw random numbers.

    Raises
    ------
    SpecError : there is no such policy.
    """

    spec = "fcfs-easy"
    seed = 0
    resource_manager: Any
    policy: Any
    place_job_and_manage_queues: Callable[..., None]

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._live = Live(self.spec, int(self.resource_manager.total_nodes), self.seed)
        self._jobs: dict[Any, Job] = {}

    def schedule(
        self, queue: list[Any], running: list[Any], current_time: float, accounts: Any = None, sorted: bool = False
    ) -> None:
        """Start the jobs that the policy starts; they leave the queue."""
        if self.policy.value == "replay":  # places what ran before
            super().schedule(queue, running, current_time, accounts=accounts, sorted=sorted)  # type: ignore[misc]
            return
        waiting = {self._job(job).id: job for job in queue}
        away = set(self.resource_manager.down_nodes)
        active = [
            Running(self._job(job), math.floor(job.start_time), sum(node not in away for node in job.scheduled_nodes))
            for job in running
        ]
        free = len(self.resource_manager.available_nodes)
        asked = [self._job(job) for job in queue]
        for number in self._live.decide(math.floor(current_time), asked, active, free):
            job = waiting[number]
            job.scheduled_nodes = []  # those of the log do not count
            self.place_job_and_manage_queues(job, queue, running, current_time)

    def _job(self, job: Any) -> Job:
        """What a scheduler knows of one of RAPS's jobs: its time limit, never its expected runtime."""
        if job.id not in self._jobs:
            number = job.id if isinstance(job.id, int) and 0 < job.id < 2**31 else 2**31 + len(self._jobs)
            walltime = math.ceil(job.time_limit) if job.time_limit and job.time_limit > 0 else UNLIMITED
            self._jobs[job.id] = Job(number, math.floor(job.submit_time), int(job.nodes_required), walltime)
        return self._jobs[job.id]
