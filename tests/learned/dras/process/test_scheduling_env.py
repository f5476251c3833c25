from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.learned.dras.training.test_collect import crowded
from transom.errors import ModelError, SpecError
from transom.learned.dras.process.paper_state import paper_state
from transom.learned.dras.process.process import AgentConfig, begin, candidates_of
from transom.learned.dras.process.state_from_window import state_from_window
from transom.models import Cluster, Job, JobTable, Window
from transom.simulation import Decision, simulate
from transom.traces import Workload

pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env

from transom.learned.dras.process.scheduling_env import SchedulingEnv, WindowEnv
from transom.learned.dras.process.vector_env import SchedulingVectorEnv

SCHEME = AgentConfig(window=5, longest=36_000)


def windows(workload: Workload) -> list[Window]:
    """What EASY backfilling's replay of a workload looks like at each instant."""
    seen: list[Window] = []

    class Watching:
        def decide(self, window: Window, /) -> Decision:
            seen.append(window)
            free, start = window.free_nodes, []
            for job in window.queue:
                if job.nodes > free:
                    break
                free -= job.nodes
                start.append(job.id)
            return Decision(tuple(start))

    simulate(workload, Watching())
    return seen


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("observation", ["paper", "compact"])
def test_gymnasium_is_content(observation: Any) -> None:
    check_env(
        SchedulingEnv([crowded(), crowded(2)], SCHEME, observation=observation, shuffled=True), skip_render_check=True
    )
    check_env(WindowEnv(windows(crowded()), SCHEME, observation=observation), skip_render_check=True)


@pytest.mark.parametrize("observation", ["paper", "compact"])
@pytest.mark.parametrize("reward", ["waiting", "capability"])
def test_all_lanes_are_what_each_is_alone(observation: Any, reward: str) -> None:
    workloads = [crowded(1, 60), crowded(2, 40), crowded(3, 50)]
    alone = [SchedulingEnv([workload], SCHEME, reward, observation) for workload in workloads]
    together = SchedulingVectorEnv(workloads, SCHEME, reward, observation)
    seen, _ = together.reset()
    singles = [env.reset(seed=0)[0] for env in alone]
    rng = np.random.default_rng(0)
    ended_at_all = np.zeros(3, bool)
    for _ in range(120):
        assert (together.action_masks() == [env.action_masks() for env in alone]).all()
        for lane, single in enumerate(singles):
            if observation == "paper":
                assert (seen[lane] == single).all()
            else:
                assert all((seen[name][lane] == single[name]).all() for name in single)
        actions = rng.integers(0, 5, 3)
        seen, rewards, ended, cut, _ = together.step(actions)
        for lane, env in enumerate(alone):
            singles[lane], reward_alone, over, _, _ = env.step(actions[lane])
            assert (reward_alone, over) == (rewards[lane], ended[lane])
            if over:
                singles[lane], _ = env.reset(seed=0)
        assert not cut.any()
        ended_at_all |= ended
    assert ended_at_all.all()
    assert together.single_observation_space.contains(singles[0])


def test_the_sum_of_rewards_is_minus_the_waiting_time() -> None:
    env = SchedulingEnv([crowded()], SCHEME, "waiting", "compact")
    env.reset(seed=0)
    total, ended = 0.0, False
    rng = np.random.default_rng(0)
    while not ended:
        _, reward, ended, _, info = env.step(rng.integers(env.action_masks().sum()))
        total += reward
        assert info["level"] in (1, 2)
    assert env._episode is not None
    started = env._episode.state.jobs[:, 3]
    assert total == pytest.approx(-(started - crowded().jobs.submit).sum() / 3600)
    assert not env.action_masks().any()
    with pytest.raises(SpecError, match="has ended"):
        env.step(0)


def test_the_state_of_the_paper() -> None:
    # 6 nodes: 1 idle, 2 until 130 s, 3 of a job that outran its walltime. Jobs of 2 and 1 nodes wait since 40 s, 90 s.
    cluster = Cluster(6)
    queue = JobTable.of(
        [Job(id=1, submit=40, nodes=2, walltime=50, priority=7), Job(id=2, submit=90, nodes=1, walltime=200)]
    )
    running = JobTable.of([Job(id=3, submit=0, nodes=3, walltime=100), Job(id=4, submit=0, nodes=2, walltime=130)])
    window = Window(100, cluster, queue, running, np.array([101, 130]), np.array([1]))
    scheme = AgentConfig(window=3, longest=100)
    state, decision_state = state_from_window(window, scheme)
    begin(state, decision_state, scheme)
    assert candidates_of(state, decision_state, scheme) == 2
    made = np.full((2 * 3 + 6, 2), np.nan, np.float32)
    paper_state(state, decision_state, scheme, 6, made)
    of_jobs = [[2 / 6, 0.5], [1, 0.6], [1 / 6, 2], [0, 0.1]]
    of_nodes = [[1, 0]] + 3 * [[0, 0.01]] + 2 * [[0, 0.3]]
    assert made == pytest.approx(np.array([*of_jobs, [0, 0], [0, 0], *of_nodes]))


def test_what_environments_refuse() -> None:
    with pytest.raises(SpecError, match="no time passes"):
        WindowEnv(windows(crowded()), SCHEME, "waiting")
    with pytest.raises(ModelError, match="in none of them"):
        WindowEnv(windows(crowded())[:1], SCHEME)
    with pytest.raises(SpecError, match="unknown observation"):
        SchedulingEnv([crowded()], SCHEME, observation="all")
    for scheme in (AgentConfig(window=1001), AgentConfig(window=10**12)):  # refused before room is made for it
        with pytest.raises(SpecError, match=f"scheme: window must be from 1 to 1000, got {scheme.window}"):
            SchedulingEnv([crowded()], scheme)
        with pytest.raises(SpecError, match="scheme: window"):
            WindowEnv(windows(crowded()), scheme)
    with pytest.raises(ModelError, match="in none of the workloads"):
        SchedulingEnv([crowded().take([0])], SCHEME).reset()
    with pytest.raises(SpecError, match="is reset before"):
        SchedulingEnv([crowded()], SCHEME).step(0)
    with pytest.raises(ModelError, match="all of one machine"):
        SchedulingVectorEnv([])
    with pytest.raises(ModelError, match="in one of the workloads"):
        SchedulingVectorEnv([crowded(), crowded().take([0])], SCHEME)
