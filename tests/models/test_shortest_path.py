from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from tests.allocation_cases import allocations, arcs_of, every_solution
from transom import solve
from transom.errors import ModelError
from transom.models import Allocation, ConstrainedPath, FatTree

pytestmark = pytest.mark.fast

INF = np.inf


def small() -> ConstrainedPath:
    return ConstrainedPath(5, [2, 3], [1, 1], [[4.0, 2.0, 3.0, 1.0, INF], [6.0, 5.0, 9.0, INF, INF]])


@given(allocations("static", max_idle=9).map(lambda p: Allocation(p.tree, p.idle, p.sizes, "static", False, p.cost)))
@settings(max_examples=50)
def test_static_allocations_without_wrap_are_paths(problem: Allocation) -> None:
    path = ConstrainedPath.from_allocation(problem)
    for owner in itertools.islice(every_solution(problem), 50):
        arcs = arcs_of(owner)
        assert path.violations(arcs) == []
        assert path.value(arcs) == pytest.approx(problem.value(np.array(owner)), rel=1e-12)
        back = path.to_owner(arcs, problem.sizes)
        assert problem.violations(back) == []
        assert problem.value(back) == pytest.approx(problem.value(np.array(owner)), rel=1e-12)


def test_the_example_of_section_4b() -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(10), [4, 4], wrap=False)
    path = ConstrainedPath.from_allocation(problem)
    assert (path.length, path.sizes.tolist(), path.counts.tolist(), len(path)) == (10, [4], [2], 2)
    graph = path.graph()
    assert graph.number_of_nodes() == 11
    assert graph.number_of_edges() == 10 + 7
    assert graph[0][4] == {"weight": problem.block_costs([4])[0, 0], "size": 4}
    assert graph[9][10] == {"weight": 0.0, "size": 0}


def test_values_and_violations() -> None:
    path = small()
    assert path.value([[0, 3], [3, 2]]) == 7
    assert path.violations([[0, 3], [3, 2]]) == []
    assert path.violations([[0, 3]]) == ["takes 0 arcs of size 2 instead of 1"]
    assert "begins before the one from 0 has ended" in path.violations([[0, 3], [2, 2]])[0]
    assert path.violations([[0, 4]]) == ["there is no arc of size 4"]
    assert path.violations([[3, 3], [0, 2]]) == ["there is no arc of size 3 from 3"]
    assert path.violations([[-1, 3]]) == ["there is no arc of size 3 from -1"]
    assert path.violations([0.5, 1]) != []
    assert path.violations(np.zeros((2, 3), int))[0].startswith("a solution has shape")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((-1, [], [], np.empty((0, 0))), "length must be >= 0"),
        ((5, [3, 2], [1, 1], np.full((2, 5), INF)), "distinct and ascending"),
        ((5, [1], [1], np.full((1, 5), INF)), "at least 2"),
        ((5, [2], [0], np.full((1, 5), INF)), "counts must be > 0"),
        ((5, [2], [1], np.full((1, 4), INF)), "expected shape"),
        ((5, [2], [1], np.full((1, 5), 1.0)), "an arc of size 2 would end beyond the last node 5"),
        ((5, [2], [1], np.full((1, 5), np.nan)), "costs must be numbers"),
        ((5, [2], [1], [["a"] * 5]), "rectangular array of numbers"),
        ((5, [2, 3], [2**62, 2**62], np.full((2, 5), INF)), "count 4611686018427387904 is more than any system has"),
        ((5, [2**41], [1], np.full((1, 5), INF)), "size 2199023255552 is more than"),
        ((5, [2], [1], np.full((1, 5), -1e308)), "from -1e.300 to 1e.300"),
    ],
)
def test_what_is_no_path_problem_is_refused(args: tuple[object, ...], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        ConstrainedPath(*args)


def test_only_static_allocations_without_wrap_are_paths() -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(10), [4, 4])
    with pytest.raises(ModelError, match="without wrap-around"):
        ConstrainedPath.from_allocation(problem)


def test_trivial_paths_need_no_solver() -> None:
    empty = solve(ConstrainedPath(3, [], [], np.empty((0, 3))), "csp-dp")
    assert (empty.status, empty.value, empty.problem) == ("optimal", 0, "csp")
    too_long = solve(ConstrainedPath(3, [2], [2], [[1.0, 1.0, INF]]), "csp-dp")
    assert too_long.status == "infeasible"


def test_more_arcs_than_any_path_has_are_infeasible() -> None:
    assert ConstrainedPath(5, [2, 2**40], [2**40, 2**40], np.full((2, 5), INF)).trivial() == "infeasible"
