"""The learned policy of MARS: its chances, its replays, and the decision maker around it."""

from __future__ import annotations

import re
from dataclasses import replace
from math import erf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.learned.mars.made import checkpoint, dependent, trace, weights_of
from transom.errors import DocumentError, SpecError, TransomError
from transom.learned.checkpoints import load
from transom.learned.kernel.scoring import VisibleJobs, best
from transom.learned.mars.policies import MarsLearned
from transom.learned.mars.process import advance, begin, mean_slowdown, sequence_of, take, visible_jobs
from transom.learned.mars.rollouts import drawn, greedy
from transom.learned.mars.softmax import likeliest, log_chances, node_seconds
from transom.models import Cluster, JobTable
from transom.models.workflow import Workflow
from transom.simulation import make_policy, simulate
from transom.simulation.core.events import NOW, QUEUED, START
from transom.simulation.output import metrics
from transom.simulation.output.verification import check_schedule
from transom.simulation.policies.by_size import BySize
from transom.simulation.workflows.stream import stream_of
from transom.testing import check_policy
from transom.traces import Workload

RNG = np.random.default_rng(0)


def plain(scores: np.ndarray, costs: np.ndarray, weight: float) -> np.ndarray:
    """The formula, without logarithms."""
    chances = np.exp(scores.astype(float))
    mean, deviation = costs.mean(), costs.std()
    if deviation:
        chances *= [(1 - 0.5 * (1 + erf((c - mean) / deviation / sqrt(2)))) ** weight for c in costs]
    return np.asarray(chances / chances.sum())


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0, 3.0])
def test_chances_are_those_of_the_formula(weight: float) -> None:
    for _ in range(5):
        scores, costs = RNG.normal(size=6).astype(np.float32), RNG.lognormal(size=6)
        found = np.exp(log_chances(scores, np.append(costs, 1e9), weight))
        np.testing.assert_allclose(found, plain(scores, costs, weight), rtol=1e-9)
        assert found.sum() == pytest.approx(1)


def test_equal_costs_and_a_weight_of_zero_change_nothing() -> None:
    scores = RNG.normal(size=6).astype(np.float32)
    usual = log_chances(scores, np.zeros(6), 0.0)
    assert np.array_equal(log_chances(scores, RNG.normal(size=6), 0.0), usual)
    assert np.array_equal(log_chances(scores, np.full(6, 3.5), 2.0), usual)


def test_a_high_weight_picks_the_cheapest() -> None:
    queue = np.array([[0, 1000, 4], [0, 10, 1], [0, 3600, 8]])
    shown = VisibleJobs(queue, np.empty((0, 2), np.int64), np.array([100, 8, 8]))
    for seed in range(5):
        assert likeliest(weights_of(seed), shown, node_seconds(shown), 1e6) == 1
        assert likeliest(weights_of(seed), shown, node_seconds(shown), 0.0) == best(weights_of(seed), shown)


@pytest.mark.parametrize("slots", [128, 3])
@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_the_compiled_rollout_is_the_replay_of_the_policy(slots: int, weight: float) -> None:
    work = trace()
    for seed in range(3):
        schedule = simulate(work, MarsLearned(weights_of(seed), slots, weight))
        assert check_schedule(work, schedule) == []
        found = greedy(weights_of(seed), sequence_of(work), slots, weight)
        assert found == pytest.approx(metrics.bounded_slowdown(schedule).mean(), rel=1e-12)


def test_children_wait_for_their_parents_and_from_then_on() -> None:
    work = dependent()
    for seed in range(3):
        schedule = simulate(work, MarsLearned(weights_of(seed)))
        assert check_schedule(work, schedule) == []
        state = begin(sequence_of(work))
        while advance(state):
            shown = visible_jobs(state, 128)
            take(state, likeliest(weights_of(seed), shown, node_seconds(shown), 0.0))
        order = np.lexsort((work.jobs.id, work.jobs.submit))
        assert np.array_equal(state.jobs[:, START], schedule.start[order])
        ends = dict(zip(work.jobs.id.tolist(), (schedule.start + work.runtime).tolist(), strict=True))
        ready = [
            max([submit, *(ends[parent] for parent in work.jobs.depends_on.get(job, ()))])
            for job, submit in zip(work.jobs.id.tolist(), work.jobs.submit.tolist(), strict=True)
        ]
        slowdown = np.maximum((schedule.start - ready + work.runtime) / np.maximum(work.runtime, 10), 1)
        assert mean_slowdown(state, 10) == pytest.approx(slowdown.mean(), rel=1e-12)


def test_nobody_is_asked_where_there_is_nothing_to_choose() -> None:
    rows = [(1, 0, 4, 100, -1, -1), (2, 10, 3, 50, -1, -1), (3, 20, 2, 30, -1, -1), (4, 30, 4, 10, -1, -1)]
    work = Workload("few", Cluster(4), JobTable(rows), np.array([100, 50, 30, 10]))
    state = begin(sequence_of(work))
    asked = []
    while advance(state):
        asked.append((int(state.at[NOW]), int(state.at[QUEUED])))
        take(state, 0)
    assert asked == [(100, 3), (150, 2)]


def test_an_episode_records_what_was_drawn() -> None:
    sequence = sequence_of(trace())
    first, second = (drawn(weights_of(1), sequence, 128, np.random.default_rng(7)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert first.counts.sum() == len(first.features)
    assert (first.actions < first.counts).all()
    assert (first.counts >= 2).all()
    assert (first.logs <= 0).all()
    other = drawn(weights_of(1), sequence, 128, np.random.default_rng(8))
    assert other.slowdown != first.slowdown


def test_further_resources_are_refused() -> None:
    work = Workload("gpus", Cluster(4, ("gpu",), (2,)), JobTable([(1, 0, 1, 5, -1, -1, 1)]), np.array([5]))
    with pytest.raises(SpecError, match="learns on nodes alone, and gpus has gpu"):
        sequence_of(work)


def starts(spec: str) -> list[int]:
    return simulate(trace(), spec).start.tolist()


def test_the_decision_maker_is_that_of_the_checkpoint(tmp_path: Path) -> None:
    learned, rule = checkpoint(tmp_path), checkpoint(tmp_path, large="wfp3-easy")
    both = checkpoint(tmp_path, min=4, median=4, small="saf-easy")
    assert starts(f"mars:model={learned}") == starts(f"mars-learned:model={learned}")
    assert starts(f"mars:model={rule}") == starts("wfp3-easy")
    assert starts(f"mars:model={rule},large=learned") == starts(f"mars-learned:model={learned}")
    assert starts(f"mars:model={rule},large=f1-easy") == starts("f1-easy")
    spec = f"mars:min=4,median=4,small=saf-easy,large=[mars-learned:model={both}]"
    assert starts(f"mars:model={both}") == starts(spec)
    assert starts(f"mars:model={both},min=1000,median=1000") == starts("saf-easy")
    assert starts(f"mars:model={both}") not in (starts("saf-easy"), starts(f"mars-learned:model={both}"))


def test_costs_of_weight_zero_are_none(tmp_path: Path) -> None:
    path = checkpoint(tmp_path)
    assert starts(f"mars:model={path},cost=0") == starts(f"mars:model={path}")
    assert starts(f"mars:model={path},cost=2") != starts(f"mars:model={path}")


def test_it_satisfies_what_every_policy_has_to(tmp_path: Path) -> None:
    path = checkpoint(tmp_path)
    check_policy(f"mars:model={path},cost=0.5")
    check_policy(f"mars:model={path},min=2,median=3")


def test_paths_with_commas_are_taken(tmp_path: Path) -> None:
    folder = tmp_path / "a,b"
    folder.mkdir()
    assert len(starts(f"mars:model=[{checkpoint(folder)}]")) == 200


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("mars:cost=1", "cost needs model=PATH.safetensors"),
        ("mars:large=learned", "large=learned needs model=PATH.safetensors"),
        ("mars:model={0},cost=-1", "cost must be >= 0 and finite, got -1"),
        ("mars:model={0},cost=inf", "cost must be >= 0 and finite, got inf"),
        ("mars:model=dras-pg", "is part of 'dras', not of 'mars'"),
        ("mars:model={0}x.safetensors", "cannot be read"),
    ],
)
def test_what_does_not_go_is_one_line(tmp_path: Path, spec: str, says: str) -> None:
    path = checkpoint(tmp_path)
    with pytest.raises(TransomError, match=re.escape(says)) as error:
        make_policy(spec.format(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"slots": 0}, "settings.slots must be a whole number from 1 to 512"),
        ({"slots": 513}, "settings.slots must be a whole number from 1 to 512"),
        ({"min": 5, "median": 4}, "settings.median must be a whole number from 5"),
        ({"large": "nobody-easy"}, "settings.large must be RULE-easy, got 'nobody-easy'"),
        ({"small": "learned"}, "settings.small must be RULE-easy, got 'learned'"),
    ],
)
def test_cards_that_say_what_cannot_be_are_refused(tmp_path: Path, changed: dict[str, Any], says: str) -> None:
    path = checkpoint(tmp_path, **changed)
    with pytest.raises(DocumentError, match=re.escape(says)):
        load(path, "mars")


def test_what_tasks_cost_is_what_they_state() -> None:
    """Three tasks of one node; by node-seconds the second is the cheapest, by what they state the third."""
    flow = Workflow("w", ("a", "b", "c"), [50.0, 20.0, 80.0], nodes=[1, 1, 1], costs=[7.0, 5.0, 1.0])
    dear = replace(flow, name="free", costs=[0.0, 0.0, 0.0])
    policy = MarsLearned(weights_of(0), cost=1e6)
    maker = BySize(0, 0, 20_000, "fcfs-easy", "fcfs-easy", "fcfs-easy")
    maker.policies = (*maker.policies[:2], policy)
    for asked in (policy, maker):
        for each, first in ((flow, 3), (dear, 2), (flow, 3)):
            start = simulate(stream_of([each], 1).workload, asked).start
            assert start.tolist().index(0) + 1 == first


def test_streams_know_what_their_tasks_cost() -> None:
    flow = Workflow("w", ("a", "b", "c"), [50.0, 50.0, 80.0], costs=[7.0, 6.0, 1.0])
    made = stream_of([flow], 2).workload
    for work, costs in ((made, [7.0, 6.0, 1.0]), (made.take([2]), [1.0])):
        assert work.origin.cost is not None
        assert work.origin.cost.tolist() == costs
    assert stream_of([replace(flow, costs=[0.0, 0.0, 0.0])], 2).workload.origin.cost is None
