from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.selection_cases import true_front
from tests.simulation.workloads import workloads
from transom import registry
from transom.models import Cluster, Job, Selection
from transom.rng import stream
from transom.simulation import make_policy, simulate
from transom.simulation.selection_policy import (
    SelectionPolicy,
    bbsched,
    constrained,
    dot_product,
    multisched,
    weighted,
)
from transom.simulation.verification import check_schedule
from transom.traces import TracedJob, Workload


class Enumeration:
    """Every subset of a few jobs: the whole front."""

    name, solves = "enumeration", Selection

    def supports(self, problem, /):  # type: ignore[no-untyped-def]
        return None

    def __call__(self, problem, budget, rng, /, start=None):  # type: ignore[no-untyped-def]
        subsets = np.array(np.meshgrid(*[[False, True]] * len(problem))).reshape(len(problem), -1).T
        budget.found(problem.front(subsets[problem.feasible(subsets)]))
        budget.prove(budget.value)


class Dice(Enumeration):
    """One feasible choice at random, by the generator that it is given."""

    def __call__(self, problem, budget, rng, /, start=None):  # type: ignore[no-untyped-def]
        chosen = np.zeros((1, len(problem)), bool)
        for job in rng.permutation(len(problem)):
            chosen[0, job] = rng.random() < 0.6
            chosen[0, job] &= problem.feasible(chosen)[0]
        budget.found(problem.front(chosen))


class Broken(Enumeration):
    def __call__(self, problem, budget, rng, /, start=None):  # type: ignore[no-untyped-def]
        raise RuntimeError("out of order")


@pytest.fixture(autouse=True)
def _solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the solvers above under names of their own."""
    real = registry.make

    def make(group, spec, problem=None):  # type: ignore[no-untyped-def]
        mine = {"enumeration": Enumeration, "dice": Dice, "broken": Broken}
        return mine[spec]() if group == registry.SOLVERS and spec in mine else real(group, spec, problem)

    monkeypatch.setattr(registry, "make", make)


EXACT = {"solver": "enumeration", "seconds": None}


def machine(*rows: tuple[int, ...], capacity: int = 10) -> Workload:
    """A workload on 8 nodes and a burst buffer from (id, submit, nodes, buffer, walltime[, runtime])."""
    jobs = [TracedJob(Job(id_, at, n, w, (bb,)), *(rest or [w])) for id_, at, n, bb, w, *rest in rows]
    return Workload.of(jobs, Cluster(8, ("bb",), (capacity,)))


class Recording(SelectionPolicy):
    """Keeps every window with its decision."""

    def decide(self, window, /):  # type: ignore[no-untyped-def]
        decision = SelectionPolicy.decide(self, window)
        self.seen.append((window, decision))
        return decision

    def __init__(self, **settings: object) -> None:
        SelectionPolicy.__init__(self, **settings)  # type: ignore[arg-type]
        self.seen: list[tuple] = []


def check_promises(workload: Workload, schedule, policy: Recording) -> int:  # type: ignore[no-untyped-def]
    """No promise is given up, gets later or is broken, and nobody is passed over more often than the bound allows."""
    start = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
    promised: dict[int, int] = {}
    passed: dict[int, int] = {}
    for window, decision in policy.seen:
        queue = window.queue.id.tolist()
        gone = {*decision.start, *decision.backfill}
        held = {each.job: each.start for each in decision.reserve}
        assert all(begin > window.now for begin in held.values())
        for job, begin in promised.items():
            if start[job] > window.now:
                assert held[job] <= begin
            else:
                assert start[job] <= begin
        last = max((place for place, job in enumerate(queue) if job in gone), default=0)
        for job in queue[:last]:
            if job not in gone:
                passed[job] = passed.get(job, 0) + 1
        for job in queue:
            if job in held and job not in promised:
                assert passed[job] == policy.bound
            if job not in gone and passed.get(job, 0) >= policy.bound:
                assert job in held
        promised = held
        assert list(held) == sorted(held, key=list(held).index)
    return sum(len(decision.reserve) for _, decision in policy.seen)


@settings(max_examples=150)
@given(
    workloads(max_jobs=25, exact=True, resources=2, dependencies=True),
    st.integers(1, 5),
    st.integers(1, 3),
    st.sampled_from(["fcfs", "sjf", "wfp3"]),
)
def test_promises_are_kept_with_exact_walltimes(workload: Workload, size: int, bound: int, order: str) -> None:
    policy = Recording(size=size, bound=bound, order=order, rule="weighted", **EXACT)
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    check_promises(workload, schedule, policy)


@settings(max_examples=150)
@given(
    workloads(max_jobs=25, resources=2),
    st.one_of(st.none(), st.floats(0.05, 1)),
    st.integers(1, 3),
    st.integers(0, 100),
)
def test_promises_are_kept_when_jobs_end_early(workload: Workload, k: float | None, bound: int, seed: int) -> None:
    policy = Recording(k=k, size=3, bound=bound, solver="dice", seconds=None)
    schedule = simulate(workload, policy, seed=seed)
    assert check_schedule(workload, schedule) == []
    check_promises(workload, schedule, policy)
