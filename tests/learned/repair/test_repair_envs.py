"""The environment of Gymnasium and the batch that training steps: that both are the same process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed

from transom.errors import SpecError
from transom.learned.repair.pool import CLUSTERS, WindowPool
from transom.learned.repair.task import RepairTask
from transom.models import Allocation, FatTree, HopCost

pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env

from transom.learned.repair.repair_batch import RepairBatch
from transom.learned.repair.repair_env import RepairEnv

LANES = 6


@pytest.fixture(scope="module")
def pool() -> WindowPool:
    model, cost = CLUSTERS["authors"]
    return WindowPool.generate(model, cost, seed=3, epochs=1, periods=25, policy="sequential")


def valid(env: RepairBatch, rng: np.random.Generator) -> Any:
    """An action that is allowed, in every environment."""
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])


def future(env: RepairBatch, steps: int, seed: int) -> list[bytes]:
    """What comes next under actions drawn from a seed."""
    rng = np.random.default_rng(seed)
    met = []
    for _ in range(steps):
        met.append(b"".join(array.tobytes() for array in env.step(valid(env, rng))))
    return met


@pytest.mark.parametrize("rows", [4, 5])
@pytest.mark.filterwarnings("error")
def test_the_checkers_accept_it(pool: WindowPool, rows: int) -> None:
    check_env(RepairEnv(pool, RepairTask(rows=rows)), skip_render_check=True)


@pytest.mark.parametrize("reward", ["cost", "reciprocal"])
def test_one_repair_of_many_is_the_single_one(pool: WindowPool, reward: Any) -> None:
    task = RepairTask(repairs=3, reward=reward, remove=3)
    many, single = RepairBatch(pool, task, 1, 11), RepairEnv(pool, task)
    shown = many.reset()
    seen, _ = single.reset(seed=11)
    assert (shown[0] == seen).all()
    rng = np.random.default_rng(0)
    for _ in range(120):
        masks = many.action_masks()
        assert (masks[0] == single.action_masks()).all()
        action = int(rng.choice(np.flatnonzero(masks[0])))
        shown, rewards, done = many.step(np.array([action]))
        seen, worth, ended, truncated, info = single.step(action)
        assert not truncated
        assert done[0] == ended
        assert rewards[0] == worth
        if ended:
            assert worth == pytest.approx(1e5 / info["cost"] if reward == "reciprocal" else -info["cost"] / 1e5)
            seen, _ = single.reset()
        else:
            assert worth == 0
            assert info == {}
        assert (shown[0] == seen).all()
        assert single.observation_space.contains(seen)


def test_masks_allow_what_is_left_and_nothing_else() -> None:
    """Entries that are left are those whose columns say so, up to the hundredth."""
    tree = FatTree.uniform(300, 10, 50)
    problems = [Allocation(tree, np.arange(n), [20, 8]) for n in (28, 70, 110, 128, 300)]
    env = RepairBatch(WindowPool.of(problems), RepairTask(), LANES)
    rng = np.random.default_rng(0)
    seen = env.reset()
    some = 0
    for _ in range(100):
        masks = env.action_masks()
        assert (masks == (seen[:, 2] == 1)).all()
        assert masks.any(axis=1).all()
        some += (~masks.all(axis=1)).sum()
        seen = env.step(valid(env, rng))[0]
    assert 100 < some < 500


def test_a_forbidden_action_is_refused_or_counted_around() -> None:
    problem = Allocation(FatTree.uniform(300, 10, 50), np.arange(30), [8])
    env = RepairBatch(WindowPool.of([problem]), RepairTask(), 2)
    env.reset()
    for wrong in (30, -1):
        with pytest.raises(SpecError, match=f"environment 1: action {wrong} is none of the 30 first entries"):
            env.step(np.array([29, wrong]))
    one, other = RepairEnv(WindowPool.of([problem])), RepairEnv(WindowPool.of([problem]))
    for each in (one, other):
        each.reset(seed=1)
    assert one.step(65)[4] == other.step(5)[4]


def test_the_same_seed_gives_the_same_repairs(pool: WindowPool) -> None:
    futures = []
    for seed in (4, 4, 5):
        env = RepairBatch(pool, RepairTask(), LANES, seed)
        first = env.reset().tobytes()
        futures.append([first, *future(env, 60, 0)])
    assert futures[0] == futures[1] != futures[2]


def test_what_is_saved_has_the_same_future(pool: WindowPool) -> None:
    env = RepairBatch(pool, RepairTask(repairs=3), LANES, seed=1)
    env.reset()
    future(env, 41, 0)
    saved = unpacked(packed(env.state()))
    seen = env.seen.copy()
    expected = future(env, 60, 1)
    other = RepairBatch(pool, RepairTask(repairs=3), LANES, seed=2)
    other.restore(saved)
    assert (other.seen == seen).all()
    assert future(other, 60, 1) == expected
    # What was saved is not touched by going on.
    other.restore(saved)
    assert future(other, 60, 1) == expected


def test_a_state_that_does_not_fit_is_refused(pool: WindowPool) -> None:
    env = RepairBatch(pool, RepairTask(), LANES)
    env.reset()
    with pytest.raises(SpecError, match="6 repairs and not 7"):
        RepairBatch(pool, RepairTask(), LANES + 1).restore(env.state())


def test_what_it_refuses(pool: WindowPool) -> None:
    with pytest.raises(SpecError, match="> 0 repairs at a time, got 0"):
        RepairBatch(pool, RepairTask(), 0)
    free = Allocation(FatTree.uniform(40, 4, 8), np.arange(30), [8], cost=HopCost(0, 2, 4))
    for make in (RepairEnv, lambda pool, task: RepairBatch(pool, task, 1)):
        with pytest.raises(SpecError, match="reciprocal needs costs above 0"):
            make(WindowPool.of([free]), RepairTask(reward="reciprocal"))


def test_nothing_is_done_before_a_reset(pool: WindowPool) -> None:
    single, many = RepairEnv(pool), RepairBatch(pool, RepairTask(), 2)
    with pytest.raises(SpecError, match="reset comes first"):
        single.step(0)
    with pytest.raises(SpecError, match="none of the 0 first entries"):
        many.step(np.zeros(2, np.int64))
    single.reset(seed=0)
    while not single.step(0)[2]:
        pass
    with pytest.raises(SpecError, match="reset comes first"):
        single.step(0)
