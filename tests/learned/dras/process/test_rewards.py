"""Rewards decision by decision against a replay over lists of jobs that shares nothing with the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.learned.dras.policies import Plain
from tests.learned.dras.scorers import prefers
from tests.simulation.workloads import workloads
from transom.learned.dras.process.episodes import Episodes
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.training.collect import collect
from transom.models import Job, Window
from transom.simulation import simulate
from transom.traces import Workload

HOUR = 3600

schemes = st.builds(
    AgentConfig, st.sampled_from((1, 2)), st.sampled_from((2, 50)), st.integers(0, 1), st.integers(0, 1), st.just(60)
)


class Rewarded(Plain):
    """The shortest job first; notes when there was a choice, and what the paper pays for every selection."""

    def __init__(self, scheme: AgentConfig, reward: str) -> None:
        super().__init__(scheme, lambda job: job.walltime)
        self.reward = reward
        self.times: list[int] = []  # of choices among several candidates
        self.paid: list[float] = [0.0]  # before the first of them, and after each

    def choosing(self, window: Window, candidates: list[Job]) -> None:
        if len(candidates) > 1:
            self.times.append(window.now)
            self.paid.append(0.0)

    def chosen(self, window: Window, job: Job, waiting: list[Job], free: Any) -> None:
        now = window.now
        if self.reward == "capability":  # eq. 1, weights of a third
            nodes, longest = window.cluster.num_nodes, max(now - each.submit for each in (job, *waiting))
            waited = (now - job.submit) / longest if longest else 0.0
            self.paid[-1] += (waited + job.nodes / nodes + (nodes - int(free[0])) / nodes) / 3
        elif waiting and self.reward == "capacity":  # eq. 2, t in hours
            self.paid[-1] += sum(-HOUR / each.walltime for each in waiting) / len(waiting)
        elif waiting and self.reward == "capacity:of=wait":
            self.paid[-1] += sum(-(now - each.submit) / HOUR for each in waiting) / len(waiting)


def rewards(workload: Workload, scheme: AgentConfig, reward: str) -> list[float]:
    """From each choice to the next one, second by second."""
    policy = Rewarded(scheme, reward)
    schedule = simulate(workload, policy)
    begin, end = 0, int(schedule.start.max())
    seconds = []  # what each second of waiting is worth
    for now in range(begin, end):
        total = 0.0
        for submit, start, runtime in zip(workload.jobs.submit, schedule.start, workload.runtime, strict=True):
            if submit <= now < start:
                w = now - submit
                grown = 1 + 0.5 * ((w + 1) ** 3 - w**3) / 3 / 9**2  # 1 + 0.5 (w / 9)^2 over this second
                cost = {"waiting": 1 / HOUR, "slowdown": 1 / max(runtime, 10)}
                total -= cost.get(reward, grown / HOUR if reward.startswith("waiting:") else 0.0)
        seconds.append(total)
    made = list(policy.paid[1:])
    if made:
        made[0] += policy.paid[0]
        limits = [begin, *policy.times[1:], end]
        for k in range(len(made)):
            made[k] += sum(seconds[limits[k] : limits[k + 1]])
    return made


@pytest.mark.parametrize(
    "reward",
    ["waiting", "waiting:growth=0.5,tau=9,power=2", "slowdown", "capability", "capacity", "capacity:of=wait"],
)
@given(st.one_of(workloads(), workloads(resources=1, overrun=True)), schemes)
def test_every_decision_is_paid_as_a_plain_replay_pays_it(reward: str, workload: Workload, scheme: AgentConfig) -> None:
    wanted = rewards(workload, scheme, reward)
    if not wanted:
        return
    scorer, rng = prefers("log-walltime", -1), np.random.default_rng(0)
    batch = collect(Episodes([workload]), scheme, scorer, len(wanted), rng, 0.0, reward)
    assert batch.reward == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert batch.done.tolist() == [False] * (len(wanted) - 1) + [True]
