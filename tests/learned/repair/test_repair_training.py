"""Training a repair: it learns, keeps to masks, and goes on exactly where it stopped."""

from __future__ import annotations

import signal
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from transom.errors import DocumentError, SpecError
from transom.learned.repair import training
from transom.learned.repair.pool import WindowPool
from transom.learned.repair.process import SEEN
from transom.learned.repair.scoring import compare, destroy, torch_scores
from transom.learned.repair.task import RepairTask
from transom.learned.repair.training import Trainer, window_pool
from transom.learned.repair.training_settings import Training
from transom.learned.training.loop import train
from transom.learned.training.state import read_state, write_state
from transom.models import AUTHORS, PAPER, Allocation, FatTree

torch = pytest.importorskip("torch", reason="needs the extra 'learned'")
pytest.importorskip("sb3_contrib", reason="needs the extra 'learned'")

# These derive from classes of torch and gymnasium.
from gymnasium import spaces  # noqa: E402

from transom.learned.repair.actor_critic import RepairPolicy  # noqa: E402
from transom.learned.repair.dense_reward import DenseRewardVecEnv  # noqa: E402
from transom.learned.repair.vector_env import RepairVecEnv  # noqa: E402

TINY = {"network": "fcn-1", "envs": 8, "length": 4, "passes": 2, "minibatch": 16, "decisions": 128}


@pytest.fixture(scope="module")
def pool() -> WindowPool:
    """Windows in which most of the idle nodes of a leaf switch are busy, so that first nodes differ much."""
    tree, rng = FatTree.uniform(80, 8, 16), np.random.default_rng(0)
    problems = []
    for _ in range(20):
        idle = np.sort(rng.choice(80, 40, replace=False))
        problems.append(Allocation(tree, idle, rng.integers(4, 10, 3), "dynamic", True, AUTHORS))
    return WindowPool.of(problems, 10)


@pytest.fixture(autouse=True)
def few_windows(pool: WindowPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "window_pool", lambda _: pool)


def weights(trainer: Trainer) -> dict[str, np.ndarray]:
    return {name: value.numpy().copy() for name, value in trainer.model.policy.state_dict().items()}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_a_resumed_training_is_the_uninterrupted_one(tmp_path: Path) -> None:
    through = Trainer(Training(**TINY), tmp_path / "through")
    train(through)
    before = Trainer(Training(**TINY), tmp_path / "parts")
    before.update()
    before.update()
    before.save()
    after = Trainer(Training(**TINY), tmp_path / "parts")
    assert (after.decisions, len(after.curve)) == (64, 2)
    # Somebody else draws in between.
    torch.rand(3)
    again = Trainer(Training(**TINY), tmp_path / "parts")
    train(again)
    assert again.decisions == through.decisions == 128
    states = [read_state(tmp_path / name / "training.safetensors") for name in ("through", "parts")]
    assert same(states[0][0], states[1][0])
    curves = [[(row[0], *row[2:]) for row in facts["curve"]] for _, facts in states]
    assert curves[0] == curves[1]
    assert len(curves[0]) == 4


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    made = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        trainer = Trainer(Training(**TINY, seed=seed), tmp_path / name)
        trainer.update()
        made.append(weights(trainer))
    assert same(made[0], made[1])
    assert not same(made[0], made[2])


def test_rewards_are_different_words_for_the_same_costs(tmp_path: Path) -> None:
    first = {}
    for reward in ("each", "end", "reciprocal"):
        trainer = Trainer(Training(**{**TINY, "envs": 64, "length": 16}, reward=reward), tmp_path / reward)
        first[reward] = trainer.update().cost
    assert first["reciprocal"] == pytest.approx(first["end"], rel=1e-5)
    # Here the jobs of repairs that the update cuts in two count where they are placed.
    assert first["each"] == pytest.approx(first["end"], rel=0.05)


def test_both_clusters_and_both_observations(tmp_path: Path) -> None:
    paper, authors = (window_pool(Training(cluster=name, streams=1)) for name in ("paper", "authors"))
    assert (paper.tree.regular, paper.cost) == ((10, 100), PAPER)
    assert (authors.tree.regular, authors.cost) == ((10, 40), AUTHORS)
    trainer = Trainer(Training(**{**TINY, "network": "cnn-2"}, rows=4), tmp_path)
    trainer.update()
    assert trainer.model.env.task.schema == "repair-4x100/1"
    assert trainer.model.policy.mlp_extractor.actor[0].weight.shape == (8, 4, 10)


def test_ctrl_c_loses_no_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(Training(**TINY), tmp_path)
    update = trainer.update

    def interrupted() -> training.Update:
        signal.raise_signal(signal.SIGINT)
        return update()

    monkeypatch.setattr(trainer, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(trainer)
    assert Trainer(Training(**TINY), tmp_path).decisions == 32
    assert (tmp_path / "curve.csv").read_text().count("\n") == 2
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in log.Scalars("repair/cost")] == [
        (32, pytest.approx(trainer.curve[0].cost))
    ]


def test_a_second_ctrl_c_keeps_the_state_that_was_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(Training(**TINY), tmp_path)
    update = trainer.update

    def interrupted() -> training.Update:
        if trainer.curve:
            signal.raise_signal(signal.SIGINT)
            with torch.no_grad():
                next(trainer.model.policy.parameters()).fill_(7)  # half an update
            signal.raise_signal(signal.SIGINT)
        return update()

    monkeypatch.setattr(trainer, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(trainer, 1)
    held = Trainer(Training(**TINY), tmp_path)
    assert held.decisions == 32
    assert not any((value == 7).all() for value in weights(held).values())


def test_weights_that_are_no_numbers_end_the_training_and_are_not_kept(tmp_path: Path) -> None:
    trainer = Trainer(Training(**TINY), tmp_path)
    with torch.no_grad():
        next(trainer.model.policy.parameters()).fill_(float("nan"))
    with pytest.raises(SpecError, match=r"after \d+ decisions weights are not finite; take a lower learning rate"):
        train(trainer, 100)
    assert not (tmp_path / "training.safetensors").exists()


def test_other_settings_and_other_files_are_refused(tmp_path: Path) -> None:
    trainer = Trainer(Training(**TINY), tmp_path)
    trainer.update()
    trainer.save()
    with pytest.raises(DocumentError, match="was begun with passes 2, not 3"):
        Trainer(Training(**{**TINY, "passes": 3}), tmp_path)
    state = tmp_path / "training.safetensors"
    arrays, facts = read_state(state)
    write_state(state, {name: array for name, array in arrays.items() if name != "env.window"}, facts)
    with pytest.raises(DocumentError, match=r"does not hold such a training: .*window"):
        Trainer(Training(**TINY), tmp_path)
    for others in ({}, {"settings": [1]}, {"settings": {"hidden": [24, 16]}}):
        write_state(state, arrays, others)
        with pytest.raises(DocumentError, match="does not hold such a training; take another folder"):
            Trainer(Training(**TINY), tmp_path)
    state.write_bytes(b"nothing")
    with pytest.raises(DocumentError, match="not the state of a training"):
        Trainer(Training(**TINY), tmp_path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"network": "cnn-9"}, "network must be one of"),
        ({"cluster": "ours"}, "cluster must be one of paper, authors, got 'ours'"),
        ({"learning_rate": float("nan")}, "rate must be > 0 and at most 1, got nan"),
        ({"learning_rate": 1e30}, "rate must be > 0 and at most 1"),
        ({"minibatch": 1}, "minibatch must be > 1"),
        ({"discount": 1.5}, "discount must be > 0 and at most 1"),
        ({"seed": -1}, "seed must be >= 0"),
    ],
)
def test_settings_are_checked(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Training(**wrong)


def test_an_unknown_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="--device nowhere"):
        Trainer(Training(**TINY), tmp_path, "nowhere")
    with pytest.raises(SpecError, match="--device meta"):
        Trainer(Training(**TINY), tmp_path, "meta")
    if not torch.cuda.is_available():
        with pytest.raises(SpecError, match="--device cuda"):
            Trainer(Training(**TINY), tmp_path, "cuda")


def test_it_learns_and_stays_curious(tmp_path: Path, pool: WindowPool, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = Trainer(Training(network="cnn-1", envs=64, length=8, minibatch=128, decisions=5120), tmp_path)
    norms = []
    step = trainer.model.policy.optimizer.step
    parameters = list(trainer.model.policy.parameters())

    def watched() -> None:
        norms.append(sum(float(value.grad.norm()) for value in parameters))
        step()

    monkeypatch.setattr(trainer.model.policy.optimizer, "step", watched)
    train(trainer)
    assert len(norms) == len(trainer.curve) * 4 * 4
    assert np.isfinite(norms).all()
    assert min(norms) > 0
    assert trainer.curve[9].share > 0.1
    scores = compare(destroy(pool, RepairTask(), 1000), torch_scores(trainer.model.policy.mlp_extractor.actor))
    assert scores["argmax"] < 0.93 * scores["uniform"]
    assert scores["sampled"] < 0.97 * scores["uniform"]


@cache
def policy() -> RepairPolicy:
    """Made once, where it is used: half of torch is imported for it."""
    seen = spaces.Box(0, 1, (5, SEEN), np.float32)
    return RepairPolicy(seen, spaces.Discrete(SEEN), lambda _: 1e-3, network="fcn-1", rows=5)


@settings(max_examples=50, deadline=None)
@given(
    seen=arrays_of.arrays(np.float32, (5, SEEN), elements=st.floats(0, 1, width=32)),
    valid=st.sets(st.integers(0, SEEN - 1), min_size=1),
    favourite=st.integers(0, SEEN - 1),
    liking=st.floats(0, 1e6),
)
def test_masked_actions_are_never_taken(seen: np.ndarray, valid: set[int], favourite: int, liking: float) -> None:
    """However much the actor likes a first node that there is not."""
    last = policy().mlp_extractor.actor[-1]
    with torch.no_grad():
        last.bias.zero_()
        last.bias[favourite] = liking
    mask = np.zeros((64, SEEN), bool)
    mask[:, list(valid)] = True
    given = torch.tensor(seen).expand(64, 5, SEEN)
    with torch.no_grad():
        drawn, _, _ = policy()(given, action_masks=mask)
        best, _, _ = policy()(given, deterministic=True, action_masks=mask)
    assert set(drawn.tolist()) | set(best.tolist()) <= valid


def test_paying_for_each_job_gives_the_same_total(pool: WindowPool) -> None:
    rng = np.random.default_rng(1)
    task = RepairTask()
    at_the_end, each = (kind(pool, task, 16, seed=5) for kind in (RepairVecEnv, DenseRewardVecEnv))
    at_the_end.reset()
    each.reset()
    totals = np.zeros(16)
    several = 0
    for turn in range(60):
        actions = (rng.random(16) * each.action_masks().sum(axis=1)).astype(np.int64)
        seen, rewards, done, _ = at_the_end.step(actions)
        other_seen, other_rewards, other_done, _ = each.step(actions)
        assert np.array_equal(seen, other_seen)
        assert np.array_equal(done, other_done)
        assert (other_rewards < 0).all()
        totals += other_rewards
        several += int((~done).sum())
        assert totals[done] == pytest.approx(rewards[done], rel=1e-5)
        totals[done] = 0
        if turn == 30:
            state = each.state()
            each = DenseRewardVecEnv(pool, task, 16, seed=9)
            each.reset()
            each.restore(state)
    assert several > 100
