"""Statistics of instances, for the card of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from transom.io import PeriodWindow
from transom.models import Allocation, ConstrainedPath, Joint, Knapsack, Placement, Selection, Window, Workflow
from transom.models.arrays import IntArray
from transom.problems import problem_type, problem_types
from transom.traces import Workload

MEANINGS: Mapping[str, str] = {
    "jobs": "items, jobs or operation arcs to decide on",
    "running": "jobs that run",
    "resources": "resources that are limited, nodes included",
    "objectives": "values that are maximised",
    "capacity": "capacity, idle nodes or entries of the line",
    "load": "what all ask for together / capacity, of the scarcest resource; of a workload the offered load",
    "ties": "share of the jobs that another one equals in all that counts",
    "sizes": "distinct sizes",
    "runs": "runs of consecutive idle nodes",
    "days": "from the first to the last submission [d]",
}
"""What the numbers of Transom's own types are, by name."""


def meaning(name: str) -> str:
    """What a number is, as :data:`MEANINGS` or the features of some type of problem say; empty where nothing does."""
    found = [MEANINGS, *(each.part("features").meanings for each in problem_types() if each.features is not None)]
    return next((said[name] for said in found if name in said), "")


def statistics(instance: Any) -> dict[str, float]:
    """Size, load, ties and resources of an instance, as far as it has them, and the features of its type by name."""
    if isinstance(instance, Window):
        asked = np.column_stack((instance.queue.nodes, instance.queue.demand))
        return {
            "jobs": len(instance.queue),
            "running": len(instance.running),
            "resources": len(instance.available),
            "capacity": int(instance.available[0]),
            "load": _scarcest(asked, instance.available),
            "ties": _ties(np.column_stack((asked, instance.queue.walltime))),
        }
    if isinstance(instance, PeriodWindow):
        return _of_nodes(instance.nodes, instance.idle)
    if isinstance(instance, Workload):
        span, jobs = int(np.ptp(instance.jobs.submit)), instance.jobs
        return {
            "jobs": len(instance),
            "capacity": instance.cluster.num_nodes,
            "load": _share(jobs.nodes @ instance.runtime, instance.cluster.num_nodes * span),
            "ties": _ties(np.column_stack((jobs.nodes, jobs.walltime, instance.runtime))),
            "days": span / 86_400,
        }
    kind = problem_type(instance.kind)
    numbers, facts = kind.part("statistics"), kind.part("features")
    found: dict[str, float] = {} if numbers is None else numbers(instance)
    return found if facts is None else found | dict(zip(facts.meanings, map(float, facts.of(instance)), strict=True))


def of_knapsack(problem: Knapsack) -> dict[str, float]:
    """Those of a knapsack."""
    return {
        "jobs": len(problem),
        "capacity": int(problem.capacity),
        "load": _share(problem.weights.sum(), problem.capacity),
        "ties": _ties(np.column_stack((problem.values, problem.weights))),
    }


def of_selection(problem: Selection) -> dict[str, float]:
    """Those of a selection."""
    return {
        "jobs": len(problem),
        "resources": len(problem.capacity),
        "objectives": problem.objectives.shape[1],
        "capacity": int(problem.capacity[0]),
        "load": _scarcest(problem.demands, problem.capacity),
        "ties": _ties(np.column_stack((problem.demands, problem.objectives))),
    }


def of_allocation(problem: Allocation) -> dict[str, float]:
    """Those of an allocation."""
    return _of_nodes(problem.sizes, problem.idle)


def of_joint(problem: Joint) -> dict[str, float]:
    """Those of a joint choice; jobs tie that have size and weight in common."""
    return _of_nodes(problem.sizes, problem.idle) | {"ties": _ties(np.column_stack((problem.sizes, problem.weights)))}


def of_path(problem: ConstrainedPath) -> dict[str, float]:
    """Those of a constrained path."""
    arcs = int(problem.counts.sum())
    return {
        "jobs": arcs,
        "capacity": problem.length,
        "load": _share(problem.sizes @ problem.counts, problem.length),
        "ties": _share(problem.counts[problem.counts > 1].sum(), arcs),
        "sizes": len(problem.sizes),
    }


def of_placement(problem: Placement) -> dict[str, float]:
    """Those of a placement."""
    free = problem.free.astype(np.float64).sum(axis=0)  # 64 bits may not hold the sum
    asked = problem.waiting.astype(np.float64) @ problem.demands.astype(np.float64)
    return {
        "jobs": len(problem),
        "resources": len(free),
        "capacity": float(free[0]),
        "load": max(map(_share, asked, free)),
        "ties": _ties(np.column_stack((problem.demands, problem.values))),
    }


def of_workflow(problem: Workflow) -> dict[str, float]:
    """Those of a workflow; its load is energy per nodes and longest path."""
    nodes = 0 if problem.machine is None else int(problem.machine[0])
    return {
        "jobs": len(problem),
        "resources": 1 + len(problem.resources),
        "capacity": nodes,
        "load": _share(problem.runtimes @ problem.nodes, nodes * problem.critical_path()),
    }


class Summary(msgspec.Struct):
    """Running statistics: count, minimum, sum and maximum."""

    number: int = 0
    least: float = float("inf")
    total: float = 0.0
    largest: float = float("-inf")

    def add(self, value: float) -> None:
        """Add a number; non-finite ones are ignored."""
        if np.isfinite(value):
            self.join(Summary(1, value, value, value))

    def join(self, other: Summary) -> None:
        """Merge another summary."""
        self.number += other.number
        self.least = min(self.least, other.least)
        self.total += other.total
        self.largest = max(self.largest, other.largest)


def _of_nodes(sizes: IntArray, idle: IntArray) -> dict[str, float]:
    return {
        "jobs": len(sizes),
        "capacity": len(idle),
        "load": _share(sizes.sum(), len(idle)),
        "ties": _ties(sizes[:, None]),
        "sizes": len(np.unique(sizes)),
        "runs": int((np.diff(idle) > 1).sum()) + 1 if len(idle) else 0,
    }


def _scarcest(demands: IntArray, capacity: IntArray) -> float:
    return max((_share(*both) for both in zip(demands.sum(axis=0), capacity, strict=True)), default=float("nan"))


def _ties(rows: IntArray) -> float:
    """The share of rows that stand there more than once."""
    _, times = np.unique(rows, axis=0, return_counts=True)
    return _share(times[times > 1].sum(), len(rows))


def _share(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else float("nan")
