from __future__ import annotations

import copy
import sys
from itertools import product

import numpy as np
import pytest

from tests.selection_cases import random_selection, true_front, values_of
from transom.errors import ModelError
from transom.models import Cluster, Job, JobTable, ParetoFront, Selection, Waited, Window
from transom.models.objectives import SCALE, DrasCapability, SitePriority
from transom.models.selection_reduction import reduce_selection
from transom.stop import Stop

pytestmark = pytest.mark.fast

# Three jobs on 4 nodes and 10 units of burst buffer: {0, 2} uses 3 and 10, {1, 2} 4 and 7.
SMALL = Selection([[2, 8], [3, 5], [1, 2]], [4, 10], resources=("nodes", "bb"))
MARKS = np.array([[True, False, True], [False, True, True]])


def every_choice(jobs: int) -> np.ndarray:
    return np.array(list(product((False, True), repeat=jobs)), bool).reshape(2**jobs, jobs)


def test_a_front_by_hand() -> None:
    front = SMALL.front([[False, False, False], [True, False, False], [False, True, False], [False, False, True]])
    assert values_of(front) == {(4, 7), (3, 10)}
    assert front.values.tolist() == [[4, 7], [3, 10]], "best in the first objective first"
    assert front.selections.tolist() == [[False, True, True], [True, False, True]]
    assert SMALL.violations(front) == []
    assert SMALL.in_display_units(front.values).tolist() == [[1.0, 0.7], [0.75, 1.0]]
    # Above -1, as shares of (4 + 1) (10 + 1): 5 x 8 and what (3, 10) adds, 4 x 3.
    assert SMALL.value(front) == pytest.approx((5 * 8 + 4 * 3) / 55)
    assert SMALL.ceiling.tolist() == [4, 10]


@pytest.mark.parametrize("seed", range(300))
def test_the_front_of_all_choices_is_the_true_one(seed: int) -> None:
    problem = random_selection(np.random.default_rng(seed), jobs=seed % 8)
    wanted = true_front(problem)
    choices = every_choice(len(problem))
    choices = choices[problem.feasible(choices)]
    if not wanted:
        assert not len(choices)
        assert problem.trivial() == "infeasible"
        assert reduce_selection(problem) is None
        return
    front = problem.front(choices)
    assert values_of(front) == wanted
    assert problem.violations(front) == []
    assert 0 < problem.value(front) <= 1
    trivial = problem.trivial()
    assert trivial is None or (isinstance(trivial, ParetoFront) and values_of(trivial) == wanted)


@pytest.mark.parametrize("seed", range(300))
def test_nothing_is_lost_by_the_reduction(seed: int) -> None:
    problem = random_selection(np.random.default_rng(1000 + seed), jobs=seed % 9)
    reduced = reduce_selection(problem)
    if reduced is None:
        assert true_front(problem) == set()
        return
    assert (reduced.demands <= reduced.room).all(), "what does not fit alone is gone"
    assert (reduced.demands.sum(axis=0) > reduced.room).all(), "what cannot run out is gone"
    choices = every_choice(len(reduced.jobs))
    fine = (choices.astype(int) @ reduced.demands <= reduced.room).all(axis=1)
    for job, other in zip(*np.nonzero(reduced.parents), strict=True):
        fine &= ~choices[:, job] | choices[:, other]
    chosen = reduced.selections(choices[fine])
    assert problem.feasible(chosen).all()
    assert np.array_equal(problem.evaluate(chosen), reduced.base + choices[fine].astype(int) @ reduced.objectives)
    assert values_of(problem.front(chosen)) == true_front(problem)


def test_many_equal_jobs_are_no_search() -> None:
    problem = Selection([[9, 9, 9], *[[2, 1, 3]] * 500], [333, 200, 400], forced=[1] + [0] * 500)
    assert values_of(problem.trivial()) == {(9 + 260, 9 + 130, 9 + 390)}
    worth = [[0], *[[k % 2] for k in range(500)]]
    assert Selection(problem.demands, problem.capacity, worth).trivial() is None
    assert Selection([[1]] * 3, [2], requires=[(1, 0)]).trivial() is None


def test_pruned_jobs_are_counted() -> None:
    reduced = reduce_selection(Selection([[5], [2], [3], [9]], [4]))
    assert reduced is not None
    assert (reduced.pruned, reduced.jobs.tolist()) == (2, [1, 2])
    # Beside a forced job of 2 only one of 2 fits; an excluded one is not pruned but out.
    reduced = reduce_selection(
        Selection([[2], [2], [3], [1], [1]], [4], forced=[1, 0, 0, 0, 0], excluded=[0, 0, 0, 0, 1])
    )
    assert reduced is not None
    assert (reduced.pruned, reduced.jobs.tolist(), reduced.room.tolist()) == (1, [1, 3], [2])


@pytest.mark.parametrize("seed", range(60))
def test_a_budget_loses_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_selection(rng, jobs=7, resources=3, marks=False, tightness=0.4)
    choices = every_choice(7)
    choices = rng.permutation(choices[problem.feasible(choices)])
    budget = Stop().start(problem)
    for choice in choices:
        budget.found(problem.front(choice[None, :]))
    assert values_of(budget.solution) == true_front(problem)
    assert problem.violations(budget.solution) == []
    assert budget.value == problem.value(budget.solution)
    assert not budget.found(problem.front(choices)), "nothing new"
    values = [value for _, value, _ in budget.curve]
    assert values == sorted(values)


WRONG = [
    (ParetoFront([[3, 10]], MARKS[1:]), "point 0 is not worth what is stated"),
    (ParetoFront([[5, 13]], [[True, True, False]]), "point 0 takes more than the 4 that are free of nodes"),
    (ParetoFront([[1, 2]], [[False, False, True]]), "point 0 leaves out job 0, which still fits"),
    (ParetoFront([[4, 7], [4, 7]], MARKS[[1, 1]]), "point 1 is no better than another point"),
    (ParetoFront([[4, 7]], MARKS[1:, :2]), "selections have shape"),
    (ParetoFront([[4]], MARKS[1:]), "values have shape"),
    (MARKS, "a solution is a ParetoFront, got ndarray"),
]


@pytest.mark.parametrize(("front", "says"), WRONG)
def test_the_judge_finds_what_is_wrong(front: ParetoFront, says: str) -> None:
    assert says in "; ".join(SMALL.violations(front))


def test_jobs_are_not_asked_one_by_one_whether_they_still_fit() -> None:
    # Long job j takes (j + 1, 200 - j) of (200, 200) and leaves (199 - j, j): no other long job fits, and none of the
    # short ones (x, 200 - x), though each of them fits into the most that is left of either resource. One does: 3100
    # beside the long job 150.
    long, short = np.arange(200), 1 + np.arange(3000) % 199
    demands = np.vstack((np.column_stack((long + 1, 200 - long)), np.column_stack((short, 200 - short))))
    problem = Selection(demands, [200, 200])
    front = ParetoFront(demands[long], np.eye(len(demands), dtype=bool)[long])
    calls = 0

    def count(*event: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        broken, completed = problem.violations(front), problem.greedy_complete(front.selections)
    finally:
        sys.setprofile(None)
    assert broken == []
    assert np.array_equal(completed, front.selections)
    assert calls < 1000, "of 3,200 jobs"
    demands[3100] = (49, 150)
    problem = Selection(demands, [200, 200])
    alone = front.selections[::-1]
    completed = problem.greedy_complete(alone)
    assert np.argwhere(completed & ~alone).tolist() == [[49, 3100]]
    assert problem.violations(front) == ["point 150 leaves out job 3100, which still fits"]


def test_the_judge_knows_marks_and_dependencies() -> None:
    demands = [[1], [1], [1]]
    forced = Selection(demands, [2], forced=[0, 0, 1])
    assert "lacks a forced job" in str(forced.violations(ParetoFront([[2]], [[True, True, False]])))
    excluded = Selection(demands, [2], excluded=[0, 0, 1])
    assert "holds an excluded job" in str(excluded.violations(ParetoFront([[2]], [[True, False, True]])))
    requires = Selection(demands, [2], requires=((0, 1),))
    assert "job 0 without job 1" in str(requires.violations(ParetoFront([[2]], [[True, False, True]])))
    assert requires.violations(ParetoFront([[2]], [[True, True, False]])) == []
    # Job 0 may not be added, for job 1 is not there; job 1 may.
    assert "leaves out job 1" in str(requires.violations(ParetoFront([[1]], [[False, False, True]])))
    assert requires.front([[False, False, False]]).selections.tolist() == [[False, True, True]]
    assert requires.greedy_complete([[False, True, False]]).tolist() == [[True, True, False]], "in queue order"


BAD = [
    ({"demands": [[-1, 2]]}, "job 0: demands must be >= 0, got -1"),
    ({"demands": [[0.5, 2]]}, "expected integers, got 0.5"),
    ({"demands": [[1, 2, 3]]}, "capacity: expected shape"),
    ({"demands": [[1, 2], [3]]}, "not a rectangular array"),
    ({"capacity": [-4, 10]}, "capacity must be >= 0, got -4"),
    ({"objectives": [[1], [2]]}, "objectives: expected shape"),
    ({"objectives": [[-1]]}, "job 0: objectives must be >= 0"),
    ({"objectives": np.empty((1, 0))}, "an objective at least"),
    ({"demands": [[2**53, 1]]}, r"demands does not stay below 2\*\*53"),
    ({"resources": ("nodes",)}, "resources must be 2 distinct names"),
    ({"resources": ("bb", "bb")}, "resources must be 2 distinct names"),
    ({"resources": ("bb", "")}, "resources must be 2 distinct names"),
    ({"objectives": [[7]], "terms": ("r0",)}, "'r0' is not the demand on that resource"),
    ({"scales": (1,)}, "expected a scale > 0 for each of 2"),
    ({"scales": (1, 0)}, "expected a scale > 0"),
    ({"totals": [3, 10]}, "totals .* are less than the capacity"),
    ({"forced": [1, 0]}, "forced must be 1 marks"),
    ({"excluded": [2]}, "excluded must be 1 marks"),
    ({"requires": ((0, 0),)}, "job 0 requires itself, in a circle"),
    ({"requires": ((0, 3),)}, "job 0 requires job 3, but there are 1"),
]


@pytest.mark.parametrize(("change", "says"), BAD)
def test_bad_data_is_named(change: dict[str, object], says: str) -> None:
    with pytest.raises(ModelError, match=says):
        Selection(**{"demands": [[2, 8]], "capacity": [4, 10], **change})


def test_circles_of_requirements_are_refused() -> None:
    with pytest.raises(ModelError, match="in a circle"):
        Selection([[1]] * 4, [4], requires=((1, 2), (2, 3), (3, 1)))


def test_it_is_frozen_and_comparable() -> None:
    front = SMALL.front([[False] * 3])
    for thing in (SMALL, front):
        again = copy.deepcopy(thing)
        assert again == thing
        assert again.digest() == thing.digest()
    for array in (SMALL.demands, SMALL.objectives, SMALL.forced, front.values, front.selections):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert Selection([[2, 8]], [4, 10]) != Selection([[2, 8]], [4, 11])
    with pytest.raises(ModelError, match="a point at least"):
        ParetoFront(np.empty((0, 2)), np.empty((0, 3)))
    with pytest.raises(ModelError, match="2 points, but selections"):
        ParetoFront([[1], [2]], [[True]])


def a_window() -> Window:
    cluster = Cluster(8, ("bb", "gpu"), (100, 4))
    queue = [
        Job(1, 0, 4, 3600, (50, 1), priority=7),
        Job(2, 40, 2, 7200, (0, 0)),
        Job(3, 90, 3, 1800, (70, 2), depends_on=(9,)),
        Job(4, 100, 1, 60, (10, 0), depends_on=(8, 1)),
    ]
    running = JobTable.of([Job(9, 0, 3, 500, (20, 1))])
    return Window(100, cluster, JobTable.of(queue), running, [500], [5, 80, 3])


def test_of_a_window() -> None:
    problem = Selection.from_window(a_window())
    assert problem.resources == problem.terms == ("nodes", "bb", "gpu")
    assert problem.demands.tolist() == [[4, 50, 1], [2, 0, 0], [3, 70, 2], [1, 10, 0]]
    assert (problem.capacity.tolist(), problem.totals.tolist()) == ([5, 80, 3], [8, 100, 4])
    assert problem.excluded.tolist() == [False, False, True, True], "their parents run or wait"
    assert values_of(problem.front([[False] * 4])) == {(4, 50, 1)}
    assert problem.in_display_units([[4, 50, 1]]).tolist() == [[0.5, 0.5, 0.25]]


def test_objectives_of_a_window() -> None:
    terms = {"gpu": None, "waited": Waited(), "priority": SitePriority(), "dras": DrasCapability()}
    problem = Selection.from_window(a_window(), terms, jobs=[0, 1])
    assert problem.terms == ("gpu", "waited", "priority", "dras")
    assert problem.objectives[:, :3].tolist() == [[1, 101, 7], [0, 61, 0]]
    assert problem.scales == (1, 1, 1, SCALE)
    assert problem.in_display_units(problem.objectives[:1])[0, 3] == pytest.approx(1 / 3 + 2 / 3 * 4 / 8, abs=1e-6)
    assert Selection.from_window(a_window(), ("bb",)).objectives.tolist() == [[50], [0], [70], [10]]
    assert Selection.from_window(a_window(), forced=[1]).forced.tolist() == [False, True, False, False]
    with pytest.raises(ModelError, match="'tape' is no resource of the cluster; it has nodes, bb, gpu"):
        Selection.from_window(a_window(), ("tape",))
    with pytest.raises(ModelError, match="has the name of a resource"):
        Selection.from_window(a_window(), {"gpu": Waited()})
    with pytest.raises(ModelError, match="are not all among the jobs"):
        Selection.from_window(a_window(), jobs=[0], forced=[1])


def test_capacities_of_several_resources_are_not_added_up() -> None:
    most = 2**53 - 1
    problem = Selection([[most, 1], [0, most - 1]], [most, most])
    assert problem.trivial() is not None
    with pytest.raises(ModelError, match=r"selection: capacity does not stay below 2\*\*53"):
        Selection([[1, 1]], [1, 2**53])
