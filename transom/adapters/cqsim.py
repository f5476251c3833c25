"""A policy in CQSim, in place of its window, its backfilling and its sorting algorithm.

In ``cqsim_main.py``, one line before ``module_sim.cqsim_sim()`` puts it there::

    use_policy(module_sim, "fcfs-easy")

CQSim decides after every single event. The policy is asked once all events of an instant are in, and of each job it
sees ``reqTime``, never ``run``. Whoever wants to be asked without an event gets one from a timer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from transom.adapters.live import UNLIMITED, Live, Running
from transom.models import Job

_EVERY = 10**9  # jobs of a window
_NOBODY = -2
"""Stands behind the jobs that start, for one that does not fit: there CQSim stops."""


class PolicyModule:
    """What CQSim asks for scores, for a window and for jobs to backfill.

    Parameters
    ----------
    simulator : its ``Cqsim_sim``.
    policy : a specification, as for a replay.
    seed : >= 0, for policies that draw random numbers.

    Raises
    ------
    SpecError : there is no such policy.
    """

    def __init__(self, simulator: Any, policy: str, seed: int = 0) -> None:
        self.myInfo = f"Transom {policy}"
        self._simulator = simulator
        self._live = Live(policy, int(simulator.module["node"].get_tot()), seed)
        self._jobs: dict[int, Job] = {}
        self._timers: set[int] = set()

    def get_score(self, wait_job: Sequence[Any], currentTime: float, para_list: Any = None) -> list[int]:
        """Equal scores: the policy orders the queue itself."""
        return [0] * len(wait_job)

    def start_window(self, wait_job: Sequence[Mapping[str, Any]], para_in: Mapping[str, Any]) -> list[int]:
        """The jobs that start now, in order, and behind them one that fits nowhere if others are left."""
        chosen = [] if self._more_happens(para_in["time"]) else self._chosen(round(para_in["time"]))
        if len(chosen) < len(wait_job):
            self._trace.job_info()[_NOBODY] = {"reqProc": math.inf, "run": 0, "score": 0}
            chosen.append(_NOBODY)
        return chosen

    def backfill(self, wait_job: Sequence[Any], para_in: Any = None) -> list[int]:
        """Nobody more: all that start are in the window."""
        self._trace.job_info().pop(_NOBODY, None)
        return []

    def window_size(self) -> int:
        """The whole queue is the window."""
        return _EVERY

    check_size = start_num = window_size

    def window_adapt(self, para_in: Any = None) -> int:
        """Nothing is adapted."""
        return 0

    alg_adapt = log_analysis = reset = window_adapt

    @property
    def _trace(self) -> Any:
        return self._simulator.module["job"]

    def _more_happens(self, now: float) -> bool:
        """Whether another job ends or is submitted at this instant."""
        coming = self._simulator.event_seq[1:]
        return any(event["type"] == 1 and event["time"] == now and event["para"][0] in (1, 2) for event in coming)

    def _chosen(self, now: int) -> list[int]:
        trace = self._trace
        queue = {self._job(index).id: index for index in trace.wait_list()}
        running = [
            Running(self._job(index), round(trace.job_info(index)["start"]), self._job(index).nodes)
            for index in trace.run_list()
        ]
        free = int(self._simulator.module["node"].get_avail())
        chosen = self._live.decide(now, (self._jobs[index] for index in queue.values()), running, free)
        self._jobs = {index: self._jobs[index] for index in (*trace.wait_list(), *trace.run_list())}
        wake = self._live.wake
        if wake is not None and wake not in self._timers:
            self._timers = {time for time in self._timers if time > now} | {wake}
            self._simulator.insert_event(1, wake, 3, [3, None])
        return [queue[job] for job in chosen]

    def _job(self, index: int) -> Job:
        if index not in self._jobs:
            stated = self._trace.job_info(index)
            walltime = math.ceil(stated["reqTime"]) if stated["reqTime"] > 0 else UNLIMITED
            number = stated["id"] if stated["id"] > 0 else index + 1
            self._jobs[index] = Job(number, round(stated["submit"]), int(stated["reqProc"]), walltime)
        return self._jobs[index]


def use_policy(simulator: Any, policy: str, seed: int = 0) -> None:
    """Let a policy decide in a ``Cqsim_sim`` that has not begun.

    Raises
    ------
    SpecError : there is no such policy.
    """
    module = PolicyModule(simulator, policy, seed)
    simulator.module |= {"win": module, "backfill": module, "alg": module}
