"""The constrained path with networkx: a plain reference for small graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from transom._system.collector import collector_paused
from transom.errors import SpecError
from transom.models.shortest_path import ConstrainedPath
from transom.reductions import packing
from transom.solvers.allocation.packing_search import answer_greedily, warm_packing
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solving import presolve
from transom.stop import Budget

if TYPE_CHECKING:
    from networkx import DiGraph

_AT_LEAST = 6e-6  # what an arc takes to make [s]

_Node = tuple[int, tuple[int, ...]]
"""A node of the layered graph: node of the problem's graph, arcs of each size that are still wanted."""


@dataclass(frozen=True, slots=True)
class CspNetworkx:
    r"""Dijkstra's algorithm on the layered graph, nodes (position, arcs left of each size), all in Python.

    The graph is ``problem.graph()`` once for each vector of counts left, :math:`(n + 1) \prod_r (\epsilon_r + 1)`
    nodes; an operation arc leads into the layer with one of its size less. A path takes equally many
    arcs of each size, so that costs less the least one of their size have the same optimum and are never
    negative, as Dijkstra's algorithm needs. A settled node is not counted as an iteration: there are none.

    Parameters
    ----------
    nodes : most nodes of the layered graph that it takes on, > 0.

    Raises
    ------
    SpecError : ``nodes`` is not positive.

    References
    ----------
    Lan et al. (2023), section IV-B.
    """

    name: ClassVar[str] = "csp-networkx"
    solves: ClassVar[type] = ConstrainedPath
    needs: ClassVar[tuple[str, ...]] = ("networkx",)

    nodes: int = 100_000

    def __post_init__(self) -> None:
        if self.nodes <= 0:
            raise SpecError(f"csp-networkx: nodes must be > 0, got {self.nodes}")

    def supports(self, problem: ConstrainedPath, /) -> str | None:
        """None unless the layered graph is too large."""
        layers = 1
        for count in problem.counts.tolist():
            layers *= count + 1
        needed = (problem.length + 1) * layers
        return None if needed <= self.nodes else f"its graph has {needed} nodes, more than nodes={self.nodes}"

    def warm_up(self) -> None:
        """Import networkx, and compile what places blocks greedily."""
        import_back_end("networkx")
        warm_packing()
        run_deferred()

    def __call__(
        self, problem: ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        import networkx

        if presolve(problem, budget):
            return
        arcs = problem.length + int(np.isfinite(problem.costs).sum())
        if budget.short(arcs * _AT_LEAST):
            why = f"a graph of {arcs} arcs takes longer to build than there is time"
            answer_greedily(problem, packing.apply(problem), budget, why)
            return
        with collector_paused():
            layered = _layered(problem, budget)
        defer_destructors(layered)
        if layered is None:
            answer_greedily(problem, packing.apply(problem), budget)  # building the graph counts
            return
        source, target = (0, tuple(problem.counts.tolist())), (problem.length, (0,) * len(problem.sizes))

        def weight(_tail: _Node, _head: _Node, arc: dict[str, Any]) -> float:
            if budget.done():
                raise _TimeIsOver
            return float(arc["weight"])

        try:
            path: list[_Node] = networkx.dijkstra_path(layered, source, target, weight)
        except _TimeIsOver:
            answer_greedily(problem, packing.apply(problem), budget)
            return
        except (networkx.NetworkXNoPath, networkx.NodeNotFound):
            budget.prove_infeasible()
            return
        steps = [(tail[0], head[0] - tail[0]) for tail, head in pairwise(path) if tail[1] != head[1]]
        budget.found(np.array(steps, np.int64).reshape(-1, 2))
        assert budget.value is not None
        budget.prove(budget.value)


class _TimeIsOver(Exception):
    """Raised in the midst of networkx."""


def _layered(problem: ConstrainedPath, budget: Budget) -> DiGraph | None:
    """What the source reaches of the layered graph; None when time is over before it is built."""
    from networkx import DiGraph

    graph = problem.graph()
    defer_destructors(graph)
    least = np.where(np.isfinite(problem.costs), problem.costs, np.inf).min(axis=1)
    rows = {size: row for row, size in enumerate(problem.sizes.tolist())}
    layered = DiGraph()
    reached: list[set[tuple[int, ...]]] = [set() for _ in graph]
    reached[0].add(tuple(problem.counts.tolist()))
    for tail in range(problem.length):
        for left in sorted(reached[tail]):
            if budget.done():
                return None
            for _, head, arc in graph.out_edges(tail, data=True):
                layer, weight = left, 0.0
                if arc["size"]:
                    row = rows[arc["size"]]
                    if not left[row]:
                        continue
                    layer = (*left[:row], left[row] - 1, *left[row + 1 :])
                    weight = arc["weight"] - float(least[row])
                reached[head].add(layer)
                layered.add_edge((tail, left), (head, layer), weight=weight)
    return layered
