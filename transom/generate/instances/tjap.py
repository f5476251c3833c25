"""The stream of windows of topology-aware job allocation: arrivals, priorities, and a policy that places jobs.

References
----------
Lan et al. (2023), sections III-C and VI-A. What the paper leaves open follows its authors' public code, and where the
two differ the paper's way is the default: the tree, which jobs a window takes, and what becomes of one-node jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple, get_args

import numpy as np

from transom import registry
from transom._system.settings import Positive, check_settings
from transom.errors import SpecError, UnsupportedError
from transom.io import PeriodWindow
from transom.models import PAPER, Allocation, FatTree, HopCost
from transom.models.allocation import KINDS, Rule
from transom.models.arrays import IntArray
from transom.simulation.policies.period import WindowRule, take_window
from transom.solving import Solver, refusal, solve, warm_up
from transom.stop import Stop

OneNode = Literal["lowest", "lost"]

_ARRIVALS = 10**7  # in an epoch at most; all are drawn at once

Policy = Callable[[Allocation], IntArray]
"""What places the jobs of a window: gives each idle node its owner."""


class Step(NamedTuple):
    """One period: the window, its allocation problem, and the owner of each idle node, shape ``(idle nodes,)``."""

    window: PeriodWindow
    problem: Allocation
    owner: IntArray


@dataclass(frozen=True, slots=True)
class StreamModel:
    """Jobs that arrive at a fat tree, and the rule that forms the window of each period.

    Parameters
    ----------
    nodes : nodes of the cluster, > 0.
    leaf_nodes, pod_nodes : nodes of a leaf switch and of a pod; the paper's k = 20 has 10 and 100, the
        authors' code 10 and 40.
    period : length of a period [s], > 0.
    gaps : minimum and maximum time between two arrivals [s], uniform, >= 1.
    sizes : minimum and maximum number of nodes of a job, uniform, >= 1, at most ``nodes``.
    runtimes : minimum and maximum runtime [s], uniform, >= 1.
    window : ``paper`` takes every waiting job that fits, in the order of priority; ``code`` stops at the
        first one that does not fit.
    most : how many jobs of more than one node a window takes, > 0; None is no limit. Further ones are passed
        over by ``paper`` and end the window of ``code``.
    one_node : jobs of one node count against the idle nodes of a window and are not part of its
        allocation; afterwards they run on the ``lowest`` nodes that are left, or are ``lost``.

    Raises
    ------
    SpecError : a condition above does not hold.
    """

    nodes: int = 1000
    leaf_nodes: int = 10
    pod_nodes: int = 100
    period: Positive = 60
    gaps: tuple[int, int] = (5, 30)
    sizes: tuple[int, int] = (1, 40)
    runtimes: tuple[int, int] = (10, 1800)
    window: WindowRule = "paper"
    most: Positive | None = None
    one_node: OneNode = "lowest"

    def __post_init__(self) -> None:
        for name in ("gaps", "sizes", "runtimes"):
            least, largest = getattr(self, name)
            if not 1 <= least <= largest < 2**31:
                raise SpecError(f"tjap: {name} must be 1 <= least <= largest < 2**31, got {least} and {largest}")
        if self.sizes[1] > self.nodes:
            raise SpecError(f"tjap: a job of {self.sizes[1]} nodes never fits into {self.nodes}")
        check_settings("tjap", self)
        self.tree()

    def tree(self) -> FatTree:
        """The cluster."""
        return FatTree.uniform(self.nodes, self.leaf_nodes, self.pod_nodes)

    def arrivals(self, until: int, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
        """Submission time [s], nodes and runtime [s] of the jobs that arrive by ``until``, shape ``(jobs,)`` each.

        Raises
        ------
        SpecError : more of them may arrive than fit into the memory.
        """
        if until // self.gaps[0] > _ARRIVALS:
            raise SpecError(f"tjap: in {until} s more than {_ARRIVALS} jobs may arrive; take fewer or shorter periods")
        bounds = np.array((self.gaps, self.sizes, self.runtimes))
        # Job by job, so that the jobs of a short stream are the first of a long one.
        drawn = rng.integers(bounds[:, 0], bounds[:, 1], (until // self.gaps[0] + 1, 3), endpoint=True)
        submit = drawn[:, 0].cumsum()
        known = submit <= until
        return submit[known], drawn[known, 1], drawn[known, 2]


class _Waiting(NamedTuple):
    """A job in the queue, comparing by priority: most periods waited, then fewest nodes, then first come."""

    missed: int  # minus the number of waiting periods (NWP)
    nodes: int
    job: int


def stream_steps(
    model: StreamModel,
    periods: int,
    rng: np.random.Generator,
    policy: Policy,
    rule: Rule = "static",
    wrap: bool = True,
    cost: HopCost = PAPER,
    epoch: int | None = None,
) -> Iterator[Step]:
    """Run a stream from an empty cluster, period by period, and yield its windows.

    Jobs start at the end of a period, run for as long as they were drawn to, and hold the nodes that the policy
    gave them; the time the policy takes does not matter. A period without a window (no job of more than
    one node starts) gives none.

    Parameters
    ----------
    model : the jobs, the cluster and the rule of the window.
    periods : how many, >= 0.
    rng : source of the jobs; the same jobs arrive under every policy.
    policy : places the jobs.
    rule, wrap, cost : of the allocation problem, as in :class:`~transom.models.Allocation`.
    epoch : number of the stream, for its windows.
    """
    tree = model.tree()
    submit, nodes, runtime = (values.tolist() for values in model.arrivals(periods * model.period, rng))
    busy_until = np.zeros(tree.num_nodes, np.int64)
    waiting: list[_Waiting] = []
    arrived = 0
    for period in range(1, periods + 1):
        now = period * model.period
        while arrived < len(submit) and submit[arrived] <= now:
            waiting.append(_Waiting(0, nodes[arrived], arrived))
            arrived += 1
        idle = np.flatnonzero(busy_until <= now)
        queue = sorted(waiting)
        nodes_of = np.array([each.nodes for each in queue], np.int64).reshape(-1, 1)
        chosen = take_window(nodes_of, np.array([len(idle)]), model.window, model.most)
        taken = [queue[at] for at in chosen]
        waiting = [each._replace(missed=each.missed - 1) for at, each in enumerate(queue) if at not in set(chosen)]
        several = [each for each in taken if each.nodes > 1]
        left = idle
        if several:
            ids, sizes = np.array([(each.job + 1, each.nodes) for each in several]).T
            window = PeriodWindow(tree, idle, ids, sizes, epoch, period)
            problem = window.allocation(rule, wrap, cost)
            owner = policy(problem)
            ends = now + np.array([runtime[each.job] for each in several])
            held = owner >= 0
            busy_until[idle[held]] = ends[owner[held]]
            left = idle[~held]
            yield Step(window, problem, owner)
        if model.one_node == "lowest":
            ones = [now + runtime[each.job] for each in taken if each.nodes == 1]
            busy_until[left[: len(ones)]] = ones


def solver_policy(
    spec: str,
    rule: Rule | None = None,
    wrap: bool = True,
    stop: Stop = Stop(seconds=60.0),  # noqa: B008  (frozen data)
    seed: int = 0,
) -> tuple[Policy, Rule]:
    """A policy that solves every window.

    Parameters
    ----------
    spec : a registered solver of allocations, or a specification of one (``"sa:steps=500"``).
    rule : of the problems; by default the first of static, dynamic and free that the solver takes.
    wrap : whether blocks of the problems wrap around.
    stop : budget of the solver in each window; a time limit makes the stream depend on the
        machine wherever it is met.
    seed : of the solver.

    Returns
    -------
    The policy, and the rule.

    Raises
    ------
    SpecError : the solver is unknown, or one of its parameters is.
    UnsupportedError : it takes no problem of this rule.
    """
    solver: Solver = registry.make(registry.SOLVERS, spec, Allocation)
    tree = FatTree.uniform(8, 2, 4)
    wanted: tuple[Rule, ...] = get_args(Rule) if rule is None else (rule,)
    reasons = {each: refusal(solver, Allocation(tree, np.arange(8), np.array([3, 2]), each, wrap)) for each in wanted}
    taken = [each for each, reason in reasons.items() if reason is None]
    if not taken:
        raise UnsupportedError(f"policy {spec!r} cannot take {KINDS[wanted[0]]}: {reasons[wanted[0]]}")
    compile_once = cache(lambda: warm_up(solver, Allocation))  # not where a recipe is only looked at

    def place(problem: Allocation) -> IntArray:
        compile_once()
        result = solve(problem, solver, stop, seed)
        if result.solution is None:
            why = result.error or f"{result.status}, stopped by {result.reason}"
            raise SpecError(f"policy {spec!r} found no allocation of {len(problem)} jobs: {why}")
        return result.solution

    return place, taken[0]
