"""Prices on joint choices: no solution beats the bound, and none loses less than its parts are said to."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.solvers.joint.test_joint import random_joint
from transom import Stop, solve
from transom.models import FatTree, Joint
from transom.solvers.joint import prices
from transom.solvers.joint.bound import joint_bound
from transom.solvers.joint.prices import Prices


def below(problem: Joint, made: Prices, owner: np.ndarray, job: int) -> np.ndarray:
    """Nodes of a job below each switch of the tree."""
    tree = made.tree
    counts = np.bincount(made.leaf[owner == job], minlength=int(made.leaf.max()) + 1)
    nodes = np.where(tree.leaf >= 0, counts[tree.leaf], 0)
    for v in range(len(nodes) - 1):
        nodes[tree.parent[v]] += nodes[v]
    return nodes


@pytest.mark.parametrize("together", [True, False])
def test_losses_hold_for_every_solution(together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not together:
        monkeypatch.setattr(prices, "_CELLS", 0)
    rng = np.random.default_rng(5)
    looked_at = 0
    for _ in range(60):
        problem = random_joint(rng)
        if not len(problem.idle):
            continue
        made = Prices(problem)
        made.begin(joint_bound(problem)[1] if np.isfinite(joint_bound(problem)[0]) else 0.0)
        for _ in range(int(rng.integers(1, 40))):
            made.step(-1e4, lambda: False)
        losses = made.losses(lambda: False)
        assert losses is not None
        for given in product(range(-1, len(problem)), repeat=len(problem.idle)):
            owner = np.array(given)
            if problem.violations(owner):
                continue
            looked_at += 1
            value, slack = problem.value(owner), 1e-6 * (1 + abs(losses.value))
            assert value <= made.bound
            started = problem.started(owner)
            for job in range(len(problem)):
                if job not in started:
                    assert value <= losses.value - losses.waits[job] + slack
                    continue
                lost = losses.below[losses.kind[job]]
                nodes = below(problem, made, owner, job)
                most = lost[np.arange(len(nodes)), nodes].max()
                assert value <= losses.value - losses.starts[job] - most + slack
    assert looked_at > 1500


def test_they_are_far_closer_than_each_job_alone() -> None:
    rng = np.random.default_rng(11)
    closed = []
    for _ in range(5):
        tree = FatTree.uniform(128, 8, 32)
        idle = np.flatnonzero(rng.random(128) < 0.4)
        sizes = rng.integers(1, 20, 12)
        problem = Joint(tree, idle, sizes, sizes * rng.integers(1, 24, 12), 1e-3)
        value = solve(problem, "joint-cpsat", Stop(seconds=20)).value
        assert value is not None
        alone, start = joint_bound(problem)
        made = Prices(problem)
        made.begin(start)
        while made.step(value, lambda: False):
            pass
        assert made.bound >= value
        closed.append((made.bound - value) / (alone - value))
    assert np.mean(closed) < 0.5


def test_a_chain_of_thousands_of_switches_is_no_ring() -> None:
    rows = np.tile(np.arange(4) // 2, (1100, 1))
    problem = Joint(FatTree([0, 1, 2, 3], rows[0], rows), range(4), [2, 2], [9, 9])
    made = Prices(problem)
    made.step(0.0, lambda: False)
    assert len(made.tree.room) == 4 + 2 * 1101 + 1
    assert made.bound == pytest.approx(problem.value([0, 0, 1, 1]))


def test_what_looks_alike_shares_a_price() -> None:
    # Two equal pods of two and one idle nodes, and one of other leaves.
    tree = FatTree([0, 0, 1, 2, 2, 3, 4, 4, 4], [0, 0, 0, 1, 1, 1, 2, 2, 2])
    made = Prices(Joint(tree, range(9), [3], [5]))
    classes = made.tree.cls[made.tree.cls >= 0].tolist()
    assert len(classes) == 5
    assert sorted(classes.count(each) for each in set(classes)) == [1, 2, 2]
