"""Objectives of a selection by name."""

from __future__ import annotations

from transom import registry
from transom.errors import SpecError
from transom.models import Cluster, Objective


def named_terms(text: str, cluster: Cluster) -> dict[str, Objective | None]:
    """What a text names: resources of the cluster, ``nodes`` among them, and registered objectives.

    Parameters
    ----------
    text : names with slashes between, such as ``nodes/gpu/wait``; empty for every resource.
    cluster : the machine; a name of its own resources comes before a registered one.

    Returns
    -------
    What :meth:`Selection.from_window` takes, in the order of the text.

    Raises
    ------
    SpecError : a name is unknown or stands twice.
    """
    resources = ("nodes", *cluster.resources)
    terms: dict[str, Objective | None] = {}
    for name in text.split("/") if text else resources:
        if name in terms:
            raise SpecError(f"objectives {text!r}: {name!r} stands twice")
        if name in resources:
            terms[name] = None
        elif name in registry.names(registry.OBJECTIVES):
            terms[name] = registry.make(registry.OBJECTIVES, name)
        else:
            known = {*resources, *registry.names(registry.OBJECTIVES)}
            raise registry.unknown("objective or resource", name, known)
    return terms
