"""Transom solves the scheduling windows of HPC clusters.

The names below are imported on first use, so that ``import transom`` stays instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from transom.models import (
        Allocation,
        Cluster,
        ConstrainedPath,
        FatTree,
        HopCost,
        Job,
        Knapsack,
        ParetoFront,
        Selection,
        Window,
    )
    from transom.result import Result
    from transom.simulation import Schedule, simulate
    from transom.solving import check, solve
    from transom.stop import Budget, Stop
    from transom.traces import Workload, read_swf, write_swf

_HOMES = {
    "Allocation": "transom.models",
    "Budget": "transom.stop",
    "Cluster": "transom.models",
    "ConstrainedPath": "transom.models",
    "FatTree": "transom.models",
    "HopCost": "transom.models",
    "Job": "transom.models",
    "Knapsack": "transom.models",
    "ParetoFront": "transom.models",
    "Result": "transom.result",
    "Schedule": "transom.simulation",
    "Selection": "transom.models",
    "Stop": "transom.stop",
    "Window": "transom.models",
    "Workload": "transom.traces",
    "check": "transom.solving",
    "read_swf": "transom.traces",
    "simulate": "transom.simulation",
    "solve": "transom.solving",
    "write_swf": "transom.traces",
}

__all__ = [
    "Allocation",
    "Budget",
    "Cluster",
    "ConstrainedPath",
    "FatTree",
    "HopCost",
    "Job",
    "Knapsack",
    "ParetoFront",
    "Result",
    "Schedule",
    "Selection",
    "Stop",
    "Window",
    "Workload",
    "check",
    "read_swf",
    "simulate",
    "solve",
    "write_swf",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'transom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
