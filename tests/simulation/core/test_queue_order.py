"""The order that changes with time: compiled, it is that of the path in Python, for all rules and passes."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from tests.simulation.passes.test_conservative_backfill import random_workload
from transom.errors import SpecError
from transom.generate.instances.workflows import random_workflow
from transom.heuristics.priority_rules import KernelRule, Scores, Unicep, Wfp3
from transom.models import JobTable
from transom.simulation import Schedule, simulate
from transom.simulation.core import replay
from transom.simulation.core.events import COUNTERS, NOW, QUEUED, RANK, STARTED
from transom.simulation.core.queue_order import KINDS, queue_order, reorder
from transom.simulation.core.site_order import site_order
from transom.simulation.workflows.stream import stream_of
from transom.traces import Workload

POLICIES = [rule + tail for rule in ("wfp3", "unicep") for tail in ("", "-easy", "-conservative")]


class Ageing:
    """A rule from outside, with many equal scores: nodes less what was waited in whole minutes."""

    timeless = False

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> Scores:
        return jobs.nodes - (now - jobs.submit) // 60.0


class AgeingKernel(Ageing):
    """The same with a kernel that is a plain function."""

    @staticmethod
    def kernel(facts, queue, count, now, scores):
        for i in range(count):
            scores[i] = facts[queue[i], 1] - (now - facts[queue[i], 0]) // 60.0

    def facts(self, jobs: JobTable, origin: int, /) -> Scores:
        return np.column_stack((jobs.submit, jobs.nodes)).astype(np.float64)


class TooFew(AgeingKernel):
    """Its facts are of one job too few."""

    def facts(self, jobs: JobTable, origin: int, /) -> Scores:
        return super().facts(jobs, origin)[1:]


def in_python(workload: Workload, policy: str) -> Schedule:
    """A replay that orders the queue in Python before every pass."""
    with mock.patch.object(replay, "queue_order", return_value=None):
        return simulate(workload, policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_schedules_equal_those_of_the_path_in_python(policy: str) -> None:
    rng = np.random.default_rng(14)
    for most in (1, 20, 20, 60, 60, 120, 120, 200):
        workload = random_workload(rng, most)
        assert simulate(workload, policy) == in_python(workload, policy)


def long_queue(rng: np.random.Generator, family: str, count: int, largest: int, kinds: int) -> Workload:
    """Tasks of a workflow, some of which are alike; as ``wide`` all wait for the first one."""
    flow = random_workflow(rng, "chain" if family == "wide" else family, count, 200, largest=largest)
    edges = [(0, task) for task in range(1, count)] if family == "wide" else flow.edges
    few = np.quantile(flow.runtimes, np.arange(1, kinds + 1) / kinds).round()
    return stream_of([replace(flow, edges=edges, runtimes=rng.choice(few, count), walltimes=None)], 16).workload


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", ["wide", "layered", "out-tree", "in-tree"])
def test_long_queues_of_few_kinds_are_ordered_by_kind(family: str, policy: str) -> None:
    rng = np.random.default_rng(18)
    for largest, kinds in ((1, 8), (4, 30), (8, 3)):
        workload = long_queue(rng, family, 600, largest, kinds)
        assert simulate(workload, policy) == in_python(workload, policy)


@pytest.mark.parametrize("rule", [Wfp3(), Unicep(), AgeingKernel()])
def test_jobs_are_inserted_among_others_of_their_kind(rule: KernelRule) -> None:
    rng = np.random.default_rng(19)
    jobs = random_jobs(rng, 4000)
    few = JobTable(
        np.column_stack((jobs.id, jobs.submit // 5000 * 5000, jobs.nodes, jobs.walltime, *[[-1] * 4000] * 2))
    )
    order = queue_order(rule, few, 0)
    assert order is not None
    waiting, at = rng.permutation(3000), np.zeros(COUNTERS, np.int64)
    queue, coming = np.append(waiting, np.zeros(1000, np.int64)), iter(rng.permutation(np.arange(3000, 4000)))
    at[NOW], at[QUEUED] = 10**4, 3000
    inserted = 0
    for _ in range(60):
        inserted += order.at[KINDS] > 0
        reorder(
            order,
            np.zeros((4000, RANK + 1), np.int64),
            queue,
            np.zeros((0, 2), np.int64),
            *np.zeros((2, 1), np.int64),
            at,
        )
        count = at[QUEUED]
        assert np.array_equal(
            queue[:count], np.sort(queue[:count])[site_order(rule, few.take(np.sort(queue[:count])), at[NOW], 0)]
        )
        gone = np.sort(rng.choice(20, int(rng.integers(0, 4)), replace=False))  # they start
        queue[: count - len(gone)] = np.delete(queue[:count], gone)
        at[STARTED] += len(gone)
        new = [next(coming) for _ in range(int(rng.integers(0, 12)))]
        queue[count - len(gone) : count - len(gone) + len(new)] = new
        at[QUEUED] += len(new) - len(gone)
        at[NOW] += int(rng.integers(0, 30))
    assert inserted > 30


@pytest.mark.parametrize("tail", ["", "-easy", "-conservative"])
def test_a_rule_from_outside_may_bring_a_plain_function_or_none(tail: str) -> None:
    rng = np.random.default_rng(15)
    for most in (20, 60, 120):
        workload = random_workload(rng, most)
        schedules = []
        for rule in (Ageing(), AgeingKernel()):
            with mock.patch.object(replay, "load_rule", return_value=rule):
                schedules.append(simulate(workload, "wfp3" + tail))
        assert schedules[0] == schedules[1]


@pytest.mark.parametrize("rule", [Wfp3(), Unicep(), AgeingKernel()])
def test_the_order_and_the_scores_are_those_of_the_rule(rule: KernelRule) -> None:
    rng = np.random.default_rng(16)
    for count in (0, 1, 2, 7, 64, 1000):
        jobs = random_jobs(rng, count)
        order = queue_order(rule, jobs, 0)
        assert order is not None
        queue, at = rng.permutation(count), np.zeros(COUNTERS, np.int64)
        for now in (10**4, 10**4 + 3, 10**6):
            at[NOW], at[QUEUED] = now, count
            reorder(
                order,
                np.zeros((count, RANK + 1), np.int64),
                queue,
                np.zeros((0, 2), np.int64),
                *np.zeros((2, 1), np.int64),
                at,
            )
            assert np.array_equal(queue, site_order(rule, jobs, now, 0))
            assert np.array_equal(order.scores[:count], rule(jobs, now, 0)[queue]), "bit by bit"


def random_jobs(rng: np.random.Generator, count: int) -> JobTable:
    """Jobs in the order of submission, many of them alike."""
    submit = np.sort(rng.integers(0, 10**4, count) // 100 * 100)
    unknown = np.full(count, -1)
    nodes, walltime = rng.choice([1, 2, 3, 27, 128], count), rng.choice([60, 600, 1800, 86_400], count)
    return JobTable(np.column_stack((np.arange(1, count + 1), submit, nodes, walltime, unknown, unknown)))


def test_only_rules_with_a_kernel_whose_order_changes_are_asked_in_the_loop() -> None:
    jobs = random_jobs(np.random.default_rng(17), 5)
    assert queue_order(Ageing(), jobs, 0) is None
    with mock.patch.object(Wfp3, "timeless", True):
        assert queue_order(Wfp3(), jobs, 0) is None


def test_facts_have_a_row_for_each_job() -> None:
    with pytest.raises(SpecError, match=r"TooFew: expected facts of shape \(5, k\), got \(4, 2\)"):
        queue_order(TooFew(), random_jobs(np.random.default_rng(18), 5), 0)
