from __future__ import annotations

import pickle
from dataclasses import dataclass
from inspect import signature

import numpy as np
import pytest

from transom.errors import ModelError
from transom.models import Cluster, Job, JobTable, Knapsack, Window
from transom.models.arrays import Frozen, frozen_ints

pytestmark = pytest.mark.fast


@pytest.fixture
def window() -> Window:
    queue = JobTable.of([Job(1, 0, 2, 60, (1,)), Job(2, 5, 1, 30, (0,), user=7, depends_on=(9,))])
    running = JobTable.of([Job(3, 0, 1, 90, (2,))])
    return Window(10, Cluster(4, ("gpu",), (4,)), queue, running, [90], [3, 2])


def test_arrays_are_copied_and_read_only_also_after_pickling(window: Window) -> None:
    given = np.array([3, 4])
    problem = Knapsack(given, [1, 2], 2)
    given[0] = 99
    assert problem.values.tolist() == [3, 4]
    for thing in (problem, window):
        twin = pickle.loads(pickle.dumps(thing))  # noqa: S301
        assert twin == thing
        assert hash(twin) == hash(thing)
        assert twin.digest() == thing.digest()
    for array in (problem.values, pickle.loads(pickle.dumps(problem)).weights, window.queue.data, window.available):  # noqa: S301
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        problem.capacity = 5


def test_equality_and_digest_see_every_field(window: Window) -> None:
    base = Knapsack([3, 4], [1, 2], 2)
    others = [
        Knapsack([3, 5], [1, 2], 2),
        Knapsack([3, 4], [1, 1], 2),
        Knapsack([3, 4], [1, 2], 3),
        Knapsack([3, 4], [1, 2], 2, scale=10),
    ]
    assert all(base != other and base.digest() != other.digest() for other in others)
    assert base != "knapsack"


def test_constructors_say_what_they_take() -> None:
    told = {name: each.annotation for name, each in signature(Knapsack).parameters.items()}
    assert told == {"values": "ArrayLike", "weights": "ArrayLike", "capacity": "int", "scale": "int"}
    assert signature(Cluster).parameters["resources"].annotation == "Sequence[str]"


def test_digests_do_not_depend_on_the_process() -> None:
    # Written down once: stored results name their instance by it.
    assert Knapsack([3, 4, 5], [2, 3, 4], 5).digest() == "759cef9c459f21cd070cefaa95d1c7b6"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1.5], "expected integers, got 1.5"),
        ([float("nan")], "expected integers, got nan"),
        ([float("inf")], "expected integers, got inf"),
        ([2**63], "does not fit into 64 bits"),
        ([2**70], "expected integers of 64 bits"),
        (["a"], "expected integers of 64 bits"),
        ([[1, 2], [3]], "not a rectangular array"),
        ([[1, 2]], r"expected shape \(-1,\)"),
    ],
)
def test_what_is_not_an_array_of_integers_is_refused(values: list, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        frozen_ints(values, "x", (-1,))


def test_whole_floats_and_nothing_at_all_are_integers() -> None:
    assert frozen_ints([2.0, -3.0], "x").dtype == np.int64
    assert frozen_ints([], "x", (-1,)).shape == (0,)


def test_sequences_of_arrays_are_compared_by_content() -> None:
    @dataclass(frozen=True, eq=False)
    class Pieces(Frozen):
        arrays: tuple[np.ndarray, ...]

    long = np.arange(5000)
    other = np.where(long == 2500, -1, long)  # repr shows the ends alone
    assert Pieces((long,)) == Pieces((long.copy(),))
    assert hash(Pieces((long,))) == hash(Pieces((long.copy(),)))
    assert Pieces((long,)) != Pieces((other,))
    assert Pieces((long,)) != Pieces((long, long))
    assert Pieces((long,)).digest() != Pieces((other,)).digest()
