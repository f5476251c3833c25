"""Topologies as data: trees and blocks of Slurm, YAML, lists; what is no tree says why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.deep_trees import joined_at, random_switches
from transom.errors import TraceError
from transom.models import FatTree
from transom.traces.records.topology import Topology, read_topology

CONF = """# the fabric
SwitchName=top Switches=a,b LinkSpeed=100 # two halves
switchname=b Switches=l[2-3]
SwitchName=a \\
  Switches=l1
SwitchName=l1 Nodes=n[1-2]
SwitchName=l2 Nodes=n10
SwitchName=l3 Nodes=n[3,9]
"""
YAML = """
- topology: flat
  flat: true
- topology: fabric
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: a,b
      - {switch: b, children: "l[2-3]"}
      - {switch: a, children: l1}
      - {switch: l1, nodes: "n[1-2]"}
      - {switch: l2, nodes: n10}
      - {switch: l3, nodes: "n[3,9]"}
- topology: blocks
  block:
    block_sizes: [2, 4]
    blocks:
      - {block: b1, nodes: "n[1-2]"}
      - {block: b2, nodes: "n[3-4]"}
      - {block: b3, nodes: "n[5-7]"}
"""
LIST = """node,leaf,pod
n1,l1,a
n2,l1,a
n10,l2,b
n3,l3,b
n9,l3,b
"""
BLOCKS = "BlockSizes=2,4\nBlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n[5-7]\n"
SAME = Topology(FatTree([0, 0, 1, 2, 2], [0, 0, 1, 1, 1]), ("n1", "n2", "n10", "n3", "n9"))


def read(folder: Path, text: str, name: str = "topology.conf", **options: object) -> Topology:
    path = folder / name
    path.write_text(text, "utf-8")
    return read_topology(path, **options)


def test_all_forms_describe_the_same_tree(tmp_path: Path) -> None:
    assert read(tmp_path, CONF) == SAME
    assert read(tmp_path, LIST, "nodes.csv") == SAME
    assert read(tmp_path, LIST.replace(",", "  ").split("\n", 1)[1], "nodes.txt") == SAME
    by_name = read(tmp_path, CONF, by_name=True)
    assert by_name.nodes == ("n1", "n2", "n3", "n9", "n10")
    assert by_name.tree == FatTree([0, 0, 1, 1, 2], [0, 0, 1, 1, 1])


def test_yaml(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    assert read(tmp_path, YAML, "topology.yaml") == SAME
    assert read(tmp_path, YAML, "topology.yaml", topology="fabric") == SAME
    assert read(tmp_path, YAML, "topology.yaml", topology="blocks") == read(tmp_path, BLOCKS)
    for text, says in {
        "- topology: a\n  flat: true\n": "line 1: topology a is neither a tree nor of blocks",
        YAML.replace("l[2-3]", "l[2-4]"): "line 10: switch b names l4, which no line describes",
        YAML.replace("nodes: n10", "nodes: n1"): "line 13: node n1 hangs on l1 already (line 12)",
        "- topology: [": "line 1: is no YAML",
        "- topology: a\n  tree: 3\n": "line 2: expected names with values",
        "- tree: 3\n": "line 1: 'topology' is missing",
        "a: b": "line 1: expected a list of topologies",
        "": "describes no topology",
        "- {topology: a, tree: {switches: [{switch: s, nodes: n1}, {switch: [s], nodes: n2}]}}": "expected a text",
        "- {topology: a, block: {block_sizes: [x], blocks: [{block: s, nodes: n1}]}}": "a block size is a whole number",
    }.items():
        with pytest.raises(TraceError) as raised:
            read(tmp_path, text, "topology.yaml")
        assert says in str(raised.value)
    with pytest.raises(TraceError, match="no topology 'other'; there are flat, fabric, blocks"):
        read(tmp_path, YAML, "topology.yaml", topology="other")


FOREST = """SwitchName=ib1 Nodes=n[1-4]
SwitchName=ib2 Nodes=n[5-8]
SwitchName=core Switches=ib[1-2]
SwitchName=opa Nodes=m[1-4]
"""


def test_several_roots_are_trees_of_their_own(tmp_path: Path) -> None:
    found = read(tmp_path, FOREST)
    assert found.roots == ("core",) * 8 + ("opa",) * 4
    assert [found.tree.level(0, node) for node in (1, 4, 8)] == [0, 1, 2]
    by_name = read(tmp_path, FOREST, by_name=True)
    assert by_name.nodes[:5] == ("m1", "m2", "m3", "m4", "n1")
    assert by_name.roots[:5] == ("opa",) * 4 + ("core",)
    assert read(tmp_path, "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n").roots == ("a", "b")
    assert read(tmp_path, CONF).roots == ()


SHOWN = """SwitchName=l1 Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=l2 Level=0 LinkSpeed=1 Nodes=n10
SwitchName=l3 Level=0 LinkSpeed=1 Nodes=n[3,9]
SwitchName=a Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=l1
SwitchName=b Level=1 LinkSpeed=1 Nodes=n[3,9-10] Switches=l[2-3]
SwitchName=top Level=2 LinkSpeed=1 Nodes=n[1-3,9-10] Switches=a,b
"""
SHOWN_BLOCKS = """BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2
BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2
BlockName=b3 BlockIndex=2 Nodes=n[5-7] BlockSize=2
AggregatedBlock=b[1-2] BlockIndex=3 Nodes=n[1-4] BlockSize=4
"""


def test_what_scontrol_shows(tmp_path: Path) -> None:
    assert read(tmp_path, SHOWN) == SAME
    assert read(tmp_path, SHOWN_BLOCKS) == read(tmp_path, BLOCKS)


def test_blocks_are_aggregated_by_powers_of_two(tmp_path: Path) -> None:
    tree = read(tmp_path, BLOCKS).tree
    assert [tree.level(0, node) for node in range(1, 7)] == [0, 1, 1, 2, 2, 2]
    plain = read(tmp_path, BLOCKS.split("\n", 1)[1]).tree
    assert [plain.level(0, node) for node in range(1, 7)] == [0, 1, 1, 1, 1, 1]
    assert read(tmp_path, "BlockName=b Nodes=n[1-3]").tree == FatTree.uniform(3, 3, 3)
    more = "".join(f"BlockName=b{i} Nodes=n{i}\n" for i in range(16))
    tree = read(tmp_path, f"BlockSizes=1,4,8\n{more}").tree
    assert [tree.level(0, node) for node in (1, 3, 4, 7, 8, 15)] == [1, 1, 2, 2, 3, 3]


def test_random_trees_of_any_depth(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 12))
        leaf, above = random_switches(rng, int(rng.integers(1, 6)), count)
        used = {each for switch in leaf for each in _way(switch, above)}
        lines = []
        for switch in rng.permutation(sorted(used)).tolist():
            below = ",".join(f"s{i}" for i, up in enumerate(above) if up == switch and i in used)
            nodes = ",".join(f"n{i}" for i, on in enumerate(leaf) if on == switch)
            lines.append(f"SwitchName=s{switch} {f'Switches={below}' if below else f'Nodes={nodes}'}\n")
        found = read(tmp_path, "".join(lines), by_name=True)
        assert found.nodes == tuple(f"n{i}" for i in range(count))
        kept = [up if i in used else -2 for i, up in enumerate(above)]
        for a in range(count):
            for b in range(a):
                assert found.tree.level(a, b) == joined_at(leaf, kept, a, b)


def _way(switch: int, above: list[int]) -> list[int]:
    return [] if switch < 0 else [switch, *_way(above[switch], above)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (CONF.replace("l[2-3]", "l[2-4]"), "line 3: switch b names l4, which no line describes"),
        (CONF.replace("n10", "n1"), "line 7: node n1 hangs on l1 already (line 6)"),
        (CONF.replace("n10", "n[1"), "line 7: a damaged list of hosts"),
        (CONF + "SwitchName=l1 Nodes=n99\n", "line 9: switch l1 stands in line 6, too"),
        (CONF + "SwitchName=o Switches=p\nSwitchName=p Switches=o\n", "line 9: switch o is above itself, or below one"),
        (CONF.replace("Switches=l1", "Switches=l[1-2]"), "line 4: switch l2 hangs below b already (line 3)"),
        (CONF.replace("Nodes=n10", "Nodes=n10 Switches=l1"), "line 7: switch l2 has both nodes and switches"),
        (CONF.replace("Nodes=n10", ""), "line 7: switch l2 has neither nodes nor switches"),
        (CONF.replace("LinkSpeed", "Speed"), "line 2: unknown parameter 'speed'"),
        (CONF + "NodeName=n1\n", "line 9: a line begins with SwitchName, BlockName or BlockSizes, not with 'nodename'"),
        (CONF + "SwitchName=z nodes\n", "line 9: expected NAME=VALUE, got 'nodes'"),
        (CONF + "BlockName=z Nodes=n7\n", "line 9: a file describes switches or blocks, not both"),
        (BLOCKS.replace("2,4", "2,6"), "line 1: block size 6 is no power of two of 2, the one before"),
        (BLOCKS.replace("2,4", "3,6"), "line 2: block b1 has 2 nodes, less than a base block of 3"),
        pytest.param(BLOCKS.replace("2,4", "9" * 5000), "line 1: a block size is a whole number > 0", id="long"),
        (BLOCKS.replace("2,4", "0"), "line 1: a block size is a whole number > 0, got '0'"),
        (LIST.replace("n2,l1,a", "n2,l1"), "line 3: expected 3 fields, a node and its switches, got 2"),
        (LIST.replace("n2,l1,a", "n2,l1,b"), "line 3: switch l1 hangs below b, in line 2 below a"),
        (LIST.replace("n2,", "n1,"), "line 3: node n1 stands in line 2, too"),
        (CONF.replace("Nodes=n10", "Nodes=ALL"), "line 7: ALL stands for nodes that the file does not name"),
        (CONF.replace("Nodes=n10", "Nodes=n[9-3]"), "line 7: 'n[9-3]' names no host"),
        (CONF.replace("Nodes=n10", "Nodes=n\x0010"), "line 7: a name of characters that are not printed"),
        (CONF + "SwitchName= Nodes=n99\n", "line 9: switchname states no name"),
        (
            CONF + "Include more.conf\n",
            "line 9: expected NAME=VALUE, got 'Include'; files that it includes are not read",
        ),
        ("", "describes no node"),
        ("SwitchName=a Switches=a\n", "describes no node"),
    ],
)
def test_what_is_no_tree_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(TraceError) as raised:
        read(tmp_path, text)
    assert says in str(raised.value)
    assert str(tmp_path / "topology.conf") in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "SwitchName = top Switches = s[0-1]\nSwitchName=s0 Nodes= n[0-1]\nSwitchName=s1 Nodes =n[2-3]\n",
        'SwitchName="top" Switches="s[0-1]"\nSwitchName=s0 Nodes="n0,n1"\nSwitchName=s1 Nodes=n[2-3]\n',
        "\ufeffSwitchName=top Switches=s[0-1]\r\nSwitchName=s0 Nodes=n[0-1]\r\nSwitchName=s1 Nodes=n[2-3]\r\n",
        "SWITCHNAME=t SWITCHES=s[0-1]#2\nswitchname=s0 nodes=n[0-1] \\\n linkspeed=9 # x\nSwitchName=s1 Nodes=n[2-3]\n",
    ],
)
def test_what_slurm_reads_is_read(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    assert found.nodes == ("n0", "n1", "n2", "n3")
    assert found.tree.leaf.tolist() == [0, 0, 1, 1]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_topology(tmp_path / "none.conf")
    with pytest.raises(TraceError, match="holds one topology only"):
        read(tmp_path, CONF, topology="a")
