"""Solvers compared: plans, runs in worker processes, and what they leave.

The names below are imported on first use: a worker process must set its threads before any library is loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transom.bench.score.front_quality import FrontQuality, quality

_HOMES = {"FrontQuality": "transom.bench.score.front_quality", "quality": "transom.bench.score.front_quality"}

__all__ = ["FrontQuality", "quality"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'transom.bench' has no attribute {name!r}")
