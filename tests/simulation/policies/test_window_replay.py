"""The window policy of dp in one compiled loop: decisions as window by window."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.workloads import workloads
from transom import registry, solve
from transom.errors import ModelError, PolicyError, UnsupportedError
from transom.models import Cluster, Job, JobTable, Knapsack
from transom.simulation import Schedule, simulate
from transom.simulation.core import drive
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.recording import read_schedule, write_schedule
from transom.simulation.output.verification import check_schedule
from transom.simulation.policies import window_replay
from transom.simulation.policies.window import WindowPolicy
from transom.simulation.policies.window_choice import OBJECTIVES, choose, stands
from transom.traces import TracedJob, Workload, read_swf

NAMES = ("nodes", "wait", "waited", "priority", "dras-capability", "dras-capability:w1=0.7,w3=0", "dras-capacity")


def window_by_window(workload: Workload, policy: str) -> Schedule:
    """A replay whose windows are all decided by the policy's own method."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_replay, "takes", lambda *of: False)
        return simulate(workload, policy)


def assert_same(fast: Schedule, slow: Schedule) -> None:
    """The same schedule and decisions, but for the seconds that they took."""
    assert list(fast.decisions) == list(slow.decisions)
    fast, slow = (
        replace(each, decisions={name: of for name, of in each.decisions.items() if name != "seconds"})
        for each in (fast, slow)
    )
    for name, column in fast.decisions.items():
        assert column.dtype == slow.decisions[name].dtype, name
        assert column.tolist() == slow.decisions[name].tolist(), name
    assert fast == slow


def prioritised(workload: Workload) -> Workload:
    data = workload.jobs.data.copy()
    data[:, 5] = np.arange(len(data)) * 7 % 5 - 1
    return replace(workload, jobs=JobTable(data, workload.jobs.depends_on))


def test_the_objectives_are_all_there_are() -> None:
    known = {type(registry.make(registry.OBJECTIVES, name)) for name in registry.names(registry.OBJECTIVES)}
    assert known == set(OBJECTIVES)


@settings(max_examples=250)
@given(
    workloads(max_jobs=25, resources=1, dependencies=True, overrun=True) | workloads(max_jobs=25),
    st.sampled_from(NAMES),
    st.sampled_from(["size=1", "size=3", "size=50", "k=0.3", "k=1"]),
    st.booleans(),
    st.sampled_from(["fcfs", "saf", "wfp3"]),
)
def test_decisions_equal_those_window_by_window(
    workload: Workload, objective: str, length: str, easy: bool, order: str
) -> None:
    policy = f"window:solver=dp,objective=[{objective}],{length},easy={'yes' if easy else 'no'},order={order}"
    workload = prioritised(workload)
    try:
        fast = simulate(workload, policy)
    except PolicyError as error:  # jobs of priority 0 are never chosen
        with pytest.raises(PolicyError, match=re.escape(str(error))):
            window_by_window(workload, policy)
        return
    assert_same(fast, window_by_window(workload, policy))
    assert check_schedule(workload, fast) == []


def crowded(seed: int, jobs: int = 300, nodes: int = 200) -> Workload:
    """More jobs at once than fit, of round sizes and times, so that many choices are worth the same."""
    rng = np.random.default_rng(seed)
    rows = zip(
        np.sort(rng.integers(0, 3000, jobs)).tolist(), (rng.integers(1, 30, jobs) * 5).tolist(),
        (rng.integers(1, 9, jobs) * 60).tolist(), rng.random(jobs).tolist(), strict=True,
    )  # fmt: skip
    traced = (
        TracedJob(Job(i + 1, submit, size, walltime, priority=1 + i % 7), max(1, int(used * walltime)))
        for i, (submit, size, walltime, used) in enumerate(rows)
    )
    return Workload.of(traced, Cluster(nodes))


@pytest.mark.parametrize("jobs", [100, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize("objective", NAMES)
def test_crowded_queues(objective: str, jobs: int) -> None:
    for seed, settings_ in enumerate(("size=50", "size=256", "k=0.5", "size=20,easy=no", "size=50,order=unicep")):
        policy = f"window:solver=dp,objective=[{objective}],{settings_}"
        workload = crowded(seed, jobs)
        assert_same(simulate(workload, policy), window_by_window(workload, policy))


@pytest.mark.parametrize("settings_", ["size=50", "k=0.5", "size=20,easy=no", "size=20,order=wfp3"])
@pytest.mark.parametrize("changed", ["_CELLS=0", "_CELLS=300", "_WORK=1", "PAGE=1"])
def test_what_the_loop_leaves_is_decided_window_by_window(
    settings_: str, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, workload = f"window:solver=dp,objective=wait,{settings_}", crowded(7, 150)
    slow = window_by_window(workload, policy)
    name, value = changed.split("=")
    monkeypatch.setattr(drive if name == "PAGE" else window_replay, name, int(value))
    assert_same(simulate(workload, policy), slow)


def test_a_table_beyond_the_memory_is_refused() -> None:
    jobs = [TracedJob(Job(i + 1, 0, 200_003 + i, 10), 10) for i in range(9)]
    with pytest.raises(UnsupportedError, match="more than memory=1"):
        simulate(Workload.of(jobs, Cluster(10**6)), "window:solver=[dp:memory=1],objective=waited")


def test_values_beyond_62_bits_are_refused() -> None:
    jobs = [TracedJob(Job(1, 0, 2**40, 2**20), 2**20), *(TracedJob(Job(i, 1, 2**40, 1), 1) for i in range(2, 10))]
    with pytest.raises(ModelError, match="do not fit into 62 bits"):
        simulate(Workload.of(jobs, Cluster(2**40)), "window:solver=dp,objective=wait")


@pytest.mark.parametrize(
    ("settings_", "taken"),
    [
        ("solver=dp", True), ("solver=dp,seconds=none", True), ("solver=dp,seconds=0.1", True),
        ("solver=dp,seconds=0.01", False), ("solver=dp,iterations=9", False), ("solver=primal-dual", False),
        ("solver=greedy", False), ("solver=auto", False),
    ],
)  # fmt: skip
def test_other_solvers_and_stops_go_window_by_window(settings_: str, taken: bool) -> None:
    policy: Any = registry.make(registry.POLICIES, f"window:{settings_}")
    assert (policy.run is not None) is taken


def test_settings_beyond_64_bits_are_as_good_as_none() -> None:
    plain = simulate(crowded(5), "window:solver=dp,size=1000")
    huge = simulate(crowded(5), f"window:solver=[dp:memory={10**30}],size={10**30}")
    assert plain.start.tolist() == huge.start.tolist()


def test_a_policy_that_overrides_the_decision_is_asked() -> None:
    class Own(WindowPolicy):
        pass

    assert Own(solver="dp").run is None


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 60, 10**6, 2**55]), st.integers(0, 40))
def test_a_choice_is_the_one_of_dp(seed: int, largest: int, items: int) -> None:
    rng = np.random.default_rng(seed)
    values, weights = rng.integers(-1, largest, items), rng.integers(0, rng.integers(2, 200), items)
    values *= rng.integers(1, 4)
    capacity = int(rng.integers(0, 40 + weights.sum()))
    solved, value, chosen, _ = choose(values, weights, capacity, 10**8, 2**30)
    result = solve(Knapsack(values, weights, capacity), "dp")
    if not solved:  # products of such values do not fit into 62 bits; the policy decides
        assert largest == 2**55
        return
    assert (value, chosen.tolist()) == (result.value, result.solution.tolist())
    assert stands(values, weights, capacity, chosen, value)
    assert not stands(values, weights, capacity, chosen, value + 1)
    if chosen.any() and weights[chosen].sum():
        assert not stands(values, weights, int(weights[chosen].sum()) - 1, chosen, value)


def test_recordings_are_the_same(tmp_path: Path) -> None:
    policy = "window:solver=dp"
    for name, schedule in (("fast", simulate(crowded(3), policy)), ("slow", window_by_window(crowded(3), policy))):
        write_schedule(schedule, tmp_path / name, assign_nodes(schedule))
    assert_same(read_schedule(tmp_path / "fast"), read_schedule(tmp_path / "slow"))


@pytest.fixture(scope="module")
def traces(shared: Path) -> dict[str, Workload]:
    """A thousand jobs of each trace."""
    names = ("theta_2022", "SDSC-SP2-1998-4.2-cln", "HPC2N-2002-2.2-cln")
    return {name: read_swf(shared / "traces" / f"{name}.swf.gz").take(np.arange(4000, 5000)) for name in names}


@pytest.mark.reference
@pytest.mark.parametrize("jobs", [250, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("settings_", [*(f"objective=[{name}]" for name in NAMES), "size=20", "k=0.5", "easy=no"])
@pytest.mark.parametrize("name", ["theta_2022", "SDSC-SP2-1998-4.2-cln", "HPC2N-2002-2.2-cln"])
def test_decisions_on_real_traces(name: str, settings_: str, jobs: int, traces: dict[str, Workload]) -> None:
    workload = traces[name].take(np.arange(jobs))
    policy = f"window:solver=dp,{settings_}"
    assert_same(simulate(workload, policy), window_by_window(workload, policy))
