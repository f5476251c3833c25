"""A policy as the dispatcher of AccaSim 1.1.3: a scheduler, and the allocator that gives its jobs their nodes.

The policy counts cores: a job asks for its nodes times the cores on each. The allocator, by default the first nodes
with room, looks at all resources; a job that finds no room waits for the next decision.

AccaSim needs ``collections.Mapping``, which Python 3.10 removed, before this module is imported.

References
----------
Galleguillos et al., AccaSim: a customizable workload management simulator for job dispatching research in HPC
systems, Cluster Computing 2020.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from accasim.base.allocator_class import AllocatorBase, FirstFit
from accasim.base.scheduler_class import SchedulerBase

from transom.adapters.live import UNLIMITED, Live, Running
from transom.models import Job

_CORE = "core"
Placed = tuple[int | None, str, list[str]]
"""When a job starts, None for not now; its id; its nodes, one for each that it asks for."""


class Dispatcher(SchedulerBase):
    """A policy that decides in AccaSim.

    Parameters
    ----------
    policy : a specification, as for a replay.
    allocator : of AccaSim; by default its first fit.
    seed : >= 0, for policies that draw random numbers.
    options : further ones of AccaSim's schedulers, such as ``job_check``.

    Raises
    ------
    SpecError : there is no such policy.
    """

    name = "transom"

    def __init__(self, policy: str, allocator: AllocatorBase | None = None, seed: int = 0, **options: Any) -> None:
        super().__init__(seed, None, **options)
        Live(policy, 1)  # says at once if there is no such policy
        self._policy, self._own_seed = policy, seed
        self._allocator = allocator or FirstFit()
        self._live: Live | None = None
        self._jobs: dict[str, Job] = {}

    def get_id(self) -> str:
        """The name of policy and allocator."""
        return f"{self.name}-{self._policy}-{self._allocator.get_id()}"

    def scheduling_method(
        self, now: int, jobs: Sequence[Any], events: Mapping[str, Any]
    ) -> tuple[list[Placed], list[str]]:
        """What starts now, and where; AccaSim asks again at the latest when the policy wants to be asked."""
        manager = self.resource_manager
        if self._live is None:
            self._allocator.set_resource_manager(manager)
            self._live = Live(self._policy, int(manager.system_capacity("total")[_CORE]), self._own_seed)
        known = {event.id: self._job(event) for event in jobs}
        running = [
            Running(self._job(events[name]), int(events[name].start_time), self._job(events[name]).nodes)
            for name in manager.current_allocations
        ]
        available = manager.current_availability
        free = int(sum(node.get(_CORE, 0) for node in available.values()))
        by_number = {job.id: name for name, job in known.items()}
        chosen = [by_number[job] for job in self._live.decide(int(now), known.values(), running, free)]
        self._allocator.set_resources(available)
        placed: dict[str, list[str]] = {}
        for name in chosen:
            ((at, _, nodes),) = self._allocator.allocating_method([events[name]], now, skip=True)
            placed |= {name: nodes} if at is not None and nodes else {}
        for name in self._jobs.keys() - events.keys():
            del self._jobs[name]
        order = [*placed, *(name for name in known if name not in placed)]
        wake = self._live.wake
        return [(now if name in placed else wake, name, placed.get(name, [])) for name in order], []

    def _job(self, event: Any) -> Job:
        """What a scheduler knows of one of AccaSim's jobs: never its duration."""
        if event.id not in self._jobs:
            number = int(event.id) if event.id.isdecimal() and 0 < int(event.id) < 2**31 else 2**31 + len(self._jobs)
            cores = int(event.requested_nodes) * int(event.requested_resources.get(_CORE, 1))
            limit = getattr(event, "expected_duration", None)
            walltime = UNLIMITED if limit is None or limit <= 0 else math.ceil(limit)
            self._jobs[event.id] = Job(number, int(event.queued_time), cores, walltime)
        return self._jobs[event.id]
