"""What an instance looks like in numbers, for the card of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from transom.io import PeriodWindow
from transom.models import Allocation, ConstrainedPath, Knapsack, Selection, Window
from transom.models.arrays import IntArray
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
"""What the numbers are, by name."""


def statistics(instance: Any) -> dict[str, float]:
    """Size, load, ties and resources of an instance, as far as it has them; names are those of :data:`MEANINGS`."""
    if isinstance(instance, Knapsack):
        return {
            "jobs": len(instance),
            "capacity": int(instance.capacity),
            "load": _share(instance.weights.sum(), instance.capacity),
            "ties": _ties(np.column_stack((instance.values, instance.weights))),
        }
    if isinstance(instance, Selection):
        return {
            "jobs": len(instance),
            "resources": len(instance.capacity),
            "objectives": instance.objectives.shape[1],
            "capacity": int(instance.capacity[0]),
            "load": _scarcest(instance.demands, instance.capacity),
            "ties": _ties(np.column_stack((instance.demands, instance.objectives))),
        }
    if isinstance(instance, Allocation):
        return _of_nodes(instance.sizes, instance.idle)
    if isinstance(instance, PeriodWindow):
        return _of_nodes(instance.nodes, instance.idle)
    if isinstance(instance, ConstrainedPath):
        arcs = int(instance.counts.sum())
        return {
            "jobs": arcs,
            "capacity": instance.length,
            "load": _share(instance.sizes @ instance.counts, instance.length),
            "ties": _share(instance.counts[instance.counts > 1].sum(), arcs),
            "sizes": len(instance.sizes),
        }
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
    assert isinstance(instance, Workload)
    span, jobs = int(np.ptp(instance.jobs.submit)), instance.jobs
    return {
        "jobs": len(instance),
        "capacity": instance.cluster.num_nodes,
        "load": _share(jobs.nodes @ instance.runtime, instance.cluster.num_nodes * span),
        "ties": _ties(np.column_stack((jobs.nodes, jobs.walltime, instance.runtime))),
        "days": span / 86_400,
    }


class Summary(msgspec.Struct):
    """Numbers that have been seen: how many, the least, their sum and the largest."""

    number: int = 0
    least: float = float("inf")
    total: float = 0.0
    largest: float = float("-inf")

    def add(self, value: float) -> None:
        """Take in a number; what is not finite is left out."""
        if np.isfinite(value):
            self.join(Summary(1, value, value, value))

    def join(self, other: Summary) -> None:
        """Take in what another has seen."""
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
