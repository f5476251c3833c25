"""The process of repairs against plain Python: what is seen, what an action does, what is paid, what comes next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import figure_2, random_allocation
from transom.errors import SpecError
from transom.heuristics.allocation.arrays import first_fit
from transom.learned.repair.pool import WindowPool
from transom.learned.repair.process import SCHEMAS, act, begin_all, empty_batch, observe, scale_of
from transom.learned.repair.task import RepairTask
from transom.models import AUTHORS, Allocation, FatTree

TREE = FatTree.uniform(1000, 10, 40)


class Repairs:
    """One lane of the process over some windows, with what a test asks of it."""

    def __init__(self, problems: list[Allocation], task: RepairTask, seed: int) -> None:
        self.problems, self.task = problems, task
        self.pool = WindowPool.of(problems)
        self.lane = empty_batch(self.pool.windows, 1)
        self.rng = np.random.default_rng(seed)
        self.seen = np.full((1, task.rows, 100), np.nan, np.float32)
        self.cost, self.done = np.zeros(1), np.zeros(1, np.bool_)

    def begin(self, fresh: bool = False) -> None:
        options, habits = self.task.options(), self.task.habits()
        begin_all(self.rng, self.pool.windows, self.lane, options, habits, fresh, self.seen)

    def act(self, action: int) -> None:
        act(self.pool.windows, self.lane, np.array([action]), self.seen, self.cost, self.done)

    def repair(self) -> float:
        """Repair at random, and say the cost."""
        while True:
            self.act(int(self.rng.integers(min(len(self.left), 100))))
            if self.done[0]:
                return float(self.cost[0])

    @property
    def problem(self) -> Allocation:
        return self.problems[self.lane.window[0]]

    @property
    def owner(self) -> Any:
        return self.lane.owner[0, : len(self.problem.idle)].copy()

    @property
    def before(self) -> Any:
        return self.lane.owner_before[0, : len(self.problem.idle)].copy()

    @property
    def costs(self) -> Any:
        return self.lane.costs[0, : len(self.problem)]

    @property
    def left(self) -> list[int]:
        return [i for i, job in enumerate(self.owner) if job < 0]

    @property
    def out(self) -> list[int]:
        """Jobs that are still out, the next one first."""
        return self.lane.out[0, self.lane.at[0] : self.lane.moved[0]].tolist()


def seen_in(problem: Allocation, left: list[int], out: list[int], rows: int, largest: int) -> Any:
    """The observation, from the words of Lan et al. (2023), section V-B1."""
    tree = problem.tree
    seen = np.zeros((rows, 100))
    sizes = problem.sizes.tolist()
    for column, i in enumerate(left[:100]):
        node = problem.idle[i]
        size = sizes[out[0]] / largest if out else 0
        others = sum(sizes[job] for job in out[1:]) / (len(out[1:]) * largest) if out[1:] else 0
        values = [(tree.leaf[node] + 1) / tree.num_leaves, (tree.pod[node] + 1) / tree.num_pods, 1, size, others]
        if rows == 4:
            del values[2]
        seen[:, column] = values
    return seen


TASKS = st.builds(
    RepairTask,
    rows=st.sampled_from([4, 5]),
    remove=st.integers(1, 4),
    order=st.sampled_from(["size", "window"]),
    acceptance=st.sampled_from(["metropolis", "walk", "either"]),
    tmin=st.just(0.1),
    tmax=st.sampled_from([0.1, 3000.0]),
    repairs=st.integers(1, 4),
    start=st.sampled_from(["sequential", "random", "either"]),
)


@settings(max_examples=60)
@given(TASKS, st.integers(0, 2**32 - 1), st.sampled_from([10, 40, 250]))
def test_it_is_what_plain_python_makes_of_it(task: RepairTask, seed: int, idle: int) -> None:
    rng = np.random.default_rng(seed)
    tree_of = random_allocation(rng, "dynamic", idle, 6, True, AUTHORS)
    # Windows of a pool share a tree: the same jobs on other idle nodes.
    nodes, wanted = tree_of.tree.num_nodes, int(tree_of.sizes.sum())
    more = np.sort(rng.choice(nodes, int(rng.integers(wanted, nodes + 1)), replace=False))
    problems = [tree_of, Allocation(tree_of.tree, more, tree_of.sizes[::-1], "dynamic", True, AUTHORS)]
    repairs = Repairs(problems, task, seed)
    in_window = 0
    for _ in range(8):
        was = repairs.owner if in_window else None
        repairs.begin()
        problem = repairs.problem
        in_window = in_window % task.repairs + 1
        assert repairs.lane.repairs[0] == in_window
        walks = np.isinf(repairs.lane.temperature[0])
        assert task.acceptance == "either" or walks == (task.acceptance == "walk")
        if in_window > 1 and walks:
            assert (repairs.before == was).all()
        out = repairs.out
        held = set(range(len(problem))) - set(out)
        assert 1 <= len(set(out)) == len(out)
        assert len(out) <= task.remove or not walks
        assert out == sorted(out, key=lambda job: (-problem.sizes[job] if task.order == "size" else 0, job))
        assert all((repairs.owner == job).sum() == problem.sizes[job] for job in held)
        assert ((repairs.owner == repairs.before) | (repairs.owner == -1)).all()
        largest = repairs.pool.largest
        for _ in range(len(out)):
            job, left, owner = repairs.out[0], repairs.left, repairs.owner
            assert np.allclose(repairs.seen[0], seen_in(problem, left, repairs.out, task.rows, largest), 1e-6, 0)
            start = int(rng.integers(min(len(left), 100)))
            block = [left[(start + k) % len(left)] for k in range(problem.sizes[job])]
            owner[block] = job
            repairs.act(start)
            assert (repairs.owner == owner).all()
            assert repairs.done[0] == (repairs.out == [])
            if repairs.out:
                assert repairs.cost[0] == 0
        assert np.allclose(repairs.seen[0], seen_in(problem, repairs.left, [], task.rows, largest), 1e-6, 0)
        assert repairs.cost[0] == pytest.approx(problem.job_costs(repairs.owner)[out].sum())
        assert repairs.costs == pytest.approx(problem.job_costs(repairs.owner))
        assert walks or problem.violations(repairs.owner) == []


def window(sizes: tuple[int, ...] = (17, 9, 21, 5), cost: Any = AUTHORS) -> Allocation:
    idle = np.flatnonzero(np.random.default_rng(1).random(1000) < 0.15)
    return Allocation(TREE, idle, sizes, "dynamic", True, cost)


def test_a_cold_repair_stays_only_where_it_costs_no_more() -> None:
    task = RepairTask(acceptance="metropolis", tmin=1e-3, tmax=1e-3, repairs=6)
    repairs = Repairs([window(), window((30, 12)), window((8,) * 6)], task, 0)
    repairs.begin()
    kept = undone = 0
    for _ in range(150):
        before, problem = repairs.before, repairs.problem
        repairs.repair()
        old, new, after = problem.value(before), problem.value(repairs.owner), repairs.owner
        ended = repairs.lane.repairs[0] == task.repairs
        repairs.begin()
        if not ended:
            assert (repairs.before == (after if new <= old else before)).all()
            kept, undone = kept + (new < old), undone + (new > old)
    assert kept > 10
    assert undone > 10


def test_worse_repairs_stay_as_often_as_metropolis_says() -> None:
    task = RepairTask(acceptance="metropolis", tmin=4000.0, tmax=4000.0, repairs=10**6)
    repairs = Repairs([window()], task, 0)
    repairs.begin()
    kept, chances = 0, []
    while len(chances) < 400:
        loss = -repairs.problem.value(repairs.before)
        repairs.repair()
        after = repairs.owner
        loss += repairs.problem.value(after)
        repairs.begin()
        if loss > 0:
            kept += (repairs.before == after).all()
            chances.append(np.exp(-loss / 4000.0))
    spread = np.sqrt(sum(chance * (1 - chance) for chance in chances))
    assert 20 < sum(chances) < 380
    assert abs(kept - sum(chances)) < 3 * spread


def test_a_repair_that_is_broken_off_is_undone() -> None:
    repairs = Repairs([window()], RepairTask(acceptance="walk", remove=4), 3)
    repairs.begin()
    while len(repairs.out) < 2:
        repairs.repair()
        repairs.begin()
    before = repairs.before
    repairs.act(40)
    repairs.begin()
    assert (repairs.before == before).all()
    assert repairs.costs == pytest.approx(repairs.problem.job_costs(before))


def test_temperatures_are_even_on_a_logarithmic_scale() -> None:
    repairs = Repairs([window()], RepairTask(acceptance="metropolis", tmin=2.5, tmax=2500.0), 0)
    drawn = []
    for _ in range(3000):
        repairs.begin(fresh=True)
        drawn.append(repairs.lane.temperature[0])
    counts = np.histogram(np.log10(drawn), bins=3, range=(np.log10(2.5), np.log10(2500)))[0]
    assert counts.sum() == 3000
    assert (abs(counts - 1000) < 150).all()


def test_windows_begin_with_the_first_fit_or_at_random() -> None:
    problem = window()
    repairs = Repairs([problem], RepairTask(start="sequential"), 0)
    repairs.begin(fresh=True)
    assert (repairs.before == first_fit(problem)).all()
    repairs = Repairs([problem], RepairTask(start="random"), 0)
    met = set()
    for _ in range(20):
        repairs.begin(fresh=True)
        assert problem.violations(repairs.before) == []
        met.add(repairs.before.tobytes())
    assert len(met) == 20
    repairs = Repairs([problem], RepairTask(start="either", acceptance="either"), 0)
    first, walks = 0, 0
    for _ in range(400):
        repairs.begin(fresh=True)
        first += (repairs.before == first_fit(problem)).all()
        walks += np.isinf(repairs.lane.temperature[0])
    assert 140 < first < 260
    assert 140 < walks < 260


def test_all_windows_are_drawn() -> None:
    problems = [window(), window((30, 30)), window((4,))]
    repairs = Repairs(problems, RepairTask(), 0)
    drawn = []
    for _ in range(300):
        repairs.begin(fresh=True)
        drawn.append(int(repairs.lane.window[0]))
    assert (np.bincount(drawn) > 60).all()


def test_figure_2() -> None:
    """Job 1 is on nodes 5 to 8 of ten idle ones: job 2 of four nodes has six places (Lan et al. 2023, figure 2)."""
    problem = figure_2().with_rule("dynamic")
    left = np.array([0, 1, 2, 3, 8, 9, 0, 0, 0, 0])
    seen = np.ones((5, 100), np.float32)
    observe(left[:6], problem.leaf, problem.pod, np.array([1]), problem.sizes, scale_of(problem.tree, 8), seen)
    assert (seen[:, 6:] == 0).all()
    # Leaves of two nodes, eight in all; pods of four, four in all.
    assert seen[:, :6].tolist() == [
        [0.125, 0.125, 0.25, 0.25, 0.625, 0.625],
        [0.25, 0.25, 0.25, 0.25, 0.75, 0.75],
        [1.0] * 6,
        [0.5] * 6,
        [0.0] * 6,
    ]


def test_rewards() -> None:
    costs, done = np.array([52_000.0, 0.0, 25_000.0]), np.array([True, False, True])
    assert RepairTask(unit=1e4).rewards(costs, done).tolist() == [-5.2, 0.0, -2.5]
    assert RepairTask(unit=1e4, reward="reciprocal").rewards(costs, done) == pytest.approx([1 / 5.2, 0, 0.4])


def test_schemas() -> None:
    assert {RepairTask(rows=rows).schema: rows for rows in (4, 5)} == SCHEMAS


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rows": 3}, "rows must be 4 or 5, got 3"),
        ({"remove": 0}, "remove must be > 0, got 0"),
        ({"repairs": 0}, "repairs must be > 0, got 0"),
        ({"tmin": 0.0}, "tmin must be > 0, got 0.0"),
        ({"tmax": 1.0}, "tmin <= tmax must hold, got tmin=2.5, tmax=1.0"),
        ({"unit": 0.0}, "unit must be > 0"),
        ({"order": "length"}, "order must be one of size, window, got 'length'"),
        ({"acceptance": "never"}, "acceptance must be one of"),
        ({"start": "best"}, "start must be one of"),
        ({"reward": "none"}, "reward must be one of"),
    ],
)
def test_what_a_task_cannot_be(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        RepairTask(**wrong)
