"""Any agent as a policy: it decides in a replay as in the environment that it was trained in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs the extra 'learned'")

import gymnasium

from transom import simulate
from transom.errors import SpecError
from transom.generate import generate_lublin
from transom.learned import envs
from transom.models.arrays import BoolArray
from transom.simulation.core.events import START
from transom.traces import Workload


@pytest.fixture(scope="module")
def workload() -> Workload:
    return generate_lublin(150, 32, np.random.default_rng(5), load=1.3)


def any_place(seen: Any) -> int:
    """An action that depends on all that is seen, also one that is forbidden."""
    seen = np.concatenate([each.ravel() for each in seen.values()]) if isinstance(seen, dict) else seen
    return int(np.float64(seen).sum() * 1e6) % 20


def last_allowed(seen: Any, action_masks: BoolArray) -> np.intp:
    """The last action that there is."""
    return np.flatnonzero(action_masks)[-1]


@pytest.mark.parametrize("observation", ["paper", "compact"])
@pytest.mark.parametrize("masked", [False, True])
def test_a_replay_starts_what_the_environment_starts(workload: Workload, observation: str, masked: bool) -> None:
    env = gymnasium.make("transom/Scheduling-v0", workloads=[workload], observation=observation, window=20)
    seen, _ = env.reset(seed=0)
    masks = env.get_wrapper_attr("action_masks")
    ended, chosen = False, []
    while not ended:
        chosen.append(int(last_allowed(seen, masks()) if masked else any_place(seen)))
        seen, _, ended, _, _ = env.step(chosen[-1])
    again: list[int] = []

    def act(*given: Any) -> Any:
        again.append(int(last_allowed(*given) if masked else any_place(*given)))
        return again[-1]

    schedule = simulate(workload, envs.make_policy(act, env, masked, "mine"))
    episode = env.unwrapped._episode  # type: ignore[attr-defined]
    np.testing.assert_array_equal(schedule.start, episode.state.jobs[: len(workload), START])
    assert again == chosen
    assert len(set(chosen)) > 3


def test_what_is_no_agent_or_environment_is_refused(workload: Workload) -> None:
    env = gymnasium.make("transom/Scheduling-v0", workloads=[workload])
    with pytest.raises(SpecError, match="expected a function from observation to action, got 3"):
        envs.make_policy(3, env)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="Scheduling-v0 or transom/Window-v0, got CartPoleEnv"):
        envs.make_policy(any_place, gymnasium.make("CartPole-v1"))
