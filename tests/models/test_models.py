from __future__ import annotations

import numpy as np
import pytest

from transom.errors import ModelError, SpecError
from transom.models import (
    Cluster,
    DrasCapability,
    DrasCapacity,
    Job,
    JobTable,
    Knapsack,
    UsedNodes,
    WaitingNodes,
    Window,
)
from transom.registry import OBJECTIVES, make, names

pytestmark = pytest.mark.fast

CLUSTER = Cluster(8)


def window(*queue: Job, now: int = 100, free: int = 5) -> Window:
    return Window(now, CLUSTER, JobTable.of(queue), JobTable([]), [], [free])


QUEUE = (Job(1, 0, 4, 3600), Job(2, 50, 2, 7200), Job(3, 100, 3, 1800))


@pytest.mark.parametrize(
    ("make_it", "says"),
    [
        (lambda: Job(0, 0, 1, 1), "job 0: id must be > 0"),
        (lambda: Job(1, 0, 0, 1), "job 1: nodes must be > 0, got 0"),
        (lambda: Job(1, 0, 1, 0), "job 1: walltime must be > 0 s, got 0"),
        (lambda: Job(1, 0, 1, 1, (-1,)), "job 1: demand must be >= 0"),
        (lambda: Job(1, 0, 1, 1, depends_on=(1,)), "job 1: depends on itself"),
        (lambda: JobTable([[1, 0, -2, 5, -1, -1]]), "job 1: nodes must be > 0, got -2"),
        (lambda: JobTable([[4, 0, 2, 5, -1, -1]] * 2), "job 4: this id stands 2 times"),
        (lambda: JobTable([[1, 2, 3]]), "expected shape"),
        (lambda: JobTable([[1, 0, 2, 5, -1, -1]], {1: (1,)}), "job 1: depends on itself"),
        (lambda: JobTable.of([Job(1, 0, 1, 1), Job(2, 0, 1, 1, (3,))]), "the same resources"),
        (lambda: Cluster(0), "num_nodes must be > 0"),
        (lambda: Cluster(1, ("gpu",)), "1 resources but 0 capacities"),
        (lambda: Cluster(1, ("a", "a"), (1, 1)), "must be distinct"),
        (lambda: Cluster(1, ("",), (1,)), "must have a name"),
        (lambda: Cluster(1, ("submitting",), (1,)), "does not begin with 'submitting'"),
        (lambda: Cluster(1, ("a", "submitting_a"), (1, 1)), "does not begin with 'submitting'"),
        (lambda: Cluster(1, ("a",), (-1,)), "capacity of a must be >= 0"),
        (lambda: window(*QUEUE, free=9), "exceed the cluster's"),
        (lambda: window(*QUEUE, free=-1), "exceed the cluster's"),
        (lambda: window(*QUEUE, now=99), "job 3 is submitted at 100, after now = 99"),
        (lambda: Window(5, CLUSTER, JobTable([]), JobTable.of(QUEUE[:1]), [5], [4]), "running_end must be > now"),
        (lambda: Window(5, CLUSTER, JobTable.of(QUEUE[:1]), JobTable.of(QUEUE[:1]), [9], [4]), "both queued and"),
        (lambda: Window(5, CLUSTER, JobTable([]), JobTable([]), [9], [4]), "expected shape"),
        (lambda: Knapsack([1], [-1], 3), "item 0: weight must be >= 0, got -1"),
        (lambda: Knapsack([1], [1], -3), "capacity must be >= 0"),
        (lambda: Knapsack([1, 2], [1], 3), "expected shape"),
        (lambda: Knapsack([1], [1], 3, scale=0), "scale must be > 0"),
        (lambda: Knapsack([2**61, 2**61], [1, 1], 3), "sum of the values does not fit"),
        (lambda: DrasCapability(w1=-1), "weights must be finite and >= 0"),
    ],
)
def test_a_broken_condition_is_named(make_it, says: str) -> None:
    with pytest.raises((ModelError, SpecError), match=says):
        make_it()


def test_a_job_table_is_a_sequence_of_jobs() -> None:
    jobs = [Job(5, 0, 2, 60, (1, 2), 7, 3), Job(2, 1, 1, 9, (0, 0), depends_on=(5,))]
    table = JobTable.of(jobs)
    assert list(table) == jobs
    assert table[-1] == jobs[1]
    assert list(table[1:]) == jobs[1:]
    assert table.take([1, 0]).id.tolist() == [2, 5]
    assert table.take([0]).depends_on == {}
    assert jobs[0] in table
    with pytest.raises(IndexError):
        table[2]


def test_objectives_by_hand() -> None:
    at = window(*QUEUE)
    assert UsedNodes()(at).tolist() == [4, 2, 3]
    assert WaitingNodes()(at).tolist() == [4 * 101, 2 * 51, 3]
    third = 1 / 3
    expected = [third + 2 * third * 4 / 8, third / 2 + 2 * third * 2 / 8, 2 * third * 3 / 8]
    assert np.allclose(DrasCapability()(at), expected)
    assert np.allclose(DrasCapability(1, 0, 0)(at), [1, 0.5, 0])
    assert DrasCapacity()(at).tolist() == [1.0, 0.5, 2.0]
    nobody = window(Job(1, 100, 4, 60))
    assert np.allclose(DrasCapability()(nobody), [2 * third * 4 / 8]), "nobody has waited: no division by zero"
    assert all(len(make(OBJECTIVES, name)(window())) == 0 for name in names(OBJECTIVES))


def test_the_knapsack_of_a_window() -> None:
    problem = Knapsack.from_window(window(*QUEUE))
    assert problem == Knapsack([4, 2, 3], [4, 2, 3], 5)
    scaled = Knapsack.from_window(window(*QUEUE), DrasCapacity(), jobs=[2, 0])
    assert scaled == Knapsack([2_000_000, 1_000_000], [3, 4], 5, 1_000_000)


def test_value_and_violations() -> None:
    problem = Knapsack([4, 2, 3], [4, 2, 3], 5)
    assert problem.value([0, 1, 1]) == 5
    assert problem.violations([0, 1, 1]) == []
    assert problem.violations([1, 1, 0]) == ["weight 6 exceeds the capacity 5"]
    assert problem.violations([1, 1]) == ["a solution has shape (3,), got (2,)"]
    assert problem.violations([0, 2, 0]) == ["a solution holds only 0 and 1"]
    assert problem.frozen([0, 1, 1]).tolist() == [False, True, True]


def test_tables_cannot_be_changed_through_what_they_hand_out() -> None:
    table = JobTable.of([Job(1, 0, 1, 1), Job(2, 0, 1, 1, depends_on=(1,)), Job(3, 0, 1, 1)])
    with pytest.raises(TypeError):
        table.depends_on[3] = (1,)
    assert table[1:].data.base is None, "a slice does not lead on to the other jobs"


def test_equal_models_have_equal_digests() -> None:
    assert repr(Cluster(np.int64(4), ("a",), (np.int64(2),))) == repr(Cluster(4, ("a",), (2,)))
    window_ = window(*QUEUE)
    again = Window(np.int64(100), CLUSTER, window_.queue, window_.running, [], [5])
    assert again.digest() == window_.digest()
    for bad in (4.5, "4", 2**70):
        with pytest.raises(ModelError, match="num_nodes"):
            Cluster(bad)


def test_what_is_worth_something_stays_worth_something() -> None:
    tiny = Window(9, Cluster(10_000_000), JobTable.of([Job(1, 9, 1, 60)]), JobTable([]), [], [5])
    assert Knapsack.from_window(tiny, DrasCapability()).values.tolist() == [1]
