"""Recipes of topology-aware allocations: the stream of a cluster, and single windows of any scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.instances.fragmented import Fragments, fragmented_allocation
from transom.generate.instances.tjap import OneNode, Policy, Step, StreamModel, solver_policy, stream_steps
from transom.generate.instances.uniform_sizes import uniform_sizes
from transom.generate.workload.workload_recipe import Positive
from transom.io import PeriodWindow
from transom.models import Allocation, FatTree, HopCost
from transom.models.allocation import RULES, Rule
from transom.rng import stream
from transom.simulation.policies.period import CODE_LIMIT, WindowRule
from transom.stop import Stop

Problem = Literal["scas", "dcas", "free"]
_Range = tuple[int, int]

_JOBS, _CAP, _LOAD = 50, 256, 0.95  # of windows with uniform sizes


class _OnTree(InstanceGenerator, frozen=True, kw_only=True):
    """What all allocations have: a tree, the rule, and what hops cost.

    Parameters
    ----------
    nodes : of the cluster.
    k : ports of a switch: leaves of k/2 nodes and pods of k/2 leaves.
    leaf_nodes, pod_nodes : nodes of a leaf switch and of a pod, instead of k.
    problem : ``scas``, ``dcas`` or ``free``.
    cost_model : specification of what hops cost.
    wrap : whether a job's nodes may go on at the head of the idle ones.
    """

    nodes: Positive | None = None
    k: int | None = None
    leaf_nodes: Positive | None = None
    pod_nodes: Positive | None = None
    problem: Problem | None = None
    cost_model: str = "paper"
    wrap: bool | None = None

    @property
    def cost(self) -> HopCost:
        """What hops cost."""
        made: HopCost = registry.make(registry.COST_MODELS, self.cost_model)
        return made

    @property
    def cluster(self) -> dict[str, int]:
        """What is stated of the tree; the rest is left to the family."""
        if self.k is not None:
            for name in ("leaf_nodes", "pod_nodes"):
                if getattr(self, name) is not None:
                    raise SpecError(f"tjap: {name} does not go with k")
            FatTree.k_ary(self.k, 1)  # refuses what is no radix
        leaf, pod = (None, None) if self.k is None else (self.k // 2, self.k * self.k // 4)
        stated = {"nodes": self.nodes, "leaf_nodes": self.leaf_nodes or leaf, "pod_nodes": self.pod_nodes or pod}
        return {name: value for name, value in stated.items() if value is not None}

    @property
    def rule(self) -> Rule | None:
        """The rule that is stated."""
        return None if self.problem is None else RULES[self.problem]


class StreamAllocations(_OnTree, frozen=True, kw_only=True):
    """Windows of a cluster that is empty at first, and on which a policy places the jobs; an epoch is one such run.

    Parameters
    ----------
    family : ``stream``.
    periods : of an epoch.
    period, gaps, sizes, runtimes, window, most, one_node : as in :class:`~transom.generate.StreamModel`; most is 5 by
        default where the window is the authors' (``code``).
    policy : the solver that places the jobs.
    iterations : of the policy in each window; by default it has a minute.
    form : ``documents`` of allocations, or ``lines`` with epoch and period.
    """

    family: Literal["stream"] = "stream"
    periods: Positive = 100
    period: int = 60
    gaps: _Range = (5, 30)
    sizes: _Range = (1, 40)
    runtimes: _Range = (10, 1800)
    window: WindowRule = "paper"
    most: Positive | None = None
    one_node: OneNode = "lowest"
    policy: str = "scas-dp"
    iterations: Positive | None = None
    form: Literal["documents", "lines"] = "documents"

    @property
    def sequential(self) -> bool:
        return True

    @property
    def model(self) -> StreamModel:
        """The jobs, the cluster and the rule of the window."""
        names = ("period", "gaps", "sizes", "runtimes", "window", "one_node")
        stated: dict[str, Any] = {**self.cluster, **{name: getattr(self, name) for name in names}}
        return StreamModel(**stated, most=self.most or (CODE_LIMIT if self.window == "code" else None))

    def check(self) -> None:
        self.model.arrivals(0, np.random.default_rng(0))
        self._placing(0)
        assert self.cost

    def steps(self, seed: int, number: int) -> Iterator[Step]:
        """The periods of an epoch that have a window, with what the policy made of it."""
        place, rule = self._placing(seed)
        wrap = self.wrap is not False
        rng = stream(seed, "tjap", number)
        return stream_steps(self.model, self.periods, rng, place, rule, wrap, self.cost, number)

    def block(self, seed: int, number: int) -> Iterator[Allocation | PeriodWindow]:
        return (self.document(step) for step in self.steps(seed, number))

    def document(self, step: Step) -> Allocation | PeriodWindow:
        """What is written of a period."""
        return step.problem if self.form == "documents" else step.window

    def _placing(self, seed: int) -> tuple[Policy, Rule]:
        stop = Stop(seconds=60.0) if self.iterations is None else Stop(iterations=self.iterations)
        return solver_policy(self.policy, self.rule, self.wrap is not False, stop, seed)


class FragmentedAllocations(_OnTree, frozen=True, kw_only=True):
    """Windows of their own, each with the idle nodes that random busy runs leave.

    Parameters
    ----------
    family : ``fragmented``.
    idle, jobs, mean, spread, cap, longest, load : as in
        :class:`~transom.generate.instances.fragmented.Fragments`, whose defaults they have.
    law : how sizes are distributed: ``lognormal``, or ``uniform`` without mean and spread.
    """

    family: Literal["fragmented"] = "fragmented"
    idle: Positive | None = None
    jobs: int | None = None
    law: Literal["lognormal", "uniform"] = "lognormal"
    mean: float | None = None
    spread: float | None = None
    cap: int | None = None
    longest: Positive | None = None
    load: float | None = None

    @property
    def form(self) -> str:
        """Always documents."""
        return "documents"

    def block(self, seed: int, number: int) -> Iterator[Allocation]:
        names = ("idle", "jobs", "mean", "spread", "cap", "longest", "load")
        stated = {name: value for name in names if (value := getattr(self, name)) is not None}
        shape: dict[str, Any] = {**self.cluster, **stated}
        common: dict[str, Any] = {"rule": self.rule or "static", "wrap": self.wrap is True, "cost": self.cost}
        rng = stream(seed, "fragmented", number)
        if self.law == "lognormal":
            yield fragmented_allocation(rng, Fragments(**shape), **common)
            return
        for name in ("mean", "spread"):
            if name in shape:
                raise SpecError(f"tjap: {name} does not go with law uniform")
        own = {"jobs": shape.pop("jobs", _JOBS), "cap": shape.pop("cap", _CAP)}
        empty = fragmented_allocation(rng, Fragments(**shape, jobs=0), **common)
        sizes = uniform_sizes(rng, own["jobs"], own["cap"], int(shape.get("load", _LOAD) * len(empty.idle)))
        yield Allocation(empty.tree, empty.idle, sizes, common["rule"], common["wrap"], common["cost"])


def recipe_for(given: Mapping[str, Any]) -> type[StreamAllocations | FragmentedAllocations]:
    """The recipe class for these parameters."""
    return FragmentedAllocations if given.get("family") == "fragmented" else StreamAllocations
