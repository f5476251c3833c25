"""Training of nsa-cost: what decisions are worth, what an update does, and that it goes on where it stopped."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.learned.repair.made import window
from transom.errors import DocumentError, SpecError
from transom.learned.repair import nsa_cost_training
from transom.learned.repair.nsa_cost import NsaCost
from transom.learned.repair.nsa_cost_training import CostTrainer, first_weights
from transom.learned.repair.rollouts import collect_rollouts, group_advantages
from transom.learned.repair.training_settings import CostTraining
from transom.learned.training.trainer import train

torch = pytest.importorskip("torch")
pytest.importorskip("tensorboard")

SMALL = CostTraining(updates=3, windows=2, runs=2, search_steps=20, candidates=8, hidden=(4, 3), batch=50, streams=1)


@pytest.fixture
def few_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two windows instead of streams."""

    def windows(seed: int, name: str, streams: int) -> dict[str, list[Any]]:
        return {"paper": [window()], "authors": [window(wrap=False)]}

    monkeypatch.setattr(nsa_cost_training, "dynamic_windows", windows)


def test_windows_are_those_of_both_clusters_with_two_jobs_or_more() -> None:
    found = nsa_cost_training.dynamic_windows(0, "some name", 1)
    for cluster, pod_nodes in (("paper", 100), ("authors", 40)):
        problems = found[cluster]
        assert len(problems) > 50
        assert all(problem.rule == "dynamic" and len(problem) > 1 for problem in problems)
        assert problems[0].tree.regular == (10, pod_nodes)


def test_what_steps_are_worth() -> None:
    """Against the definition, on two windows whose searches never lag behind each other."""
    best = np.array([[[9, 9, 8, 8], [9, 9, 9, 6]], [[5, 5, 5, 5], [5, 4, 4, 4]]], float)
    values = np.zeros((2, 2, 3, 3))
    values[..., 0] = best[..., :1]
    values[..., 2] = best[..., 1:]
    expected = np.zeros((2, 2, 3))
    for step in range(3):
        for later in range(step, 3):
            expected[:, :, step] += 0.5 ** (later - step) * (best[..., later] - best[..., later + 1])
    expected -= expected.mean(axis=1, keepdims=True)
    before = best[..., :-1] - best[..., :-1].mean(axis=1, keepdims=True)
    slope = (before * expected).sum() / (before * before).sum()
    rest = expected - slope * before
    assert group_advantages(values, 0.5) == pytest.approx(rest / rest.std())


def test_how_far_a_search_is_behind_says_nothing_of_what_its_steps_are_worth() -> None:
    rng = np.random.default_rng(0)
    values = np.ones((6, 4, 100, 3))
    values[:, :, :, 2] = 1 - rng.exponential(0.01, (6, 4, 100)).cumsum(axis=2)
    judged = group_advantages(values, 0.9)
    before = np.concatenate((values[:, :, :1, 0], values[:, :, :-1, 2]), axis=2)
    behind = before - before.mean(axis=1, keepdims=True)
    for stretch in np.split(np.arange(100), 4):
        some = judged[:, :, stretch]
        assert some.std() == pytest.approx(1)
        assert abs((some * behind[:, :, stretch]).mean()) < 1e-9


def test_torch_scores_as_the_kernel_does(few_windows: None, tmp_path: Path) -> None:
    trainer = CostTrainer(SMALL, tmp_path)
    log = collect_rollouts(window(), trainer.scorer(), NsaCost(steps=40, heat=1.0), 8, 1, np.random.default_rng(1))[0]
    tensors = [torch.tensor(array) for array in (log.features, log.context, log.number)]
    chances = trainer._log_chances(*tensors).detach().numpy()
    assert len(log.action) > 20
    assert chances[np.arange(len(log.action)), log.action] == pytest.approx(log.log_chance, abs=1e-4)
    assert np.isneginf(chances[np.arange(8) >= log.number[:, None]]).all()


def test_an_update_makes_better_decisions_likelier(few_windows: None, tmp_path: Path) -> None:
    trainer = CostTrainer(CostTraining(**{**_plain(SMALL), "batch": 1000, "learning_rate": 0.01}), tmp_path)
    seen, _ = trainer._search(np.random.default_rng(0))
    tensors = [torch.tensor(array) for array in (seen.features, seen.context, seen.number)]
    taken = np.arange(len(seen.action))

    def gained() -> float:
        chances = trainer._log_chances(*tensors).detach().numpy()[taken, seen.action]
        return float((seen.advantage * (chances - seen.log_chance)).mean())

    before = gained()
    for _ in range(5):
        figures = trainer._learn(seen, taken, np.random.default_rng(1))
    assert gained() > before + 1e-3
    assert np.isfinite(list(figures.values())).all()
    assert 0.1 < figures["share"] <= 1


def test_it_goes_on_where_it_stopped(few_windows: None, tmp_path: Path) -> None:
    whole, halves = CostTrainer(SMALL, tmp_path / "whole"), CostTrainer(SMALL, tmp_path / "halves")
    train(whole, 1)
    halves.update()
    halves.save()
    rest = CostTrainer(SMALL, tmp_path / "halves")
    assert [row.updates for row in rest.curve] == [1]
    train(rest, 1)
    for one, other, first in zip(whole.scorer(), rest.scorer(), first_weights(SMALL), strict=True):
        assert np.array_equal(one, other)
        assert not np.array_equal(one, first)
    assert len((tmp_path / "halves" / "curve.csv").read_text().splitlines()) == 4
    with pytest.raises(DocumentError, match="was begun with seed 0, not 1"):
        CostTrainer(CostTraining(**{**_plain(SMALL), "seed": 1}), tmp_path / "halves")


def test_an_interrupt_leaves_what_was_learnt(
    few_windows: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = CostTrainer(SMALL, tmp_path)
    update = trainer.update

    def interrupted() -> Any:
        signal.raise_signal(signal.SIGINT)
        return update()

    monkeypatch.setattr(trainer, "update", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(trainer, 100)
    again = CostTrainer(SMALL, tmp_path)
    assert len(again.curve) == 1
    assert all(np.array_equal(one, other) for one, other in zip(again.scorer(), trainer.scorer(), strict=True))


def test_weights_that_are_no_numbers_end_the_training_and_are_not_kept(few_windows: None, tmp_path: Path) -> None:
    trainer = CostTrainer(SMALL, tmp_path)
    with torch.no_grad():
        trainer._network["bias"].fill_(float("nan"))
    with pytest.raises(SpecError, match="weights are not finite; take a lower learning rate"):
        train(trainer, 100)
    assert not (tmp_path / "training.safetensors").exists()


def test_a_folder_with_something_else_is_refused(few_windows: None, tmp_path: Path) -> None:
    (tmp_path / "training.safetensors").write_bytes(b"nothing")
    with pytest.raises(DocumentError, match="not the state of a training"):
        CostTrainer(SMALL, tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [{"updates": 0}, {"runs": 1}, {"candidates": 1}, {"discount": 1.5}, {"learning_rate": 0.0}, {"hidden": (1, 4)}],
)
def test_wrong_settings_are_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=next(iter(wrong))):
        CostTraining(**wrong)


def _plain(settings: CostTraining) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in CostTraining.__dataclass_fields__}
