"""The tree of a cluster from a specification, such as ``fat-tree:k=20,nodes=1000`` or ``topology:FILE``."""

from __future__ import annotations

from transom import registry
from transom._system.wording import digits
from transom.errors import SpecError
from transom.models import FatTree
from transom.traces.records.topology import Topology, read_topology

_FILE = "topology:"


def stated_nodes(spec: str) -> int | None:
    """The nodes that a specification states; None if it leaves them to the machine.

    Raises
    ------
    SpecError : the specification is malformed.
    TraceError : the file that it names is no topology.
    """
    if spec.startswith(_FILE):
        return len(_read(spec).nodes)
    text = registry.parse(spec)[1].get("nodes")
    if text is None:
        return None
    if not digits(text) or not int(text):
        raise SpecError(f"cluster {spec!r}: nodes must be a whole number > 0, got {text!r}")
    return int(text)


def parse_tree(spec: str, nodes: int) -> FatTree:
    """The fat tree that a specification describes; several trees that no path joins have a core that is none.

    Parameters
    ----------
    spec : ``fat-tree:k=K``, pruned to the first ``nodes`` nodes of the k-ary tree, or
        ``fat-tree:leaf=L,pod=P``: leaf switches of ``L`` and pods of ``P`` nodes; or ``topology:FILE``, the tree that
        a file describes (:func:`~transom.traces.records.topology.read_topology`), its nodes by name with
        ``,order=name``, the one of several that ``,name=TOPOLOGY`` names.
    nodes : nodes of the machine. The specification may state them too (``nodes=N``), but no others.

    Raises
    ------
    SpecError : the specification is malformed, or states another number of nodes.
    ModelError : there is no such tree.
    TraceError : the file is no topology.
    """
    if spec.startswith(_FILE):
        read = _read(spec)
        if len(read.nodes) != nodes:
            raise SpecError(f"cluster {spec!r} has {len(read.nodes)} nodes, the machine {nodes}; leave --nodes out")
        return read.tree
    name, settings = registry.parse(spec)
    if name != "fat-tree":
        raise registry.unknown("cluster", name, ["fat-tree", "topology"])
    make = _k_ary if "k" in settings else _uniform
    tree: FatTree = registry.build(make, name, {"nodes": str(nodes), **settings})
    if tree.num_nodes != nodes:
        raise SpecError(f"cluster {spec!r} has {tree.num_nodes} nodes, the machine {nodes}; state one of them only")
    return tree


def names_of_trees(spec: str) -> tuple[str, ...]:
    """The names of the trees of a specification that no path joins, in the order of their numbers; none of one tree.

    Raises
    ------
    SpecError : the specification is malformed.
    TraceError : the file that it names is no topology.
    """
    return tuple(dict.fromkeys(_read(spec).roots)) if spec.startswith(_FILE) else ()


def _read(spec: str) -> Topology:
    """The topology of ``topology:FILE,order=name,name=TOPOLOGY``."""
    path, *rest = spec.removeprefix(_FILE).split(",")
    settings = registry.parse(f"topology:{','.join(rest)}")[1] if rest else {}
    wrong = settings.keys() - {"order", "name"}
    if not path or wrong or settings.get("order", "tree") not in ("tree", "name"):
        raise SpecError(f"cluster {spec!r}: expected topology:FILE[,order=tree or name][,name=TOPOLOGY]")
    return read_topology(path, settings.get("name"), settings.get("order") == "name")


def _k_ary(k: int, nodes: int) -> FatTree:
    return FatTree.k_ary(k, nodes)


def _uniform(nodes: int, leaf: int = 0, pod: int = 0) -> FatTree:
    if not (leaf and pod):
        raise SpecError("cluster: fat-tree needs k=K, or leaf=L and pod=P, such as fat-tree:k=20")
    return FatTree.uniform(nodes, leaf, pod)
