"""What a shell completes: names that are registered, of a specification, behind a label or not."""

from __future__ import annotations

from collections.abc import Iterable


def solvers(incomplete: str) -> list[str]:
    """Solvers that begin so."""
    return _registered("transom.solvers", incomplete)


def problems(incomplete: str) -> list[str]:
    """Problems that begin so."""
    return _registered("transom.problems", incomplete)


def objectives(incomplete: str) -> list[str]:
    """Objectives of windows and placements that begin so."""
    from transom.models.placement import OBJECTIVES

    return _registered("transom.objectives", incomplete) + _beginning(OBJECTIVES, incomplete)


def cost_models(incomplete: str) -> list[str]:
    """Cost models that begin so."""
    return _registered("transom.cost_models", incomplete)


def decision_rules(incomplete: str) -> list[str]:
    """Decision rules that begin so."""
    return _registered("transom.decision_rules", incomplete)


def policies(incomplete: str) -> list[str]:
    """Policies that begin so: priority rules, with and without backfilling, and those that are registered."""
    from transom.simulation.policies.by_name import policy_names

    return _beginning(policy_names(), incomplete)


def _registered(group: str, incomplete: str) -> list[str]:
    from transom import registry

    return _beginning(registry.names(group), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    label, sign, begun = incomplete.rpartition("=")
    return [label + sign + name for name in names if name.startswith(begun)]
