from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.workloads import workloads
from transom.learned.checkpoints import Checkpoint, make_card
from transom.learned.dras import features
from transom.learned.dras.collect import replay
from transom.learned.dras.policies import LearnedPolicy
from transom.learned.dras.process import Scheme
from transom.learned.scorer import ScorerWeights
from transom.models import Cluster, Job
from transom.simulation import Schedule, simulate
from transom.simulation.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.verification import check_schedule
from transom.traces import TracedJob, Workload, read_swf

F, G = len(features.FEATURES), len(features.CONTEXT)


def drawn(seed: int) -> ScorerWeights:
    """Weights of a scorer that has opinions."""
    rng = np.random.default_rng(seed)
    shapes: list[tuple[int, ...]] = [(F, 8), (G, 8), (8,), (8, 6), (6,), (6,)]
    return ScorerWeights(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))


def made(weights: ScorerWeights, scheme: Scheme, nodes: int, **stated: Any) -> Checkpoint:
    """A checkpoint of such weights."""
    arrays = {f"actor.{name}": array for name, array in weights._asdict().items()}
    card: dict[str, Any] = {
        "name": "drawn",
        "component": "dras",
        "network": "scorer",
        "schema": features.SCHEMA,
        "cluster": {"nodes": nodes},
        "settings": {"agent": "ppo", "reward": "waiting", "gamma": 0.99, **scheme._asdict()},
        "trained_on": "nothing",
        "command": "none",
        "seed": 0,
        "steps": 0,
        "seconds": 0.0,
    }
    return Checkpoint(arrays, make_card(arrays, **{**card, **stated}))


def window_by_window(policy: LearnedPolicy) -> LearnedPolicy:
    """The same without its compiled replay."""
    policy.run = None
    return policy


def assert_equal(one: Schedule, other: Schedule) -> None:
    """Two schedules are the same, down to the log of decisions."""
    for name in ("start", "end", "mode", "order"):
        assert (getattr(one, name) == getattr(other, name)).all(), name
    assert one.decisions.keys() == other.decisions.keys()
    for name, column in one.decisions.items():
        assert (column == other.decisions[name]).all(), name


SCHEMES = st.builds(
    Scheme,
    levels=st.sampled_from([1, 2]),
    window=st.sampled_from([1, 3, 50]),
    head=st.sampled_from([0, 1]),
    keep=st.sampled_from([0, 1]),
    longest=st.just(20),
)


@settings(max_examples=80)
@given(
    workloads(max_jobs=14, resources=1, dependencies=True),
    SCHEMES,
    st.integers(0, 2**32),
    st.sampled_from([0.0, -1.0, 0.4]),
)
def test_a_policy_decides_as_the_compiled_replay(workload: Workload, scheme: Scheme, seed: int, epsilon: float) -> None:
    weights = drawn(seed)
    policy = LearnedPolicy(made(weights, scheme, 8), epsilon)
    whole = simulate(workload, policy, seed=3)
    assert check_schedule(workload, whole) == []
    assert_equal(whole, simulate(workload, window_by_window(policy), seed=3))
    if epsilon == 0:
        assert_equal(whole, replay(workload, scheme, weights))


@pytest.mark.reference
@pytest.mark.parametrize("head", [0, 1])
def test_a_policy_replays_a_real_trace_as_the_compiled_replay(shared: Path, head: int) -> None:
    workload = read_swf(shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz").take(np.arange(3000))
    weights, scheme = drawn(11), Scheme(head=head, longest=14_400)
    policy = LearnedPolicy(made(weights, scheme, workload.cluster.num_nodes))
    whole = simulate(workload, policy)
    assert_equal(whole, simulate(workload, window_by_window(policy)))
    assert_equal(whole, replay(workload, scheme, weights))
    assert {READY, RESERVED, BACKFILLED} == set(whole.mode.tolist())


def test_a_replay_begins_without_the_reservation_of_the_one_before() -> None:
    workload = waiting_for_one()
    policy = window_by_window(LearnedPolicy(made(drawn(0), Scheme(), 8)))
    once, again = simulate(workload, policy), simulate(workload, policy)
    assert policy._holder == -1 or once.start[-1] > 0
    assert_equal(once, again)


def test_the_kept_reservation_comes_before_better_jobs() -> None:
    # Scores fall with the size: of those that came together the smallest is selected. The large job is the head and
    # holds the reservation from 1 s on, so that those that come later and would delay it wait.
    weights = ScorerWeights(*(np.zeros_like(array) for array in drawn(0)))
    weights.features[features.FEATURES.index("size")] = 1
    weights.hidden[:] = 1
    weights.out[:] = -1
    workload = waiting_for_one()
    kept = simulate(workload, LearnedPolicy(made(weights, Scheme(keep=1), 8)))
    anew = simulate(workload, LearnedPolicy(made(weights, Scheme(keep=0), 8)))
    assert kept.start.tolist() == [0, 10, 20, 20]
    assert kept.mode[1] == RESERVED
    assert anew.start[1] > 10


def waiting_for_one() -> Workload:
    """On 8 nodes: one job of 6 runs, one of 8 waits, and then come two of 3 that are longer than the first has left."""
    rows = [(1, 0, 6, 10), (2, 1, 8, 10), (3, 2, 3, 10), (4, 3, 3, 10)]
    jobs = [TracedJob(Job(id=i, submit=at, nodes=n, walltime=t), t) for i, at, n, t in rows]
    return Workload.of(jobs, Cluster(8), "four")
