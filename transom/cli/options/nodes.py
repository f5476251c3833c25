"""Options of ``transom simulate`` about nodes: the tree, and which solver chooses among them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from transom.simulation.nodes.allocator import Allocator
    from transom.simulation.runs import Run
    from transom.traces import Workload


Rule = Literal["static", "dynamic", "free"]
"""What jobs may be given: consecutive idle nodes, consecutive ones of those still left, or any."""


AllocateBy = Literal["window", "job"]
"""Which jobs are placed together."""


class NodeOptions(NamedTuple):
    """What the command line says about nodes."""

    cluster: str | None = None
    solvers: tuple[str, ...] = ()
    rule: Rule | None = None
    by: AllocateBy = "window"
    seconds: float = 1.0
    cost_model: str | None = None


_COMPARED = ["fcfs-easy", "saf-easy"]
"""Where nothing is asked for: what most sites run, and the rule with the lowest mean waits."""


def chosen_runs(policies: list[str] | None, period: int | None, seed: int, nodes: NodeOptions) -> list[Run]:
    """A run per policy, and for each of several allocators where these are compared.

    Raises
    ------
    SpecError : a policy, cost model or parameter is unknown, or options do not go together.
    """
    from transom.errors import SpecError
    from transom.simulation.runs import parse_runs

    if period is not None and policies:
        raise SpecError(f"--period {period} stands for --policy nwp:period={period}; with --policy, name it there")
    runs = parse_runs(policies or (_COMPARED if period is None else [f"nwp:period={period}"]), seed)
    allocators = _allocators(nodes)
    if len(allocators) < 2:
        return [replace(run, allocator=each) for run in runs for each in allocators]
    names = [str(each.solver).partition(":")[0] for each in allocators if each is not None]
    if len(set(names)) < len(names):
        names = [f"{name}-{position}" for position, name in enumerate(names, 1)]
    return [
        replace(run, label=f"{run.label}.{name}", allocator=each)
        for run in runs
        for name, each in zip(names, allocators, strict=True)
    ]


def _allocators(nodes: NodeOptions) -> list[Allocator | None]:
    from transom import registry
    from transom.errors import SpecError
    from transom.simulation.nodes.allocator import Allocator

    asked = {
        "--allocate": bool(nodes.solvers),
        "--rule": nodes.rule is not None,
        "--allocate-by": nodes.by != "window",
        "--allocate-seconds": nodes.seconds != 1.0,
        "--cost-model": nodes.cost_model is not None,
    }
    for name, stated in asked.items():
        if stated and nodes.cluster is None:
            raise SpecError(f"{name} needs --cluster, such as fat-tree:k=20")
        if stated and not nodes.solvers and name != "--cost-model":
            raise SpecError(f"{name} needs --allocate")
    if nodes.cluster is None:
        return [None]
    cost = registry.make(registry.COST_MODELS, nodes.cost_model or "paper")
    by_job = nodes.by == "job"
    return [Allocator(solver, nodes.rule, cost, True, by_job, nodes.seconds) for solver in nodes.solvers or (None,)]


def machine(nodes: int | None, cluster: str | None) -> int | None:
    """Nodes of the machine: those of --nodes, else those that --cluster states, else None."""
    from transom.simulation.nodes.topology import stated_nodes

    return nodes if nodes is not None or cluster is None else stated_nodes(cluster)


def on_tree(workload: Workload, cluster: str | None, runs: list[Run]) -> Workload:
    """The workload on the tree of its cluster, which every run's allocator must take.

    Raises
    ------
    SpecError, ModelError : there is no such tree, or an allocator does not take it.
    """
    from transom.simulation.nodes.allocator import load_allocator
    from transom.simulation.nodes.forest import kept_in_trees
    from transom.simulation.nodes.topology import names_of_trees, parse_tree

    if cluster is None:
        return workload
    tree = parse_tree(cluster, workload.cluster.num_nodes)
    for run in runs:
        if run.allocator is not None and run.allocator.solver is not None:
            load_allocator(run.allocator, tree)
    if names := names_of_trees(cluster):
        return kept_in_trees(workload, tree, names)
    return replace(workload, cluster=replace(workload.cluster, topology=tree))
