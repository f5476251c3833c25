r"""Static allocations of many jobs on a large machine whose idle nodes are fragments between busy ones."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from transom.errors import SpecError
from transom.models.allocation import Allocation, Rule
from transom.models.arrays import IntArray, whole
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import PAPER, HopCost


class Fragments(NamedTuple):
    r"""A system whose idle nodes are fragments, and its jobs.

    Parameters
    ----------
    nodes, leaf_nodes, pod_nodes : the tree, as in :meth:`FatTree.uniform`.
    idle : idle nodes, > 0 and at most ``nodes``.
    jobs : how many, >= 0.
    mean : m, the median of the sizes before ``cap`` and ``load``; their logarithms have the mean log m; > 0.
    cap : the largest size, >= 2.
    spread : :math:`\sigma`, >= 0.
    longest : nodes of the longest run of busy nodes that is drawn at once, > 0.
    load : the most that jobs may ask for, as a share of the idle nodes, > 0 and at most 1.
    """

    nodes: int = 20_000
    idle: int = 5_000
    jobs: int = 50
    mean: float = 50.0
    cap: int = 256
    spread: float = 0.7
    longest: int = 512
    leaf_nodes: int = 32
    pod_nodes: int = 512
    load: float = 0.95


def fragmented_allocation(
    rng: np.random.Generator,
    system: Fragments = Fragments(),  # noqa: B008
    rule: Rule = "static",
    wrap: bool = False,
    cost: HopCost = PAPER,
) -> Allocation:
    r"""One allocation, determined by the state of the generator and the arguments.

    Busy runs of uniform length and position are overlaid until only ``idle`` nodes are left. Sizes are

    .. math:: n_j = \min\{\lceil m\, e^{\sigma z_j} - 1/2 \rceil, cap\}, \quad z_j \sim N(0, 1),

    at least 2; if they ask for more than ``load`` of the idle nodes in total, all are scaled down.

    Parameters
    ----------
    rng : source of all random numbers.
    system : nodes and jobs.
    rule, wrap, cost : as in :class:`Allocation`.

    Raises
    ------
    SpecError : a number is out of range, or so many jobs of two nodes exceed ``load``.
    ModelError : the tree is none.
    """
    nodes, idle, jobs, mean, cap, spread, longest, leaf_nodes, pod_nodes, load = system
    tree = FatTree.uniform(nodes, leaf_nodes, pod_nodes)
    idle, jobs = whole(idle, "fragmented: idle"), whole(jobs, "fragmented: jobs")
    cap, longest = whole(cap, "fragmented: cap"), whole(longest, "fragmented: longest")
    if not 0 < idle <= nodes:
        raise SpecError(f"fragmented: idle must be > 0 and at most nodes={nodes}, got {idle}")
    if jobs < 0 or cap < 2 or longest <= 0:
        raise SpecError(f"fragmented: expected jobs >= 0, cap >= 2 and longest > 0, got {jobs}, {cap} and {longest}")
    if not (0 < mean < math.inf and 0 <= spread < math.inf and 0 < load <= 1):
        raise SpecError(
            f"fragmented: expected mean > 0, spread >= 0 and load from 0 to 1, got {mean:g}, {spread:g} and {load:g}"
        )
    most = int(load * idle)
    if 2 * jobs > most:
        raise SpecError(f"fragmented: {jobs} jobs of 2 nodes are more than load={load:g} of {idle} idle nodes")
    free = _fragments(rng, nodes, idle, longest)
    return Allocation(tree, free, _sizes(rng, jobs, mean, spread, cap, most), rule, wrap, cost)


def _fragments(rng: np.random.Generator, nodes: int, idle: int, longest: int) -> IntArray:
    """Ids of the ``idle`` nodes that runs of busy ones leave."""
    free, left = np.ones(nodes, np.bool_), nodes
    while left > idle:
        length = int(rng.integers(1, longest, endpoint=True))
        start = int(rng.integers(1 - length, nodes))  # the ends of the machine are as busy as its middle
        run = np.flatnonzero(free[max(0, start) : start + length])[: left - idle] + max(0, start)
        free[run] = False
        left -= len(run)
    return np.flatnonzero(free)


def _sizes(rng: np.random.Generator, jobs: int, mean: float, spread: float, cap: int, most: int) -> IntArray:
    """Lognormal sizes from 2 to ``cap`` of at most ``most`` nodes together."""
    with np.errstate(over="ignore"):  # infinite is above the cap
        drawn = np.clip(mean * np.exp(np.minimum(spread * rng.standard_normal(jobs), 100.0)), 2, cap)
    sizes: IntArray = np.maximum(2, np.rint(drawn).astype(np.int64))
    return _shrunk(sizes, most)


def uniform_sizes(rng: np.random.Generator, jobs: int, cap: int, most: int) -> IntArray:
    """Sizes of jobs, shape ``(jobs,)``, uniform from 2 to ``cap``, that ask for at most ``most`` nodes together.

    Parameters
    ----------
    rng : source of random numbers.
    jobs : how many, >= 0.
    cap : the largest size, >= 2.
    most : nodes for all of them; where they ask for more, what each has above 2 shrinks in proportion.

    Raises
    ------
    SpecError : a number is out of range, or so many jobs of two nodes are more than ``most``.
    """
    if jobs < 0 or cap < 2 or 2 * jobs > most:
        raise SpecError(f"sizes: expected jobs >= 0, cap >= 2 and 2 x jobs <= {most} nodes, got jobs={jobs}, cap={cap}")
    sizes = rng.integers(2, cap, jobs, endpoint=True)
    return _shrunk(sizes, most)


def _shrunk(sizes: IntArray, most: int) -> IntArray:
    """Sizes of at most ``most`` nodes together: what is above the two that each needs shrinks in proportion."""
    total, least = int(sizes.sum()), 2 * len(sizes)
    return sizes if total <= most else 2 + ((sizes - 2) * ((most - least) / (total - least))).astype(np.int64)
