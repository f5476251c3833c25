"""Trace-driven replay: policies over real workloads, and what came out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transom.simulation.core.decision import Decision, Policy, Reservation
from transom.simulation.core.schedule import MODES, Schedule
from transom.simulation.policies.by_name import RulePolicy, make_policy, policy_names

if TYPE_CHECKING:
    from transom.simulation.engine import simulate

__all__ = [
    "MODES",
    "Decision",
    "Policy",
    "Reservation",
    "RulePolicy",
    "Schedule",
    "make_policy",
    "policy_names",
    "simulate",
]


def __getattr__(name: str) -> Any:
    # The engine brings the compiler; listing policies and reading schedules do without.
    if name == "simulate":
        return import_module("transom.simulation.engine").simulate
    raise AttributeError(f"module 'transom.simulation' has no attribute {name!r}")
