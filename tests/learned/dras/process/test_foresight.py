"""Nothing that decides may depend on what lies ahead: runtimes that have not ended, and submissions still to come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.learned.dras.checkpoint_cases import compact, drawn, paper
from tests.simulation.workloads import workloads
from transom.learned.dras.agent.policies import LearnedPolicy
from transom.learned.dras.process.paper_scorer import PaperShape
from transom.learned.dras.process.process import AgentConfig
from transom.models import JobTable
from transom.simulation import simulate
from transom.simulation.core.schedule import Schedule
from transom.traces import Workload

SCHEME = AgentConfig(longest=20, head=0)


def window_by_window() -> LearnedPolicy:
    """The compact network on windows, one choice after another."""
    policy = LearnedPolicy(compact(drawn(4), SCHEME, 8), -1.0)
    policy.run = None
    return policy


def learning() -> LearnedPolicy:
    """Updates after every third instant, by a reward that in training is made of runtimes."""
    pytest.importorskip("torch", reason="needs the extra learned")
    from transom.learned.dras.agent.adaptation import Adaptation

    stated = {"agent": "pg:standardise=yes", "reward": "slowdown", **SCHEME._asdict()}
    checkpoint = compact(drawn(4), SCHEME, 8, settings=stated)
    return LearnedPolicy(checkpoint, adaptation=Adaptation(checkpoint, 3, 0.3))


MAKERS: dict[str, Callable[[], LearnedPolicy]] = {
    "compact": lambda: LearnedPolicy(compact(drawn(4), SCHEME, 8), -1.0),
    "window by window": window_by_window,
    "one level": lambda: LearnedPolicy(compact(drawn(4), SCHEME._replace(levels=1), 8)),
    "re-selected": lambda: LearnedPolicy(compact(drawn(4), SCHEME._replace(keep=0), 8)),
    "table III": lambda: LearnedPolicy(paper(PaperShape("pg", 8, 4, 6, 5), SCHEME._replace(window=4))),
    "learning": learning,
}


def other_future(workload: Workload, made: Schedule, now: int, seed: int) -> Workload:
    """The same up to ``now``: what runs or waits then has another runtime, and other jobs are submitted afterwards."""
    rng = np.random.default_rng(seed)
    ahead = made.end > now
    started = ahead & (made.start <= now)
    runtime = workload.runtime.copy()
    runtime[ahead] = rng.integers(1, 25, int(ahead.sum()))
    runtime[started] += now - made.start[started]
    data = workload.jobs.data.copy()
    later = data[:, 1] > now
    data[later, 1] += rng.integers(0, 9, int(later.sum()))
    data[later, 2:4] = rng.integers(1, 9, (int(later.sum()), 2))
    order = np.lexsort((data[:, 0], data[:, 1]))
    return Workload("other", workload.cluster, JobTable(data[order]), runtime[order])


@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=40)
@given(workloads(max_jobs=16, overrun=True), st.integers(0, 2**32), st.integers(0, 40))
def test_another_future_changes_nothing_before(kind: str, workload: Workload, seed: int, now: int) -> None:
    policy = MAKERS[kind]()
    made = simulate(workload, policy, seed=1)
    other = simulate(other_future(workload, made, now, seed), policy, seed=1)
    known = int((made.decisions["time"] <= now).sum())
    assert known == (other.decisions["time"] <= now).sum()
    for name, column in made.decisions.items():
        assert (column[:known] == other.decisions[name][:known]).all(), name
    ids = [dict(zip(each.jobs.id.tolist(), each.start.tolist(), strict=True)) for each in (made, other)]
    assert {job: at for job, at in ids[0].items() if at <= now} == {job: at for job, at in ids[1].items() if at <= now}
