"""The kernel policy: its scores, its replays in the locked environment and by the textbook, its training."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

from transom.adapters.rules.rlscheduler import RLScheduler
from transom.errors import DocumentError, SpecError
from transom.generate import generate_lublin
from transom.learned.checkpoints import load, save
from transom.learned.kernel.policies import KernelPolicy
from transom.learned.kernel.rollouts import bounded_slowdown
from transom.learned.kernel.scoring import KernelWeights, VisibleJobs, delay, scores_of
from transom.learned.kernel.training import KernelTrainer, KernelTraining
from transom.learned.kernel.weights import SHAPES, STARTS, first_weights, kernel_weights, vector_of
from transom.learned.training.trainer import train
from transom.models import Cluster, Job
from transom.simulation import make_policy, simulate
from transom.simulation.output import metrics
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload

SETTINGS = KernelTraining(generations=3, pairs=2, batch=2, length=30, validation=3, validate_every=1)


def drawn(seed: int) -> KernelWeights:
    return kernel_weights(np.random.default_rng(seed).normal(size=sum(map(prod, SHAPES))))


@pytest.fixture(scope="module")
def workload() -> Workload:
    return generate_lublin(300, 64, np.random.default_rng(1), load=1.2)


def plain_score(weights: KernelWeights, shown: VisibleJobs, row: int) -> float:
    now, free, total = shown.at.tolist()
    submit, walltime, nodes = shown.queue[row].tolist()
    have, wait = free, 0
    for end, released in shown.ends.tolist():
        if have >= nodes:
            break
        have, wait = have + released, end - now
    x = np.array(
        [
            np.log10(1 + now - submit) / 7, np.log10(walltime) / 7, nodes / total, np.log10(walltime * nodes) / 7,
            float(nodes <= free), np.log10(1 + wait) / 7, free / total, len(shown.queue) / 128,
        ]
    )  # fmt: skip
    for layer, bias in zip(weights[0:6:2], weights[1:6:2], strict=True):
        x = np.maximum(x @ layer + bias, 0)
    return float(x @ weights.out)


def test_scores_are_those_of_the_network() -> None:
    queue = np.array([[0, 100, 4], [50, 10, 1], [90, 3600, 8]])
    shown = VisibleJobs(queue, np.array([[120, 2], [300, 4]]), np.array([100, 2, 8]))
    assert [delay(shown, nodes) for nodes in (1, 2, 3, 4, 5, 8)] == [0, 0, 20, 20, 200, 200]
    for seed in range(5):
        weights, scores = drawn(seed), np.empty(3, np.float32)
        scores_of(weights, shown, scores)
        np.testing.assert_allclose(scores, [plain_score(weights, shown, row) for row in range(3)], rtol=1e-4)


@pytest.mark.parametrize("start", STARTS)
def test_a_training_begins_with_a_linear_score(start: str) -> None:
    weights = first_weights(np.random.default_rng(0), start)
    assert np.array_equal(vector_of(kernel_weights(vector_of(weights))), vector_of(weights))
    queue = np.array([[0, 100, 4], [50, 10, 1]])
    shown, scores = VisibleJobs(queue, np.array([[120, 2]]), np.array([100, 2, 4])), np.empty(2, np.float32)
    scores_of(weights, shown, scores)
    factors = np.array(STARTS[start])
    features = [
        [np.log10(101) / 7, 2 / 7, 1, np.log10(400) / 7, 0, np.log10(21) / 7, 0.5, 2 / 128],
        [np.log10(51) / 7, 1 / 7, 0.25, 1 / 7, 1, 0, 0.5, 2 / 128],
    ]
    np.testing.assert_allclose(scores, np.array(features) @ factors, rtol=1e-4)


@pytest.mark.parametrize("easy", [False, True])
def test_the_compiled_rollout_is_the_replay_of_the_policy(workload: Workload, easy: bool) -> None:
    rules = RLScheduler(backfill="easy" if easy else "none")
    part = workload.take(slice(20, 240))
    for seed in range(3):
        schedule = simulate(part, KernelPolicy(drawn(seed)), rules=rules)
        assert check_schedule(part, schedule) == []
        found = bounded_slowdown(drawn(seed), rules.arrivals(part), 64, easy, 10)
        assert found == pytest.approx(metrics.bounded_slowdown(schedule).mean(), rel=1e-12)


def test_under_textbook_events_it_stops_at_the_first_that_does_not_fit() -> None:
    # Shortest first: job 3 is picked before job 2, which does not fit; job 4 fits and would be done in time.
    jobs = [Job(1, 0, 3, 50), Job(2, 1, 4, 9), Job(3, 1, 1, 5), Job(4, 1, 1, 40)]
    whole = Workload.of([TracedJob(job, job.walltime) for job in jobs], Cluster(4))
    policy = KernelPolicy(first_weights(np.random.default_rng(0), "walltime"))
    assert simulate(whole, policy).start.tolist() == [0, 50, 1, 59]
    assert simulate(whole, replace(policy, backfilling="easy")).start.tolist() == [0, 50, 1, 6]
    assert simulate(whole, "sjf").start.tolist() == [0, 50, 1, 59]


def test_shortest_first_is_sjf(workload: Workload) -> None:
    policy = KernelPolicy(first_weights(np.random.default_rng(0), "walltime"))
    part = workload.take(slice(0, 60))
    for rules in ("textbook", "rlscheduler"):
        assert simulate(part, policy, rules=rules).start.tolist() == simulate(part, "sjf", rules=rules).start.tolist()


def trainer(workload: Workload, folder: Path, settings: KernelTraining = SETTINGS) -> KernelTrainer:
    return KernelTrainer(settings, RLScheduler().arrivals(workload), 64, [100], folder)


def test_an_interrupted_training_gives_the_same_weights(workload: Workload, tmp_path: Path) -> None:
    whole, parts = trainer(workload, tmp_path / "whole"), trainer(workload, tmp_path / "parts")
    train(whole, 1)
    parts.update()
    parts.save()
    rest = trainer(workload, tmp_path / "parts")
    assert rest.updates == 1
    train(rest, 1)
    first = whole.checkpoint("kernel", "made", "transom train kernel")
    second = rest.checkpoint("kernel", "made", "transom train kernel")
    assert first.card.weights == second.card.weights
    assert [row.validation for row in whole.curve] == [row.validation for row in rest.curve]
    assert first.card.scores["bounded_slowdown"] == min(row.validation for row in whole.curve)
    assert (tmp_path / "whole" / "curve.csv").read_text().count("\n") == 5
    other = trainer(workload, tmp_path / "other", replace(SETTINGS, seed=5))
    train(other, 1)
    assert other.checkpoint("kernel", "made", "").card.weights != first.card.weights
    with pytest.raises(DocumentError, match="was begun with"):
        trainer(workload, tmp_path / "whole", replace(SETTINGS, sigma=0.2))


def test_training_lowers_the_slowdown_of_what_it_saw(workload: Workload, tmp_path: Path) -> None:
    some = trainer(workload, tmp_path, replace(SETTINGS, generations=12, pairs=6, batch=4, validation=12))
    train(some, 100)
    assert some.curve[-1].best <= some.curve[0].best
    assert min(row.validation for row in some.curve[1:]) < 1.05 * some.curve[0].best


def test_no_sequence_of_the_validation_begins_near_those_kept_apart(workload: Workload, tmp_path: Path) -> None:
    settings = replace(SETTINGS, length=80, validation=180)
    some = trainer(workload, tmp_path, settings)
    assert np.abs(some._validation - 100).min() == 10
    with pytest.raises(SpecError, match="220 to validate on need more than 300 jobs"):
        trainer(workload, tmp_path, replace(settings, validation=220))


def test_a_checkpoint_is_checked_and_replays(workload: Workload, tmp_path: Path) -> None:
    some = trainer(workload, tmp_path)
    train(some, 1)
    made = some.checkpoint("mine", "made", "transom train kernel")
    path = tmp_path / "mine.safetensors"
    assert load(path, "kernel").card.parameters == sum(map(prod, SHAPES))
    policy = make_policy(f"kernel:model={path},backfill=easy")
    assert (policy.name, policy.digest, policy.backfilling) == ("mine", made.card.weights, "easy")
    for rules in ("textbook", "rlscheduler"):
        assert len(simulate(workload, f"kernel:model={path}", rules=rules)) == 300
    broken = replace(made, weights={**made.weights, "out": np.zeros(9, np.float32)})
    save(path, broken)
    with pytest.raises(DocumentError, match="these are not the weights"):
        load(path, "kernel")
    with pytest.raises(DocumentError, match=r"is part of 'dras', not of 'kernel'"):
        make_policy("kernel:model=dras-pg")
