"""Which nodes the jobs get that start at one instant: an allocation, solved by a named solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

import numpy as np

from transom import registry
from transom.errors import PolicyError, SpecError
from transom.models import PAPER, Allocation, FatTree, HopCost
from transom.models.allocation import KINDS, Rule
from transom.models.arrays import IntArray
from transom.rng import stream
from transom.simulation.nodes.typed import Wants, shared_out
from transom.solving import Solver, answer, refusal, warm_up
from transom.stop import Stop

_PREFERRED: tuple[Rule, ...] = ("dynamic", "static", "free")


@dataclass(frozen=True, slots=True)
class Allocator:
    """How jobs get their nodes on a cluster with a topology.

    The jobs of more than one node that start at one instant are one :class:`~transom.models.Allocation`;
    those of one node then take the lowest idle ids that are left.

    Parameters
    ----------
    solver : a registered solver of allocations or a specification; None gives every job the lowest idle ids.
    rule : ``static``, ``dynamic`` or ``free``; by default the one that the solver is named after, else the first
        of ``dynamic``, ``static`` and ``free`` that it takes.
    cost : the cost of a node set.
    wrap : whether consecutive nodes may go on at the head of the idle ones.
    per_job : place the jobs of an instant one after another, as if each were alone.
    seconds : time of the solver for each allocation [s], > 0. What it has by then counts; if that is nothing,
        jobs get consecutive idle nodes from the lowest on.

    Raises
    ------
    SpecError : the rule is unknown.
    """

    solver: str | None = None
    rule: Rule | None = None
    cost: HopCost = PAPER
    wrap: bool = True
    per_job: bool = False
    seconds: float = 1.0

    def __post_init__(self) -> None:
        if self.rule is not None and self.rule not in KINDS:
            raise SpecError(f"allocate: rule must be one of {', '.join(KINDS)}, got {self.rule!r}")


class Placed(NamedTuple):
    """The node ids of each job, ascending; how many jobs were allocated by the solver, at what cost in all, and
    whether every one of its allocations is proved to be of least cost."""

    nodes: list[IntArray]
    jobs: int = 0
    cost: float = 0.0
    proved: bool = True


class Placer:
    """An allocator at work on one tree; it draws the solver's seeds.

    Raises
    ------
    SpecError : the solver or a parameter is unknown, or it does not take allocations under that rule.
    """

    def __init__(self, tree: FatTree, allocator: Allocator, seed: int = 0) -> None:
        self.allocator = allocator
        self.tree = tree
        self._seeds = stream(seed, "allocate")
        self.solver: Solver | None = None
        if allocator.solver is not None:
            self.solver, self.rule = load_allocator(allocator, tree)
            self._stop = Stop(seconds=allocator.seconds)
            warm_up(self.solver, Allocation)

    def place(self, idle: IntArray, sizes: Sequence[int] | IntArray) -> Placed:
        """Nodes for jobs that start at one instant.

        Parameters
        ----------
        idle : ids of the idle nodes, ascending, shape ``(idle nodes,)``.
        sizes : nodes of each job, in order, of no more than there are idle nodes together.
        """
        wanted = [int(size) for size in sizes]
        if self.solver is None:
            return Placed(_lowest(idle, wanted))
        together = [i for i, size in enumerate(wanted) if size > 1]
        windows = [[i] for i in range(len(wanted))] if self.allocator.per_job else [together] if together else []
        nodes: dict[int, IntArray] = {}
        cost, proved = 0.0, True
        for window in windows:
            if wanted[window[0]] > 1:
                found, paid, certain = self._allocate(idle, [wanted[i] for i in window])
                cost, proved = cost + paid, proved and certain
            else:
                found = _lowest(idle, [1])
            nodes.update(zip(window, found, strict=True))
            if len(nodes) < len(wanted):
                left = np.ones(len(idle), bool)
                left[np.searchsorted(idle, np.concatenate(found))] = False
                idle = idle[left]
        rest = [i for i in range(len(wanted)) if i not in nodes]
        nodes.update(zip(rest, _lowest(idle, [wanted[i] for i in rest]), strict=True))
        return Placed([nodes[i] for i in range(len(wanted))], len(together), cost, proved)

    def place_within(self, idle: IntArray, jobs: Wants) -> list[IntArray]:
        """The same where jobs limit their leaf switches or take some types of nodes alone; no nodes for one that waits.

        Where not all can have nodes at once, the first ones do: each job is placed if it can be beside those before it.

        Parameters
        ----------
        idle : ids of the idle nodes, ascending, shape ``(idle nodes,)``.
        jobs : what they ask for.

        Raises
        ------
        PolicyError : the solver failed.
        """
        nodes = [idle[:0] for _ in jobs.sizes]
        # Jobs of one node first where they are confined, for those of more have a choice; the others take what is left.
        single = [i for i, size in enumerate(jobs.sizes) if size == 1]
        confined = [i for i in single if not jobs.takes(i, idle).all()]
        together = [i for i, size in enumerate(jobs.sizes) if size > 1] if self.solver is not None else []
        one_by_one = [i for i in range(len(jobs.sizes)) if self.solver is None or i in confined]
        groups = [[i] for i in together] if self.allocator.per_job else [together]
        fair = shared_out(idle, jobs, range(len(jobs.sizes)))
        nodes = [ids if i in one_by_one else idle[:0] for i, ids in enumerate(fair)]
        left = np.setdiff1d(idle, np.concatenate([idle[:0], *nodes]))
        for group in groups:
            allowed = [i for i in group if len(fair[i])]
            for i, ids in self._first_within(left, jobs, allowed).items():
                nodes[i] = ids
            left = np.setdiff1d(left, np.concatenate([idle[:0], *(nodes[i] for i in group)]))
        for i in single:
            if i not in one_by_one and len(left):
                nodes[i], left = left[:1], left[1:]
        return nodes

    def _first_within(self, idle: IntArray, jobs: Wants, which: list[int]) -> dict[int, IntArray]:
        """Nodes for these jobs, or for those that can have some beside the ones before them."""
        found = self._within(idle, jobs, which)
        if found is None:
            kept: list[int] = []
            found = {}
            for i in which:
                more = self._within(idle, jobs, [*kept, i])
                if more is not None:
                    kept, found = [*kept, i], more
        return found

    def _within(self, idle: IntArray, jobs: Wants, which: list[int]) -> dict[int, IntArray] | None:
        """Nodes that jobs take, None where the solver finds none or does not take the jobs together."""
        if not which:
            return {}
        assert self.solver is not None
        wrap, cost = self.allocator.wrap, self.allocator.cost
        leaves = int(self.tree.leaf.max()) + 1
        sizes = np.array([jobs.sizes[i] for i in which], np.int64)
        # A limit that binds nothing is none.
        limits = np.array([min(jobs.sizes[i], leaves, jobs.limits[i] or leaves) for i in which], np.int64)
        bound = limits if (limits < np.minimum(sizes, leaves)).any() else None
        types = None if jobs.types is None else jobs.types[idle]
        accepts = None if jobs.accepts is None else jobs.accepts[which]
        problem = Allocation(self.tree, idle, sizes, self.rule, wrap, cost, bound, types, accepts)
        if refusal(self.solver, problem) is not None:
            return None
        result = answer(problem, self.solver, self._stop, int(self._seeds.integers(2**31)))
        if result.error is not None:
            raise PolicyError(f"allocate: solver {self.solver.name!r} failed: {result.error}")
        if result.solution is None:
            return None
        return {job: idle[result.solution == i] for i, job in enumerate(which)}

    def _allocate(self, idle: IntArray, sizes: list[int]) -> tuple[list[IntArray], float, bool]:
        assert self.solver is not None
        wrap, cost = self.allocator.wrap, self.allocator.cost
        problem = Allocation._trusted(self.tree, idle, np.array(sizes, np.int64), self.rule, wrap, cost)
        result = answer(problem, self.solver, self._stop, int(self._seeds.integers(2**31)))
        if result.solution is None:
            if result.error is not None:
                raise PolicyError(f"allocate: solver {self.solver.name!r} failed: {result.error}")
            found = _lowest(idle, sizes)
            return found, problem.value(problem.owners([ids.tolist() for ids in found])), False
        assert result.value is not None
        found = [idle[result.solution == job] for job in range(len(sizes))]
        return found, float(result.value), result.status == "optimal"


def load_allocator(allocator: Allocator, tree: FatTree) -> tuple[Solver, Rule]:
    """The solver of an allocator, and the rule under which it works on a tree.

    Raises
    ------
    SpecError : the solver or a parameter is unknown, or it does not take allocations under that rule.
    """
    if allocator.solver is None:
        raise SpecError("allocate: no solver is named")
    if not allocator.seconds > 0:
        raise SpecError(f"allocate: seconds must be > 0, got {allocator.seconds}")
    solver: Solver = registry.make(registry.SOLVERS, allocator.solver, Allocation)
    named: list[Rule] = [rule for rule in get_args(Rule) if solver.name.startswith(f"{KINDS[rule]}-")]
    wanted = [allocator.rule] if allocator.rule else list(dict.fromkeys([*named, *_PREFERRED]))
    idle = np.arange(min(2, tree.num_nodes))
    sizes = np.full(len(idle) // 2, 2)
    reasons = {}
    for rule in wanted:
        reason = refusal(solver, Allocation(tree, idle, sizes, rule, allocator.wrap, allocator.cost))
        if reason is None:
            return solver, rule
        reasons[rule] = reason
    rule, reason = next(iter(reasons.items()))
    raise SpecError(f"allocate: solver {solver.name!r} does not take allocations under the {rule} rule: {reason}")


def takes_limits(allocator: Allocator) -> bool:
    """Whether an allocator keeps limits on the leaf switches of jobs.

    Raises
    ------
    SpecError : as for :func:`load_allocator`.
    """
    return allocator.solver is not None and _takes(allocator, leaf_limits=np.ones(1, np.int64))


def takes_types(allocator: Allocator) -> bool:
    """Whether an allocator gives jobs nodes of their types alone; without a solver it does.

    Raises
    ------
    SpecError : as for :func:`load_allocator`.
    """
    types, accepts = np.array([0, 0, 1, 1]), np.array([[True, False]])
    return allocator.solver is None or _takes(allocator, node_types=types, accepts=accepts)


def _takes(allocator: Allocator, **asked: Any) -> bool:
    tree = FatTree.uniform(4, 2, 4)
    solver, rule = load_allocator(allocator, tree)
    problem = Allocation(tree, np.arange(4), np.array([2]), rule, allocator.wrap, allocator.cost)
    return refusal(solver, replace(problem, **asked)) is None


def _lowest(idle: IntArray, sizes: Sequence[int]) -> list[IntArray]:
    """The lowest idle ids, job after job."""
    return np.split(idle[: sum(sizes)], np.cumsum(sizes)[:-1]) if len(sizes) else []
