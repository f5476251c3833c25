"""The machine: nodes and further resources."""

from __future__ import annotations

from transom.errors import ModelError
from transom.models.arrays import NONE, Frozen, Several, expected, model, whole
from transom.models.fat_tree import FatTree

LARGEST = 2**40
"""The most nodes that a cluster may have, so that node-seconds of long traces stay exact."""


@model
class Cluster(Frozen):
    """A cluster of equal nodes with further, cluster-wide resources.

    Parameters
    ----------
    num_nodes : number of nodes, > 0 and at most :data:`LARGEST`.
    resources : names of the further resources (``"burst_buffer"``, ``"gpu"`` ...), distinct; not ``nodes``, and none
        that begins with ``submitting``, a prefix of metrics.
    capacities : amount of each further resource, >= 0, in the unit of the jobs' demands.
    topology : the network position of each node; None if nodes are interchangeable.

    Raises
    ------
    ModelError : a condition above does not hold.
    """

    num_nodes: int
    resources: Several[str] = NONE
    capacities: Several[int] = NONE
    topology: FatTree | None = None

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
