"""Topologies as data: ``topology.conf`` and ``topology.yaml`` of Slurm, and lists of the switches above each node."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from transom._system.wording import digits
from transom.errors import TraceError
from transom.models import FatTree, tree_of_switches
from transom.traces.records.slurm_text.switches import Switch, block_size, damaged, from_left, grouped, named
from transom.traces.records.slurm_text.tokens import numbered_lines
from transom.traces.records.slurm_text.topology_yaml import entries_of_yaml

_PAIR = re.compile(r"""([^\s="]+)\s*=\s*("[^"]*"|[^\s"=]*)(?=\s|$)""")
_SHOWN = {"level", "blockindex", "blocksize"}  # what scontrol show topology adds
_KNOWN = {
    "switchname": {"switches", "nodes", "linkspeed", *_SHOWN},
    "blockname": {"nodes", *_SHOWN},
    "aggregatedblock": {"nodes", *_SHOWN},
    "blocksizes": set[str](),
}
_MOST = 10_000_000  # characters of a file


class Topology(NamedTuple):
    """A tree and the names of its nodes by id.

    ``roots``: of several trees that no path joins, the highest switch of the tree of each node; else empty. ``tree``
    then has a core that is none.
    """

    tree: FatTree
    nodes: tuple[str, ...]
    roots: tuple[str, ...] = ()


def read_topology(path: str | os.PathLike[str], topology: str | None = None, by_name: bool = False) -> Topology:
    """The tree that a file describes.

    Parameters
    ----------
    path : ``topology.conf`` (tree or block) or what ``scontrol show topology`` prints, ``topology.yaml`` (by its
        ending, ``.yaml`` or ``.yml``), or a list with a line for each node: its name, then its switches from the lowest
        to the highest, separated by commas or spaces.
    topology : which one of a ``topology.yaml``; by default the first with ``cluster_default``, else the first.
    by_name : number the nodes by name, digits as numbers; by default from left to right in the tree.

    Raises
    ------
    TraceError : the file cannot be read, or describes no tree: an unknown child, a node or a switch named twice, a
        ring. The message states file and line.
    SpecError : PyYAML is missing.
    """
    where = os.fspath(path)
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{where}: cannot be read: {error}") from None
    if len(text) > _MOST:
        raise TraceError(f"{where}: holds more than {_MOST:,} characters")
    if where.lower().endswith((".yaml", ".yml")):
        entries = entries_of_yaml(where, text, topology)
    elif topology is not None:
        raise TraceError(f"{where}: holds one topology only; names are those of a topology.yaml")
    elif re.search(r"^\s*(?:SwitchName|BlockName|BlockSizes)\s*=", text, re.MULTILINE | re.IGNORECASE):
        entries = _entries_of_conf(where, text)
    else:
        entries = _entries_of_list(where, text)
    found = _tree(where, entries)
    return _by_name(found) if by_name else found


def _entries_of_conf(path: str, text: str) -> list[Switch]:
    switches: list[Switch] = []
    blocks: list[Switch] = []
    sizes: list[int] = []
    sized = 0
    for line, said in numbered_lines(text):
        pairs = [(match[1].lower(), match[2].strip('"')) for match in _PAIR.finditer(said)]
        if rest := _PAIR.sub("", said).split():
            included = "; files that it includes are not read" if rest[0].lower() == "include" else ""
            damaged(path, line, f"expected NAME=VALUE, got {rest[0][:60]!r}{included}")
        kind = pairs[0][0]
        if kind not in _KNOWN:
            damaged(path, line, f"a line begins with SwitchName, BlockName or BlockSizes, not with {pairs[0][0]!r}")
        values = dict(pairs)
        for key, _ in pairs[1:]:
            if key not in _KNOWN[kind]:
                damaged(path, line, f"unknown parameter {key!r}")
        if len(values) < len(pairs):
            damaged(path, line, "a parameter is stated twice")
        if kind == "blocksizes":
            sizes = [block_size(path, line, each) for each in values[kind].split(",")]
            sized = line
            continue
        if not values[kind]:
            damaged(path, line, f"{kind} states no name")
        if "blocksize" in values:
            sizes = sorted({*sizes, block_size(path, line, values["blocksize"])})
            sized = sized or line
        if kind == "aggregatedblock":
            continue
        if values.get("level", "0") != "0":
            values.pop("nodes", None)  # those of the switches below
        for name in named(path, line, values[kind]):
            nodes, below = (named(path, line, values.get(key, "")) for key in ("nodes", "switches"))
            (switches if kind == "switchname" else blocks).append(Switch(name, nodes, below, line))
    if switches and (blocks or sizes):
        damaged(path, (blocks[0].line if blocks else sized), "a file describes switches or blocks, not both")
    return switches if switches else grouped(path, blocks, sizes, sized or (blocks[0].line if blocks else 1))


def _entries_of_list(path: str, text: str) -> list[Switch]:
    """A leaf switch for each name in the second column, a switch above for each in the third, and so on."""
    rows = [(line, re.split(r"\s*,\s*|\s+", said.strip())) for line, said in numbered_lines(text)]
    if rows and rows[0][1][0].lower() in ("node", "nodes", "name"):
        del rows[0]
    nodes: dict[tuple[int, str], list[str]] = {}
    above: dict[tuple[int, str], str] = {}
    first: dict[tuple[int, str], int] = {}
    known: dict[str, int] = {}
    for line, row in rows:
        if len(row) < 2 or len(row) != len(rows[0][1]) or not all(row):
            wanted = max(len(rows[0][1]), 2)
            damaged(path, line, f"expected {wanted} fields, a node and its switches, got {len(row)}")
        if row[0] in known:
            damaged(path, line, f"node {row[0]} stands in line {known[row[0]]}, too")
        known[row[0]] = line
        switches = list(enumerate(row[1:]))
        nodes.setdefault(switches[0], []).append(row[0])
        for switch in switches:
            first.setdefault(switch, line)
        for switch, (_, up) in pairwise(switches):
            if above.setdefault(switch, up) != up:
                damaged(
                    path, line, f"switch {switch[1]} hangs below {up}, in line {first[switch]} below {above[switch]}"
                )
    if not rows:
        return []
    entries = [Switch(f"{key[0]}\0{key[1]}", tuple(nodes.get(key, ())), (), first[key]) for key in first]
    below: dict[tuple[int, str], list[str]] = {}
    for (level, name), up in above.items():
        below.setdefault((level + 1, up), []).append(f"{level}\0{name}")
    entries = [each._replace(below=tuple(below.get(key, ()))) for each, key in zip(entries, first, strict=True)]
    top = len(rows[0][1]) - 2
    cores = [f"{level}\0{name}" for level, name in first if level == top]
    if len(cores) > 1:
        entries.append(Switch("\0the core", (), tuple(cores), rows[0][0]))
    return entries


def _tree(path: str, entries: Sequence[Switch]) -> Topology:
    """The tree of some switches, its nodes from left to right."""
    by_name: dict[str, Switch] = {}
    of_node: dict[str, Switch] = {}
    for each in entries:
        if each.name in by_name:
            damaged(path, each.line, f"switch {_quoted(each.name)} stands in line {by_name[each.name].line}, too")
        by_name[each.name] = each
        if bool(each.nodes) == bool(each.below):
            said = "both nodes and switches" if each.nodes else "neither nodes nor switches"
            damaged(path, each.line, f"switch {_quoted(each.name)} has {said}")
        for node in each.nodes:
            if node in of_node:
                on = of_node[node]
                damaged(path, each.line, f"node {node} hangs on {_quoted(on.name)} already (line {on.line})")
            of_node[node] = each
    above: dict[str, Switch] = {}
    for each in entries:
        for name in each.below:
            if name not in by_name:
                damaged(path, each.line, f"switch {_quoted(each.name)} names {_quoted(name)}, which no line describes")
            if name in above:
                up = above[name]
                damaged(
                    path, each.line, f"switch {_quoted(name)} hangs below {_quoted(up.name)} already (line {up.line})"
                )
            above[name] = each
    if not of_node:
        raise TraceError(f"{path}: describes no node")
    ordered = from_left(entries)
    if len(ordered) < len(entries):
        inside = {each.name for each in ordered}
        ring = next(each for each in entries if each.name not in inside)
        damaged(path, ring.line, f"switch {_quoted(ring.name)} is above itself, or below one that is")
    number = {each.name: i for i, each in enumerate(ordered)}
    up_of = [number[above[each.name].name] if each.name in above else -1 for each in ordered]
    nodes = [(node, number[each.name]) for each in ordered for node in each.nodes]
    tree, named_ = tree_of_switches([switch for _, switch in nodes], up_of), tuple(name for name, _ in nodes)
    return Topology(tree, named_, _roots(nodes, up_of, [_quoted(each.name) for each in ordered]))


def _roots(nodes: Sequence[tuple[str, int]], above: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """The highest switch above each node; none where it is the same for all."""
    root: list[int] = []
    for switch, up in enumerate(above):  # in depth-first order
        root.append(switch if up < 0 else root[up])
    found = tuple(names[root[switch]] for _, switch in nodes)
    return found if len(set(found)) > 1 else ()


def _quoted(name: str) -> str:
    """A switch as its line calls it."""
    return name.rpartition("\0")[2]


def _by_name(found: Topology) -> Topology:
    """The same tree, its nodes numbered by name."""

    def key(node: int) -> tuple[list[tuple[bool, int, str]], str]:
        parts = re.split(r"(\d+)", found.nodes[node])
        return [(digits(part), int(part) if digits(part) else 0, part) for part in parts], found.nodes[node]

    order = sorted(range(len(found.nodes)), key=key)
    tree = found.tree
    moved = FatTree(tree.leaf[order], tree.pod[order], None if tree.above is None else tree.above[:, order])
    roots = tuple(found.roots[node] for node in order) if found.roots else ()
    return Topology(moved, tuple(found.nodes[node] for node in order), roots)
