"""The environments by their ids in Gymnasium."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs the extra 'learned'")

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from transom.errors import SpecError
from transom.generate import by_months, generate_lublin
from transom.learned import envs
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.process.scheduling_env import SchedulingEnv
from transom.learned.dras.process.vector_env import SchedulingVectorEnv
from transom.learned.repair.repair_env import RepairEnv
from transom.learned.repair.task import RepairTask
from transom.traces import Workload, read_swf, write_swf

SCHEDULING, WINDOW, REPAIR = envs.IDS


@pytest.fixture(scope="module")
def workload() -> Workload:
    return generate_lublin(80, 32, np.random.default_rng(1), load=1.3)


@pytest.fixture(scope="module")
def trace(workload: Workload, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "small.swf.gz"
    write_swf(workload, path)
    return path


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        (SCHEDULING, {}),
        (SCHEDULING, {"observation": "compact", "jobs": 60, "window": 8, "keep": 0, "reward": "capacity"}),
        (WINDOW, {}),
        (WINDOW, {"observation": "compact", "jobs": 200, "every": 600, "policy": "sjf-easy", "levels": 1}),
        (REPAIR, {}),
        (REPAIR, {"cluster": "paper", "rows": 4, "acceptance": "walk"}),
    ],
)
def test_gymnasium_is_content(name: str, options: dict[str, Any]) -> None:
    env = gymnasium.make(name, **options)
    assert env.spec is not None
    assert env.spec.id == name
    check_env(env.unwrapped)
    # Through the wrappers that make puts around it, among them the checker of single steps.
    env.reset(seed=0)
    for _ in range(50):
        mask = env.get_wrapper_attr("action_masks")()
        _, _, ended, cut, _ = env.step(int(np.flatnonzero(mask)[0]))
        if ended or cut:
            env.reset()
    # What it was made of can be stored as text, and makes the same environment.
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    one, other = env.reset(seed=3)[0], again.reset(seed=3)[0]
    assert gymnasium.utils.env_checker.data_equivalence(one, other)


def test_they_are_the_environments_of_the_package(workload: Workload, trace: Path) -> None:
    longest = int(workload.jobs.walltime.max())
    made = gymnasium.make(SCHEDULING, trace=str(trace), window=7, head=0).unwrapped
    alone = SchedulingEnv([read_swf(trace)], AgentConfig(window=7, head=0, longest=longest))
    assert isinstance(made, SchedulingEnv)
    assert made.scheme == alone.scheme
    assert played(made) == played(alone)
    same = gymnasium.make(SCHEDULING, workloads=[workload], window=7, head=0, longest=longest).unwrapped
    assert played(same) == played(alone)
    month = gymnasium.make(SCHEDULING, trace=str(trace), months=(1, 1)).unwrapped
    assert [len(each) for each in month.episodes.workloads] == [len(by_months(read_swf(trace), 1, 1))]
    repair = gymnasium.make(REPAIR, rows=4).unwrapped
    assert isinstance(repair, RepairEnv)
    assert repair.task == RepairTask(rows=4)
    assert gymnasium.make(REPAIR, pool=repair.pool).unwrapped.pool.digest() == repair.pool.digest()


def played(env: Any) -> list[float]:
    """The rewards of an episode in which the first candidate is taken."""
    env.reset(seed=0)
    rewards, ended = [], False
    while not ended:
        _, reward, ended, _, _ = env.step(0)
        rewards.append(reward)
    return rewards


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync"])
def test_many_at_once(mode: str, trace: Path) -> None:
    together = gymnasium.make_vec(SCHEDULING, num_envs=3, vectorization_mode=mode, jobs=60, window=6)
    seen, _ = together.reset(seed=0)
    assert seen.shape == (3, 2 * 6 + 64, 2)
    assert together.step(np.zeros(3, np.int64))[1].shape == (3,)
    if mode == "vector_entry_point":
        assert isinstance(together, SchedulingVectorEnv)
        single = gymnasium.make(SCHEDULING, jobs=60, window=6, workload_seed=2, longest=together.scheme.longest)
        together.reset()
        rewards = played(single.unwrapped)[:5]
        assert [float(together.step(np.zeros(3, np.int64))[1][2]) for _ in rewards] == rewards
        copies = envs.scheduling_vector(2, trace=trace)
        assert copies.num_envs == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: envs.scheduling(trace="x.swf", workloads=[]), "workloads: they do not go with trace"),
        (lambda: envs.scheduling(months=(1, 2)), "months: they are those of a trace"),
        (lambda: envs.scheduling(windows=3), "scheme: unknown windows. Known: levels, window, head, keep, longest"),
        (lambda: envs.scheduling(window=0), "scheme: window must be from 1 to 1000, got 0"),
        (lambda: envs.scheduling_vector(0), "num_envs must be > 0, got 0"),
        (lambda: envs.scheduling_vector(2, workloads=[]), "0 workloads need as many environments, got num_envs=2"),
        (lambda: envs.window(windows=[], trace="x.swf"), "windows: they do not go with trace or months"),
        (lambda: envs.repair(cluster="ours"), "cluster must be one of paper, authors, got 'ours'"),
        (lambda: envs.repair(task=RepairTask(), rows=4), "rows: these do not go with task"),
        (lambda: envs.repair(rows=3), "repair: rows must be 4 or 5, got 3"),
    ],
)
def test_what_does_not_fit_is_one_line(make: Any, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        make()
    assert str(caught.value) == message


def test_every_number_of_the_agent_is_an_option() -> None:
    assert set(AgentConfig._fields) <= envs.EnvOptions.__annotations__.keys()


def test_an_id_may_name_the_module_and_nothing_else_registers_it() -> None:
    program = """
import gymnasium
assert not [name for name in gymnasium.registry if name.startswith("transom/")]
env = gymnasium.make("transom.learned.envs:transom/Window-v0", jobs=60)
print(env.reset(seed=0)[1]["level"], [name for name in gymnasium.registry if name.startswith("transom/")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"1 {list(envs.IDS)}\n"


def test_windows_that_are_given(workload: Workload) -> None:
    made = envs.window(jobs=200, workload_seed=4)
    again = envs.window(windows=made.windows, longest=made.scheme.longest)
    assert [each.now for each in again.windows] == [each.now for each in made.windows]
