"""Transom solves the scheduling windows of HPC clusters.

The names below are imported on first use, so that ``import transom`` stays instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from transom.io import (
        read_allocations,
        read_documents,
        read_knapsacks,
        read_placements,
        read_selections,
        read_windows,
        read_workflows,
        write_documents,
    )
    from transom.models import (
        Allocation,
        Cluster,
        ConstrainedPath,
        FatTree,
        HopCost,
        Job,
        JobTable,
        Knapsack,
        ParetoFront,
        Placement,
        Selection,
        Window,
        Workflow,
    )
    from transom.result import Result, table
    from transom.simulation import Decision, Reservation, Schedule, simulate
    from transom.solving import check, solve
    from transom.stop import Budget, Stop
    from transom.traces import TracedJob, Workload, read_swf, write_swf

__all__ = [
    "Allocation",
    "Budget",
    "Cluster",
    "ConstrainedPath",
    "Decision",
    "FatTree",
    "HopCost",
    "Job",
    "JobTable",
    "Knapsack",
    "ParetoFront",
    "Placement",
    "Reservation",
    "Result",
    "Schedule",
    "Selection",
    "Stop",
    "TracedJob",
    "Window",
    "Workflow",
    "Workload",
    "check",
    "read_allocations",
    "read_documents",
    "read_knapsacks",
    "read_placements",
    "read_selections",
    "read_swf",
    "read_windows",
    "read_workflows",
    "simulate",
    "solve",
    "table",
    "write_documents",
    "write_swf",
]

_HOMES = {
    "models": (
        "Allocation Cluster ConstrainedPath FatTree HopCost Job JobTable "
        "Knapsack ParetoFront Placement Selection Window Workflow"
    ),
    "stop": "Budget Stop",
    "result": "Result table",
    "solving": "check solve",
    "traces": "TracedJob Workload read_swf write_swf",
    "io": (
        "read_allocations read_documents read_knapsacks read_placements read_selections read_windows read_workflows "
        "write_documents"
    ),
    "simulation": "Decision Reservation Schedule simulate",
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"transom.{home}"), name)
    raise AttributeError(f"module 'transom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
