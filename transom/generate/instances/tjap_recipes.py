"""Recipes of topology-aware allocations: the stream of a cluster, and single windows of any scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import numpy as np

from transom import registry
from transom._system.settings import Positive, setting
from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.instances.fragmented import Fragments, fragmented_allocation, uniform_sizes
from transom.generate.instances.tjap import OneNode, Policy, Step, StreamModel, solver_policy, stream_steps
from transom.io import PeriodWindow
from transom.models import Allocation, FatTree, HopCost
from transom.models.allocation import RULES, Rule
from transom.rng import stream
from transom.simulation.policies.period import CODE_LIMIT, WindowRule
from transom.stop import Stop

Problem = Literal["scas", "dcas", "free"]
Family = Literal["stream", "fragmented"]
_Range = tuple[int, int]

_JOBS, _CAP, _LOAD = 50, 256, 0.95  # of windows with uniform sizes


class _OnTree(InstanceGenerator, frozen=True, kw_only=True):
    """What all allocations have: a tree, the rule, and what hops cost.

    Parameters
    ----------
    cost_model : specification of what hops cost.
    wrap : whether a job's nodes may go on at the head of the idle ones.
    """

    nodes: Annotated[Positive | None, setting("Number of nodes. By default 1000, fragmented: 20000.")] = None
    k: Annotated[
        int | None, setting("Ports of a switch: leaves of k/2 nodes, pods of k/2 leaves. stream: by default 20.")
    ] = None
    leaf_nodes: Annotated[
        Positive | None, setting("Nodes of a leaf switch, instead of k/2. fragmented: by default 32.")
    ] = None
    pod_nodes: Annotated[
        Positive | None,
        setting("Nodes of a pod, such as the authors' 40, instead of k*k/4. fragmented: by default 512."),
    ] = None
    problem: Annotated[
        Problem | None, setting("Allocation problem. By default, what the solver takes; fragmented: scas.")
    ] = None
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
    """Windows of a cluster that is empty at first, and on which a policy places the jobs; an epoch is one such run."""

    family: Literal["stream"] = "stream"
    periods: Annotated[Positive, setting("Number of periods of a run.")] = 100
    period: Annotated[int, setting("Length of a period.", "DURATION")] = 60
    gaps: Annotated[_Range, setting("Range of interarrival times.", "DURATION-DURATION")] = (5, 30)
    sizes: Annotated[_Range, setting("Range of job sizes, in nodes.")] = (1, 40)
    runtimes: Annotated[_Range, setting("Range of runtimes.", "DURATION-DURATION")] = (10, 1800)
    window: Annotated[
        WindowRule,
        setting("Which jobs form a window. paper: all that fit. code: a prefix of up to 5, as in the authors' code."),
    ] = "paper"
    most: Annotated[Positive | None, setting("Most jobs of more than one node in a window. code: by default 5.")] = None
    one_node: Annotated[OneNode, setting("Run one-node jobs on the lowest nodes left, or lose them.")] = "lowest"
    policy: Annotated[str, setting("Solver that places the jobs.")] = "scas-dp"
    iterations: Annotated[
        Positive | None, setting("Iterations of the solver in each window. By default, it has a minute.")
    ] = None
    form: Annotated[
        Literal["documents", "lines"], setting("Write documents of allocations, or lines with epoch and period.")
    ] = "documents"

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
    """Windows of their own, each with the idle nodes that random busy runs leave."""

    family: Literal["fragmented"] = "fragmented"
    idle: Annotated[Positive | None, setting("Number of idle nodes. By default 5000.")] = None
    jobs: Annotated[int | None, setting("Number of jobs. By default 50.")] = None
    law: Annotated[
        Literal["lognormal", "uniform"], setting("Distribution of job sizes; uniform without mean and spread.")
    ] = "lognormal"
    mean: Annotated[float | None, setting("Median of the lognormal distribution. By default 50.")] = None
    spread: Annotated[float | None, setting("Standard deviation of the logarithm. By default 0.7.")] = None
    cap: Annotated[int | None, setting("Largest job, in nodes. By default 256.")] = None
    longest: Annotated[Positive | None, setting("Longest run of busy nodes. By default 512.")] = None
    load: Annotated[float | None, setting("Largest demand, as a share of the idle nodes. By default 0.95.")] = None

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
