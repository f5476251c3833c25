"""Training a repair: it learns, keeps to masks, and goes on exactly where it stopped."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

from transom.errors import DocumentError, SpecError
from transom.learned.repair import training
from transom.learned.repair.pool import WindowPool
from transom.learned.repair.process import SEEN
from transom.learned.repair.repair_batch import RepairBatch
from transom.learned.repair.scoring import compare, destroy, torch_scores
from transom.learned.repair.task import RepairTask
from transom.learned.repair.training import RepairTrainer, drawn, window_pool
from transom.learned.repair.training_settings import Training
from transom.learned.training.state import read_state, write_state
from transom.learned.training.trainer import train
from transom.models import AUTHORS, PAPER, Allocation, FatTree

torch = pytest.importorskip("torch", reason="needs the extra 'learned'")
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


def weights(trainer: RepairTrainer) -> dict[str, np.ndarray]:
    return {name: array for name, array in trainer.arrays().items() if name.startswith("weights")}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_a_resumed_training_is_the_uninterrupted_one(tmp_path: Path) -> None:
    through = RepairTrainer(Training(**TINY), tmp_path / "through")
    train(through)
    before = RepairTrainer(Training(**TINY), tmp_path / "parts")
    before.update()
    before.update()
    before.save()
    after = RepairTrainer(Training(**TINY), tmp_path / "parts")
    assert (after.decisions, len(after.curve)) == (64, 2)
    # Somebody else draws in between.
    torch.rand(3)
    again = RepairTrainer(Training(**TINY), tmp_path / "parts")
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
        trainer = RepairTrainer(Training(**TINY, seed=seed), tmp_path / name)
        trainer.update()
        made.append(weights(trainer))
    assert same(made[0], made[1])
    assert not same(made[0], made[2])


def test_rewards_are_different_words_for_the_same_costs(tmp_path: Path) -> None:
    first = {}
    for reward in ("each", "end", "reciprocal"):
        trainer = RepairTrainer(Training(**{**TINY, "envs": 64, "length": 16}, reward=reward), tmp_path / reward)
        first[reward] = trainer.update().cost
    assert first["reciprocal"] == pytest.approx(first["end"], rel=1e-5)
    # Here the jobs of repairs that the update cuts in two count where they are placed.
    assert first["each"] == pytest.approx(first["end"], rel=0.05)


def test_both_clusters_and_both_observations(tmp_path: Path) -> None:
    paper, authors = (window_pool(Training(cluster=name, streams=1)) for name in ("paper", "authors"))
    assert (paper.tree.regular, paper.cost) == ((10, 100), PAPER)
    assert (authors.tree.regular, authors.cost) == ((10, 40), AUTHORS)
    trainer = RepairTrainer(Training(**{**TINY, "network": "cnn-2"}, rows=4), tmp_path)
    trainer.update()
    assert trainer.env.task.schema == "repair-4x100/1"
    assert trainer.actor[0].weight.shape == (8, 4, 10)


def test_ctrl_c_loses_no_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = RepairTrainer(Training(**TINY), tmp_path)
    update = trainer.update

    def interrupted() -> training.Update:
        signal.raise_signal(signal.SIGINT)
        return update()

    monkeypatch.setattr(trainer, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(trainer)
    assert RepairTrainer(Training(**TINY), tmp_path).decisions == 32
    assert (tmp_path / "curve.csv").read_text().count("\n") == 2
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in log.Scalars("repair/cost")] == [
        (32, pytest.approx(trainer.curve[0].cost))
    ]


def test_a_second_ctrl_c_keeps_the_state_that_was_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = RepairTrainer(Training(**TINY), tmp_path)
    update = trainer.update

    def interrupted() -> training.Update:
        if trainer.curve:
            signal.raise_signal(signal.SIGINT)
            with torch.no_grad():
                next(trainer.actor.parameters()).fill_(7)  # half an update
            signal.raise_signal(signal.SIGINT)
        return update()

    monkeypatch.setattr(trainer, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(trainer, 1)
    held = RepairTrainer(Training(**TINY), tmp_path)
    assert held.decisions == 32
    assert not any((value == 7).all() for value in weights(held).values())


def test_weights_that_are_no_numbers_end_the_training_and_are_not_kept(tmp_path: Path) -> None:
    trainer = RepairTrainer(Training(**TINY), tmp_path)
    with torch.no_grad():
        next(trainer.actor.parameters()).fill_(float("nan"))
    with pytest.raises(SpecError, match="after update 1 weights are not finite; take a lower learning rate"):
        train(trainer, 100)
    assert not (tmp_path / "training.safetensors").exists()


def test_other_settings_and_other_files_are_refused(tmp_path: Path) -> None:
    trainer = RepairTrainer(Training(**TINY), tmp_path)
    trainer.update()
    trainer.save()
    with pytest.raises(DocumentError, match="was begun with passes 2, not 3"):
        RepairTrainer(Training(**{**TINY, "passes": 3}), tmp_path)
    state = tmp_path / "training.safetensors"
    arrays, facts = read_state(state)
    write_state(state, {name: array for name, array in arrays.items() if name != "env.window"}, facts)
    with pytest.raises(DocumentError, match=r"does not hold such a training: .*window"):
        RepairTrainer(Training(**TINY), tmp_path)
    for others in ({}, {"settings": [1]}, {"settings": {"hidden": [24, 16]}}):
        write_state(state, arrays, others)
        with pytest.raises(DocumentError, match=r"does not hold such a training: .*; take another folder"):
            RepairTrainer(Training(**TINY), tmp_path)
    state.write_bytes(b"nothing")
    with pytest.raises(DocumentError, match="not the state of a training"):
        RepairTrainer(Training(**TINY), tmp_path)


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
        RepairTrainer(Training(**TINY), tmp_path, "nowhere")
    with pytest.raises(SpecError, match="--device meta"):
        RepairTrainer(Training(**TINY), tmp_path, "meta")
    if not torch.cuda.is_available():
        with pytest.raises(SpecError, match="--device cuda"):
            RepairTrainer(Training(**TINY), tmp_path, "cuda")


def test_it_learns_and_stays_curious(tmp_path: Path, pool: WindowPool, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = RepairTrainer(Training(network="cnn-1", envs=64, length=8, minibatch=128, decisions=5120), tmp_path)
    norms = []
    step = trainer._optimizer.step
    parameters = [*trainer.actor.parameters(), *trainer.critic.parameters()]

    def watched() -> None:
        norms.append(sum(float(value.grad.norm()) for value in parameters))
        step()

    monkeypatch.setattr(trainer._optimizer, "step", watched)
    train(trainer)
    assert len(norms) == len(trainer.curve) * 4 * 4
    assert np.isfinite(norms).all()
    assert min(norms) > 0
    assert trainer.curve[9].share > 0.1
    scores = compare(destroy(pool, RepairTask(), 1000), torch_scores(trainer.actor))
    assert scores["argmax"] < 0.93 * scores["uniform"]
    assert scores["sampled"] < 0.97 * scores["uniform"]


def test_masked_actions_are_never_drawn(tmp_path: Path) -> None:
    """However much the actor likes a first node that there is not."""
    trainer, rng = RepairTrainer(Training(**TINY), tmp_path), np.random.default_rng(0)
    last = trainer.actor[-1]
    for _ in range(50):
        allowed = np.zeros((64, SEEN), bool)
        allowed[:, rng.choice(SEEN, rng.integers(1, SEEN), replace=False)] = True
        with torch.no_grad():
            last.bias.zero_()
            last.bias[int(rng.integers(SEEN))] = float(rng.choice([0, 10, 1e6]))
            logs = trainer.log_chances(
                torch.from_numpy(rng.random((64, 5, SEEN), np.float32)), torch.from_numpy(allowed)
            )
        picked = drawn(np.exp(logs.double().numpy()), rng)
        assert allowed[np.arange(64), picked].all()


def test_draws_follow_the_chances() -> None:
    chances = np.array([0.0, 0.2, 0.0, 0.5, 0.3, 0.0])
    picked = drawn(np.tile(chances, (20_000, 1)), np.random.default_rng(1))
    assert np.bincount(picked, minlength=6) / 20_000 == pytest.approx(chances, abs=0.02)
    assert set(picked) == {1, 3, 4}


def test_paying_for_each_job_gives_the_same_total(pool: WindowPool) -> None:
    rng = np.random.default_rng(1)
    task = RepairTask()
    at_the_end, each = (RepairBatch(pool, task, 16, 5, paid) for paid in (False, True))
    at_the_end.reset()
    each.reset()
    totals = np.zeros(16)
    several = 0
    for turn in range(60):
        actions = (rng.random(16) * each.action_masks().sum(axis=1)).astype(np.int64)
        seen, rewards, done = at_the_end.step(actions)
        other_seen, other_rewards, other_done = each.step(actions)
        assert np.array_equal(seen, other_seen)
        assert np.array_equal(done, other_done)
        assert (other_rewards < 0).all()
        totals += other_rewards
        several += int((~done).sum())
        assert totals[done] == pytest.approx(rewards[done], rel=1e-5)
        totals[done] = 0
        if turn == 30:
            state = each.state()
            each = RepairBatch(pool, task, 16, 9, True)
            each.restore(state)
    assert several > 100
