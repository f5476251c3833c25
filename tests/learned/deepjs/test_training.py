"""Trainings of DeepJS learn, give the same weights again, resume exactly, and refuse to go on with something else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.learned.deepjs.plain import two_resources
from transom.errors import DocumentError, SpecError
from transom.learned.deepjs.learning import EpisodeBatch, advantages, learn
from transom.learned.deepjs.network import Network, scored
from transom.learned.deepjs.policy import NetworkPolicy, untrained
from transom.learned.deepjs.settings import Training
from transom.learned.deepjs.training import DeepJsTrainer
from transom.learned.training.state import STATE
from transom.models.arrays import FloatArray
from transom.traces.tasks import TaskWorkload

SMALL = Training(chunks=1, steps=2, episodes=3, compare_every=2)


def long_and_short() -> TaskWorkload:
    """A long task and six short ones on a machine that holds two: the long one has to go first."""
    return two_resources(
        0,
        machines=[[40, 40]],
        job_ids=[1],
        submit=[0],
        job=[0] * 7,
        task_ids=range(7),
        instances=[1] * 7,
        demands=[[20, 1]] * 7,
        duration=[300] + [50] * 6,
    )


def trained(settings: Training, folder: Path, updates: int, work: TaskWorkload) -> DeepJsTrainer:
    trainer = DeepJsTrainer(settings, work, folder)
    for _ in range(updates):
        trainer.update()
    trainer.save()
    return trainer


@pytest.mark.parametrize("update", ["code", "text"])
def test_it_learns_that_the_long_task_goes_first(update: Any, tmp_path: Path) -> None:
    rate = 0.01 if update == "code" else 1e-4
    settings = Training(update=update, chunks=1, steps=60, episodes=8, learning_rate=rate, compare_every=1)
    trainer = trained(settings, tmp_path, 60, long_and_short())
    ends = [row.makespan for row in trainer.curve]
    assert ends[0] > 310
    assert np.mean(ends[-10:]) < 302
    assert trainer.above_bound(NetworkPolicy(trainer.best, True)) == 0
    assert trainer.above_bound(NetworkPolicy(trainer.best, trainer.greedy)) <= trainer.curve[-1].drawn


def by_hand(times: list[list[int]], ends: list[int]) -> list[FloatArray]:
    """Algorithm 2 word by word: returns with a reward of -1 at each second, minus their mean at the same place."""
    places, returns = [], []
    for decided, end in zip(times, ends, strict=True):
        rewards, at = [], []
        for second in range(end):
            for _ in range(decided.count(second)):
                at.append(len(rewards))
                rewards.append(0)
            rewards.append(-1)
        places.append(at)
        returns.append(np.cumsum(rewards[::-1])[::-1])
    padded = np.zeros((len(times), max(map(len, returns))))
    for row, values in zip(padded, returns, strict=True):
        row[: len(values)] = values
    above = padded - padded.mean(axis=0)
    return [above[k, : len(returns[k])] for k in range(len(times))], places


def test_advantages_are_those_of_algorithm_2() -> None:
    times, ends = [[0, 0, 3, 7], [0, 1, 1, 4], [0, 0, 0, 2]], [12, 9, 15]
    above, places = by_hand(times, ends)
    plain = advantages(np.array(times), np.array(ends), False)
    usual = advantages(np.array(times), np.array(ends), True)
    every = np.concatenate(above)
    for k in range(3):
        expected = above[k][np.array(places[k])]
        assert np.allclose(plain[k], expected)
        assert np.allclose(usual[k], (expected - every.mean()) / every.std(), atol=1e-5)


def test_the_rule_of_the_text_is_a_plain_step_along_the_sum() -> None:
    work, rng = two_resources(4), np.random.default_rng(0)
    settings = Training(update="text", network="paper", episodes=2, learning_rate=1e-3)
    network = untrained("paper", 5)
    before = network.weights.copy()
    batch = EpisodeBatch(work, network, 2)
    ends = batch.play(rng.random((2, batch.decisions)))
    worth = advantages(batch.times(), ends, False)
    worth[1] = 0  # of one episode: the next one begins with other weights

    def likely(weights: FloatArray) -> float:
        moved, log, total = Network(weights, network.sizes), batch.log(0), 0.0
        used = int(log.last.max())
        scores = scored(moved, log.inputs[:used])
        for decision in np.flatnonzero(log.chosen >= 0):
            there = (log.since[:used] <= decision) & (log.until[:used] > decision)
            there &= np.arange(used) < log.last[decision]
            total += worth[0, decision] * (scores[log.chosen[decision]] - np.log(np.exp(scores[there]).sum()))
        return total

    def move(slope: FloatArray) -> None:
        network.weights[:] += np.float32(settings.learning_rate) * slope

    learn(batch, worth, settings, move)
    for at in range(0, len(before), 9):
        up, down = before.astype(np.float64), before.astype(np.float64)
        up[at] += 1e-4
        down[at] -= 1e-4
        slope = (likely(up) - likely(down)) / 2e-4
        assert network.weights[at] - before[at] == pytest.approx(1e-3 * slope, rel=0.02, abs=2e-5)


PROCESS = """
import sys
from pathlib import Path
from tests.learned.deepjs.test_training import SMALL, trained, two_resources
trainer = trained(SMALL, Path(sys.argv[1]), 4, two_resources(7))
print(trainer.network.weights.tobytes().hex())
"""


def test_the_same_seed_gives_the_same_weights_in_another_process(tmp_path: Path) -> None:
    here = trained(SMALL, tmp_path / "here", 4, two_resources(7)).network.weights
    command = [sys.executable, "-c", PROCESS, str(tmp_path / "there")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert done.stdout.strip() == here.tobytes().hex()
    other = trained(replace(SMALL, seed=1), tmp_path / "other", 4, two_resources(7)).network.weights
    assert not np.array_equal(other, here)


def test_a_training_that_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    work = two_resources(7)
    whole = DeepJsTrainer(SMALL, work, tmp_path / "whole")
    while not whole.done:
        whole.update()
    assert len(whole.curve) == 2 * len(work.job_ids)
    for updates in (1, 2, len(whole.curve) - 3):
        parts = trained(SMALL, tmp_path / "parts", updates, work)
    assert parts.done
    assert np.array_equal(parts.network.weights, whole.network.weights)
    assert np.array_equal(parts.best.weights, whole.best.weights)
    assert (parts.greedy, parts.decisions) == (whole.greedy, whole.decisions)
    assert [replace(row, seconds=0) for row in parts.curve] == [replace(row, seconds=0) for row in whole.curve]
    lines = (tmp_path / "parts" / "curve.csv").read_text().splitlines()
    assert lines[0] == "step,seconds,chunk,makespan,different,likely,drawn,highest"
    assert len(lines) == 1 + len(whole.curve)


def test_other_settings_and_other_jobs_are_refused(tmp_path: Path) -> None:
    trained(SMALL, tmp_path, 1, two_resources(7))
    with pytest.raises(DocumentError, match="was begun with episodes 3, not 4"):
        DeepJsTrainer(replace(SMALL, episodes=4), two_resources(7), tmp_path)
    with pytest.raises(DocumentError, match="was begun on other jobs or machines"):
        DeepJsTrainer(SMALL, two_resources(8), tmp_path)
    (tmp_path / STATE).write_bytes(b"nothing")
    with pytest.raises(DocumentError, match="not the state of a training"):
        DeepJsTrainer(SMALL, two_resources(7), tmp_path)


def test_weights_that_are_not_finite_end_it(tmp_path: Path) -> None:
    trainer = DeepJsTrainer(SMALL, two_resources(7), tmp_path)
    trainer.network.weights[0] = np.nan
    with pytest.raises(SpecError, match="after update 1 weights are not finite; take a lower learning rate"):
        trainer.update()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("update", "other"), ("network", "large"), ("seed", -1), ("chunks", 0), ("steps", 0), ("episodes", 1),
        ("batch", 0), ("compare_every", 0), ("learning_rate", 0.0), ("learning_rate", 2.0),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(name: str, value: Any) -> None:
    with pytest.raises(SpecError, match=f"deepjs: {name} must be"):
        Training(**{**asdict(SMALL), name: value})
