"""Random trees of any depth, their nodes in any numbering, and what a pair of nodes costs on them."""

from __future__ import annotations

import math

import numpy as np

from tests.allocation_cases import COSTS
from transom.models import Allocation
from transom.models.switch_tree import tree_of_switches


def random_switches(rng: np.random.Generator, levels: int, nodes: int) -> tuple[list[int], list[int]]:
    """The switch of each node and the switch above each switch, the root first: leaves hang at any depth."""
    above, depth = [-1], [1]
    while len(above) < levels or rng.random() < 0.75:
        # First a chain of so many levels, then switches anywhere below the last one.
        up = len(above) - 1 if len(above) < levels else int(rng.integers(len(above)))
        if depth[up] < levels:
            above.append(up)
            depth.append(depth[up] + 1)
        elif levels == 1:
            break
    leaves = [switch for switch in range(len(above)) if switch not in above]
    return [leaves[i] for i in rng.integers(len(leaves), size=nodes)], above


def deep_allocation(rng: np.random.Generator, rule: str, max_idle: int = 8, max_jobs: int = 3) -> Allocation:
    """A random feasible allocation on a random tree of two to five levels of switches, nodes in any order."""
    n = int(rng.integers(2, max_idle + 1))
    nodes = n + int(rng.integers(0, 3))
    leaf, above = random_switches(rng, int(rng.integers(2, 6)), nodes)
    if rng.random() < 0.5:
        leaf.sort()
    idle = np.sort(rng.choice(nodes, n, replace=False))
    left, sizes = max(2, math.ceil(n * rng.random())), []
    while left >= 2 and len(sizes) < max_jobs:
        sizes.append(int(rng.integers(2, left + 1)))
        left -= sizes[-1]
    cost = COSTS[rng.integers(len(COSTS))]
    return Allocation(tree_of_switches(leaf, above), idle, sizes, rule, bool(rng.integers(2)), cost)


def joined_at(leaf: list[int], above: list[int], a: int, b: int) -> int:
    """The level of the lowest switch above two nodes, by the words: its longest way down to a switch."""

    def way(switch: int) -> list[int]:
        return [switch] if above[switch] < 0 else [switch, *way(above[switch])]

    def height(switch: int) -> int:
        return max((1 + height(each) for each, up in enumerate(above) if up == switch), default=0)

    return height(next(switch for switch in way(leaf[a]) if switch in way(leaf[b])))
