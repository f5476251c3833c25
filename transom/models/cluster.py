"""The machine: nodes and further resources."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike

from transom._system.wording import html_table
from transom.errors import ModelError
from transom.models.arrays import (
    NONE,
    UNSET,
    BoolArray,
    Frozen,
    IntArray,
    Several,
    expected,
    frozen_ints,
    model,
    whole,
)
from transom.models.fat_tree import FatTree

LARGEST = 2**40
"""The most nodes that a cluster may have, so that node-seconds of long traces stay exact."""

MOST_TYPES = 1 << 12
"""So many types at most, so that what a job takes stays small."""


@model
class Cluster(Frozen):
    """A cluster of nodes with further, cluster-wide resources.

    Parameters
    ----------
    num_nodes : number of nodes, > 0 and at most :data:`LARGEST`.
    resources : names of the further resources (``"burst_buffer"``, ``"gpu"`` ...), distinct; not ``nodes``, and none
        that begins with ``submitting``, a prefix of metrics.
    capacities : amount of each further resource, >= 0, in the unit of the jobs' demands.
    topology : the network position of each node; None if nodes are interchangeable.
    node_types : the type of each node, 0, 1, 2 ..., shape ``(num_nodes,)``; None where all nodes are
        alike. A window states which types each job takes.

    Raises
    ------
    ModelError : a condition above does not hold.
    """

    num_nodes: int
    resources: Several[str] = NONE
    capacities: Several[int] = NONE
    topology: FatTree | None = None
    node_types: IntArray | None = field(default=None, metadata=UNSET)

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_nodes", whole(self.num_nodes, "cluster: num_nodes"))
        for name in ("resources", "capacities"):
            expected(getattr(self, name), (tuple, list), f"cluster: {name}", "a tuple")
        object.__setattr__(self, "capacities", tuple(whole(c, "cluster: capacities") for c in self.capacities))
        object.__setattr__(self, "resources", tuple(self.resources))
        for resource in self.resources:
            expected(resource, str, "cluster: resources", "names")
        expected(self.topology, (FatTree, type(None)), "cluster: topology", "a FatTree or None")
        if self.num_nodes <= 0:
            raise ModelError(f"cluster: num_nodes must be > 0, got {self.num_nodes}")
        if self.num_nodes > LARGEST:
            raise ModelError(f"cluster: num_nodes must be <= 2**40 ({LARGEST}), got {self.num_nodes}")
        if len(self.resources) != len(self.capacities):
            raise ModelError(f"cluster: {len(self.resources)} resources but {len(self.capacities)} capacities")
        if len(set(self.resources)) != len(self.resources) or "nodes" in self.resources:
            raise ModelError(f"cluster: resource names must be distinct and not 'nodes', got {self.resources}")
        for name in self.resources:
            # utilisation_submitting is that of the nodes, utilisation_submitting_gpu that of gpu.
            if not name or name.startswith("submitting"):
                raise ModelError(
                    f"cluster: a resource must have a name that does not begin with 'submitting', got {name!r}"
                )
        for name, capacity in zip(self.resources, self.capacities, strict=True):
            if capacity < 0:
                raise ModelError(f"cluster: capacity of {name} must be >= 0, got {capacity}")
        if self.topology is not None and self.topology.num_nodes != self.num_nodes:
            raise ModelError(f"cluster: {self.num_nodes} nodes, but a topology of {self.topology.num_nodes}")
        if self.node_types is not None:
            types = frozen_ints(self.node_types, "cluster: node_types", (self.num_nodes,))
            if (types < 0).any() or (types >= MOST_TYPES).any():
                node = int(np.flatnonzero((types < 0) | (types >= MOST_TYPES))[0])
                raise ModelError(f"cluster: node {node} has type {types[node]}; types are 0 to {MOST_TYPES - 1}")
            object.__setattr__(self, "node_types", types)

    def rows(self) -> list[tuple[str, str]]:
        """Nodes, further resources, network and types of nodes: names and values, as a table shows them."""
        rows = [("nodes", f"{self.num_nodes:,}")]
        rows += [(name, f"{capacity:,}") for name, capacity in zip(self.resources, self.capacities, strict=True)]
        if (tree := self.topology) is not None:
            rows.append(("leaf switches, pods", f"{tree.num_leaves:,}, {tree.num_pods:,}"))
        if self.node_types is not None:
            each = np.bincount(self.node_types)
            rows.append(("nodes by type", ", ".join(f"{kind}: {nodes:,}" for kind, nodes in enumerate(each.tolist()))))
        return rows

    def _repr_html_(self) -> str:
        return html_table("Cluster", self.rows())


def checked_types(
    node_types: ArrayLike | None, accepts: ArrayLike | None, what: str, shape: tuple[int, int]
) -> tuple[IntArray | None, BoolArray | None]:
    """The type of each of some nodes, and whether each of some jobs takes each type, read-only.

    Parameters
    ----------
    what : the model's name in messages.
    shape : nodes and jobs.

    Returns
    -------
    None twice where neither is stated, or where every job takes every node.

    Raises
    ------
    ModelError : one is stated without the other, shapes differ, or a type is out of range.
    """
    if node_types is None and accepts is None:
        return None, None
    if node_types is None or accepts is None:
        missing, other = ("node_types", "accepts") if node_types is None else ("accepts", "node_types")
        raise ModelError(f"{what}: {other} are stated without {missing}")
    types = frozen_ints(node_types, f"{what}: node_types", (shape[0],))
    taken = _flags(accepts, f"{what}: accepts", shape[1])
    if taken.shape[1] > MOST_TYPES:
        raise ModelError(f"{what}: {taken.shape[1]} types of nodes, more than {MOST_TYPES}")
    wrong = np.flatnonzero((types < 0) | (types >= taken.shape[1]))
    if wrong.size:
        i = int(wrong[0])
        raise ModelError(f"{what}: node_types: entry {i} is {types[i]}, but jobs state {taken.shape[1]} types")
    return (None, None) if taken.all() else (types, taken)


def _flags(accepts: ArrayLike, what: str, jobs: int) -> BoolArray:
    try:
        given = np.asarray(accepts)
    except ValueError as error:
        raise ModelError(f"{what}: not a rectangular array ({error})") from error
    if given.size == 0 and given.ndim == 1:
        given = given.reshape(0, 0)
    if given.ndim != 2 or len(given) != jobs or not (given.dtype == np.bool_ or np.isin(given, (0, 1)).all()):
        raise ModelError(f"{what}: expected true or false, shape ({jobs}, types), got shape {given.shape}")
    flags: BoolArray = given.astype(np.bool_, order="C")
    flags.flags.writeable = False
    return flags
