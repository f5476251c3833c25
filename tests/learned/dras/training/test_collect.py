from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tests.learned.dras.scorers import drawn
from tests.simulation.workloads import workloads
from transom.errors import DocumentError, ModelError, SpecError
from transom.generate import generate_lublin
from transom.learned.dras.process.episodes import Episode, Episodes
from transom.learned.dras.process.features import CONTEXT, FEATURES, observe
from transom.learned.dras.process.inference import Workspace, new_workspace
from transom.learned.dras.process.process import AgentConfig, begin, candidates_of, take
from transom.learned.dras.process.rewards import Reward, parse_reward, selected
from transom.learned.dras.process.stepping import step_to_next_decision
from transom.learned.dras.training.collect import Batch, collect, replay
from transom.learned.scorer import ScorerWeights, scored
from transom.models import Cluster, Job
from transom.simulation import Schedule
from transom.simulation.core import events
from transom.traces import TracedJob, Workload

SMALL = AgentConfig(window=5, longest=20)


def walk_on(episode: Episode, scheme: AgentConfig, nodes: int, reward: Reward) -> int:
    """Go on to the next decision."""
    given = scheme, nodes, episode.runtime, episode.rewards._replace(reward=reward)
    return int(step_to_next_decision(episode.state, episode.decision_state, *given))


def crowded(seed: int = 1, jobs: int = 60) -> Workload:
    """Jobs that come faster than they can run, so that there is something to choose."""
    return generate_lublin(jobs, 32, np.random.default_rng(seed), load=10.0)


def joined(batches: list[Batch]) -> Batch:
    """Batches one after another."""
    return Batch(*(np.concatenate(columns) for columns in zip(*batches, strict=True)))


def equal(one: Batch, other: Batch) -> bool:
    """Whether two batches hold the same."""
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def whole_episode(workload: Workload, reward: str, weights: ScorerWeights, seed: int = 3) -> tuple[Batch, Schedule]:
    """All decisions of one episode, and the schedule that they make."""
    scheme = AgentConfig(window=5)
    rng = np.random.default_rng(seed)
    batch = collect(Episodes([workload]), scheme, weights, 40 * len(workload), rng, reward=reward)
    end = int(np.flatnonzero(batch.done)[0]) + 1
    made = replay(workload, scheme, weights, np.random.default_rng(seed), sampled=True)
    return Batch(*(column[:end] for column in batch)), made


@pytest.mark.parametrize("seed", range(3))
def test_waiting_adds_up_to_the_total_waiting_time(seed: int) -> None:
    batch, made = whole_episode(crowded(seed), "waiting", drawn(seed))
    assert batch.reward.sum() == pytest.approx(-made.wait.sum() / 3600)


def test_slowdown_adds_up_to_waiting_over_runtime() -> None:
    batch, made = whole_episode(crowded(), "slowdown", drawn(1))
    assert batch.reward.sum() == pytest.approx(-(made.wait / np.maximum(made.runtime, 10)).sum())


@pytest.mark.parametrize("power", [1, 2.5])
def test_a_growing_penalty_weighs_long_waits(power: float) -> None:
    batch, made = whole_episode(crowded(), f"waiting:growth=0.5,tau=7200,power={power}", drawn(1))
    wait = made.wait / 7200
    expected = (made.wait + 0.5 * 7200 * wait ** (power + 1) / (power + 1)).sum() / 3600
    assert batch.reward.sum() == pytest.approx(-expected)


def test_selections_are_rewarded_as_the_paper_says() -> None:
    # An idle machine of 4 nodes at 10 s: a job of 1 node has just been selected, jobs of 3 and 4 nodes wait since
    # 4 s and 6 s. Either of them is selected, and the first of the two fits.
    for reward, of_first, of_second in [
        ("capability:w1=1,w2=0,w3=0", 6 / 6, 4 / 6),
        ("capability:w1=0,w2=1,w3=0", 3 / 4, 4 / 4),
        ("capability:w1=0,w2=0,w3=1", 4 / 4, 1 / 4),
        ("capability", (1 + 3 / 4 + 1) / 3, (4 / 6 + 1 + 1 / 4) / 3),
        ("capacity", -3600 / 200, -(3600 / 50 + 3600 / 200) / 2),
        ("capacity:of=wait", -4 / 3600, -(6 + 4) / 2 / 3600),
        ("waiting", 0.0, 0.0),
    ]:
        assert reward_of_selecting(reward, 0) == pytest.approx(of_first)
        assert reward_of_selecting(reward, 1) == pytest.approx(of_second)


def reward_of_selecting(reward: str, k: int) -> float:
    """Reward of candidate ``k`` in the situation above."""
    rows = [(1, 2, 1, 100), (2, 4, 3, 50), (3, 6, 4, 200)]
    traced = [TracedJob(Job(id=i, submit=s, nodes=n, walltime=t), t) for i, s, n, t in rows]
    scheme, numbers = AgentConfig(head=0), parse_reward(reward)
    episode = Episode(Workload.of(traced, Cluster(4), "hand"), 0, scheme, numbers)
    state, decision_state = episode.state, episode.decision_state
    state.queue[:] = 0, 1, 2
    state.at[events.NOW], state.at[events.QUEUED] = 10, 3
    begin(state, decision_state, scheme)
    for choice, count in ((0, 3), (k, 2)):
        assert candidates_of(state, decision_state, scheme) == count
        job = state.queue[decision_state.candidates[choice]]
        take(state, decision_state, scheme, choice)
    return float(selected(numbers, state, decision_state, job, 4))


def test_nobody_waited_and_nobody_waits() -> None:
    # The guards of eq. 1 and eq. 2: a job selected in the second of its submission, and an empty queue after it.
    workload = Workload.of([TracedJob(Job(id=1, submit=0, nodes=1, walltime=5), 5)], Cluster(4), "one")
    for reward, value in (("capability:w1=1,w2=0,w3=0", 0.0), ("capacity", 0.0)):
        scheme, numbers = AgentConfig(), parse_reward(reward)
        episode = Episode(workload, 0, scheme, numbers)
        count = walk_on(episode, scheme, 4, numbers)
        assert count == 0
        assert episode.gathered[0] == value


def test_how_many_are_recorded_at_once_does_not_matter() -> None:
    workloads, weights = [crowded(1), crowded(2, 30)], drawn(5)
    for epsilon in (-1.0, 0.3):
        one, other = Episodes(workloads, shuffled=True), Episodes(workloads, shuffled=True)
        rngs = np.random.default_rng(1), np.random.default_rng(1)
        long = collect(one, SMALL, weights, 600, rngs[0], epsilon)
        short = joined([collect(other, SMALL, weights, n, rngs[1], epsilon) for n in (1, 99, 300, 200)])
        assert equal(long, short)
        assert long.done.sum() == one.finished > 4
        assert (np.diff(long.instant) >= 0).all()


def test_it_goes_on_where_a_snapshot_was_taken() -> None:
    workloads, weights = [crowded(1), crowded(2, 30)], drawn(5)
    for before in (0, 7, 333):
        one, rng = Episodes(workloads, shuffled=True), np.random.default_rng(1)
        if before:
            collect(one, SMALL, weights, before, rng)
        arrays, facts = one.snapshot()
        state = rng.bit_generator.state
        expected = collect(one, SMALL, weights, 200, rng)
        other, again = Episodes(workloads, shuffled=True), np.random.default_rng(9)
        again.bit_generator.state = state
        other.restore(arrays, json.loads(json.dumps(facts)))
        assert equal(collect(other, SMALL, weights, 200, again), expected)
    with pytest.raises(DocumentError, match="another shape"):
        Episodes([crowded(1, 20), crowded(2, 20)]).restore(arrays, facts)
    with pytest.raises(DocumentError, match="episodes of 1 workloads"):
        Episodes(workloads[:1]).restore(arrays, {**facts, "which": 1})


def test_what_is_recorded_is_what_was_drawn() -> None:
    weights = drawn(6)
    batch = collect(Episodes([crowded()]), SMALL, weights, 400, np.random.default_rng(0))
    assert ((batch.action >= 0) & (batch.action < batch.count)).all()
    assert (batch.count >= 2).all()
    assert (batch.count <= SMALL.window).all()
    for t in range(0, 400, 7):
        n = batch.count[t]
        scores = scored(weights, batch.features[t, :n], batch.context[t])
        chances = np.exp(scores - scores.max())
        expected = math.log(chances[batch.action[t]] / chances.sum())
        assert batch.log_probability[t] == pytest.approx(expected, abs=1e-4)
        assert not batch.features[t, n:].any()


def test_greedy_choices_need_no_chance_and_epsilon_is_the_rate_of_others() -> None:
    weights, workload = drawn(6), crowded()
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    batch = collect(Episodes([workload]), SMALL, weights, 300, rng, epsilon=0.0)
    assert rng.bit_generator.state == before
    assert not batch.log_probability.any()
    batch = collect(Episodes([workload]), SMALL, weights, 4000, rng, epsilon=0.4)
    best = np.array([scored(weights, x[:n], g)[:n].argmax() for x, g, n in zip(*batch[:3], strict=True)])
    other = (batch.action != best).mean()
    assert other == pytest.approx((0.4 * (1 - 1 / batch.count)).mean(), abs=0.04)
    chance = np.where(batch.action == best, 0.6, 0) + 0.4 / batch.count
    assert batch.log_probability == pytest.approx(np.log(chance))


@given(workloads(max_jobs=20, resources=1, dependencies=True), st.integers(0, 9), st.sampled_from([1, 5, 86_400]))
def test_observations_are_bounded(workload: Workload, seed: int, longest: int) -> None:
    scheme = AgentConfig(window=4, longest=longest)
    try:
        batch = collect(Episodes([workload]), scheme, drawn(seed), 50, np.random.default_rng(seed))
    except ModelError as error:
        if "anything to choose" not in str(error):
            raise
        reject()
    assert np.isfinite(batch.features).all()
    assert np.isfinite(batch.context).all()
    assert (np.abs(batch.features) <= 1).all()
    assert (batch.context >= 0).all()
    assert (batch.context <= 1).all()
    assert np.isfinite(batch.reward).all()


def seen(episode: Episode, scheme: AgentConfig, nodes: int) -> Workspace:
    """What is seen of the decision at hand."""
    view = new_workspace(scheme.window)
    observe(episode.state, episode.decision_state, scheme, nodes, view.features, view.context)
    return view


def test_observations_at_level_1() -> None:
    # Of 10 nodes 6 are held until 100 s. At 10 s jobs of 8 and 2 nodes wait, of which the second fits.
    rows = [(1, 0, 6, 100), (2, 10, 8, 50), (3, 10, 2, 200)]
    traced = [TracedJob(Job(id=i, submit=s, nodes=n, walltime=t), t) for i, s, n, t in rows]
    scheme, numbers = AgentConfig(longest=200), parse_reward("waiting")
    episode = Episode(Workload.of(traced, Cluster(10), "hand"), 0, scheme, numbers)
    assert walk_on(episode, scheme, 10, numbers) == 2
    view = seen(episode, scheme, 10)
    features = dict(zip(FEATURES, view.features[:2].T.tolist(), strict=True))
    context = dict(zip(CONTEXT, view.context.tolist(), strict=True))
    assert features["fits"] == [0, 1]
    assert features["soonest"] == pytest.approx([90 / 200, 0])
    assert features["share-of-free"] == pytest.approx([1, 0.5])
    assert features["left-free"] == pytest.approx([0, 0.2])
    assert context["fitting"] == 0.5
    for name in ("in-time", "fits-extra", "share-of-extra", "slack"):
        assert features[name] == [0, 0]
    for name in ("level-2", "shadow", "extra", "reserved-size"):
        assert context[name] == 0


def test_observations_by_name() -> None:
    # 10 nodes. Job 1 has 4 until 100 s and job 2 has 6 until 91 s, by walltime, but ends at 31 s. Job 3 with 8 nodes is
    # reserved at 100 s, with 2 nodes to spare. At 31 s jobs 4 and 5, with 2 and 4 nodes, may start ahead of it.
    rows = [(1, 0, 4, 100, 60), (2, 1, 6, 90, 30), (3, 2, 8, 50, 50), (4, 10, 2, 200, 5), (5, 20, 4, 20, 5)]
    traced = [TracedJob(Job(id=i, submit=s, nodes=n, walltime=t), r) for i, s, n, t, r in rows]
    scheme, numbers = AgentConfig(longest=200), parse_reward("waiting")
    episode = Episode(Workload.of(traced, Cluster(10), "hand"), 0, scheme, numbers)
    assert walk_on(episode, scheme, 10, numbers) == 2
    view = seen(episode, scheme, 10)

    def log(value: float, most: float) -> float:
        return math.log1p(value) / math.log1p(most)

    features = {
        "size": [0.2, 0.4],
        "log-size": [log(2, 10), log(4, 10)],
        "walltime": [1, 0.1],
        "log-walltime": [1, log(20, 200)],
        "log-area": [log(400, 2000), log(80, 2000)],
        "log-wait": [log(21 / 60, 43_200), log(11 / 60, 43_200)],
        "relative-wait": [1, 11 / 21],
        "slowdown": [21 / 221, 11 / 31],
        "place": [1 / 3, 2 / 3],
        "fits": [1, 1],
        "share-of-free": [2 / 6, 4 / 6],
        "left-free": [0.4, 0.2],
        "in-time": [0, 1],
        "fits-extra": [1, 0],
        "share-of-extra": [1, 1],
        "slack": [(69 - 200) / 200, (69 - 20) / 200],
        "shortest": [0.1, 1],
        "smallest": [1, 0.5],
        "least-area": [0.2, 1],
        "rank-walltime": [0.5, 0],
        "rank-size": [0, 0.5],
        "rank-area": [0.5, 0],
        "long-wait": [21 / (14 * 86_400), 11 / (14 * 86_400)],
        "soonest": [0, 0],
    }
    context = {
        "free": 0.6,
        "log-queue": log(3, 1000),
        "candidates": 2 / 50,
        "fitting": 1,
        "queued-work": 0.44 / 1.44,
        "running-work": 4 * 69 / 2000,
        "next-end": 69 / 200,
        "level-2": 1,
        "shadow": 69 / 200,
        "extra": 0.2,
        "reserved-size": 0.8,
        "longest-wait": log(21 / 60, 43_200),
        "oldest": 21 / (14 * 86_400),
    }
    assert tuple(features) == FEATURES
    assert tuple(context) == CONTEXT
    for name, row in zip(FEATURES, view.features[:2].T, strict=True):
        assert row == pytest.approx(features[name], abs=1e-6), name
    assert view.context == pytest.approx(list(context.values()), abs=1e-6)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("wait", "unknown reward 'wait'; did you mean 'waiting'"),
        ("waiting:growth=-1", "waiting: growth must be >= 0, got -1"),
        ("slowdown:tau=0", "slowdown: tau must be > 0, got 0"),
        ("waiting:power=nan", "power must be > 0 and at most 8"),
        ("capability:w1=inf", "capability: w1 must be >= 0, got inf"),
        ("capacity:of=size", "expected estimate|wait"),
        ("waiting:grow=1", "has no parameter 'grow'"),
    ],
)
def test_rewards_that_are_none(spec: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        parse_reward(spec)
    assert message in str(error.value)


def test_episodes_that_are_none() -> None:
    with pytest.raises(ModelError, match="at least one workload"):
        Episodes([])
    with pytest.raises(ModelError, match=r"machines of \[4, 32\] nodes"):
        Episodes([crowded(), Workload.of([], Cluster(4), "none")])
    weights, rng = drawn(0), np.random.default_rng(0)
    with pytest.raises(ModelError, match="anything to choose"):
        collect(Episodes([crowded().take([0])]), SMALL, weights, 1, rng)
    with pytest.raises(SpecError, match="decisions must be > 0"):
        collect(Episodes([crowded()]), SMALL, weights, 0, rng)
    with pytest.raises(ModelError, match="takes 3 features"):
        collect(Episodes([crowded()]), SMALL, weights._replace(features=weights.features[:3]), 1, rng)
    with pytest.raises(SpecError, match="generator"):
        replay(crowded(), SMALL, weights, sampled=True)
