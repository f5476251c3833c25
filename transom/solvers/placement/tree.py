"""The levels of the search: machine by machine, tasks that lose much in the wrong place first."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from transom.models.arrays import FloatArray, IntArray
from transom.solvers.placement.prices import Prices
from transom.solvers.placement.reduced import Reduced
from transom.solvers.placement.search import Path, Tree

_NONE = 2**62  # of a divisor: no demand has to be met, so that nothing can use the room


def tree_of(problem: Reduced, prices: Prices, machines: IntArray, least: FloatArray, alone: bool) -> Tree:
    """What is searched.

    Parameters
    ----------
    machines : in the order of the search, identical ones behind each other.
    least : what each machine's pattern loses at least, shape ``(M,)``.
    alone : whether other machines may take what is not placed here.
    """
    resources = problem.free.shape[1]
    share = (problem.demands / np.maximum(problem.free.sum(axis=0, dtype=np.float64), 1.0)).sum(axis=1)
    tasks: list[IntArray] = []
    twins, starts = [], [0]
    for n, machine in enumerate(machines):
        same = n > 0 and bool((problem.free[machines[n - 1]] == problem.free[machine]).all())
        weight = np.round(np.maximum(prices.cost[:, machine], prices.unsold) / np.maximum(share, 1e-9), 9)
        order = np.lexsort((-share, -weight))
        tasks.append(tasks[-1] if same else order[problem.fits[order, machine] > 0])
        twins.append(starts[-2] + np.arange(len(tasks[-1])) if same else np.full(len(tasks[-1]), -1))
        starts.append(starts[-1] + len(tasks[-1]))
    task = np.concatenate(tasks)
    machine_of = np.repeat(machines, np.diff(starts))
    last = np.zeros(len(task), bool)
    if not alone:
        _, first = np.unique(task[::-1], return_index=True)
        last[len(task) - 1 - first] = True
    reach, divisor = np.zeros((len(task) + 1, resources)), np.full((len(task) + 1, resources), _NONE)
    for begin, end in pairwise(starts):
        needed = problem.demands[task[begin:end]][::-1]
        most = problem.fits[task[begin:end], machine_of[begin:end]][::-1]
        reach[begin:end] = np.cumsum(needed * most[:, None].astype(np.float64), axis=0)[::-1] * (1 + 1e-12)
        common = np.gcd.accumulate(needed, axis=0)[::-1]
        divisor[begin:end] = np.where(common > 0, common, _NONE)
    behind = np.append(np.cumsum(least[machines][::-1])[::-1][1:], 0.0)
    return Tree(
        task, machine_of, np.concatenate(twins), last, prices.cost[task, machine_of], prices.unsold, prices.room,
        np.repeat(behind, np.diff(starts)), reach, divisor, problem.demands, problem.values,
    )  # fmt: skip


def path_of(problem: Reduced, tree: Tree, value: int) -> Path:
    """The begin of a search for something better than a value."""
    levels = len(tree.task)
    ints = [np.zeros(levels + 1, np.int64) for _ in range(5)]
    return Path(
        problem.free.copy(), problem.waiting.copy(), ints[0], ints[1], ints[2], np.zeros(levels + 1), ints[3],
        np.zeros(levels + 1, bool), ints[4], np.array([0, 1, 0, value]), np.array([np.inf]),
    )  # fmt: skip


def placed(tree: Tree, counts: IntArray, shape: tuple[int, ...]) -> IntArray:
    """Instances of each task on each machine for the counts of all levels."""
    found = np.zeros(shape, np.int64)
    found[tree.task, tree.machine] = counts[: len(tree.task)]
    return found
