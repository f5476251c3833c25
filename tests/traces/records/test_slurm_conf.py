"""What configurations say about a site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.errors import TraceError
from transom.traces import ReadingRules, read_swf
from transom.traces.records.hostlist import hosts
from transom.traces.records.importing import ImportRules
from transom.traces.records.slurm import read_slurm
from transom.traces.records.slurm_conf import read_settings, read_site
from transom.traces.trace_file import write_trace

SACCT = Path(__file__).parents[3] / "examples" / "sacct.txt"
CONF = """
ClusterName=c   # a comment
NodeName=DEFAULT CPUs=4 RealMemory=8000
NodeName=n[00-31] Port=[17000-17031] NodeAddr=127.0.0.1
NodeName=gpu[1-2] Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CPUs=32 RealMemory=64000 \\
    Gres=gpu:a100:4(S:0-1),craynetwork:4
NodeName=later State=FUTURE
PartitionName=DEFAULT MaxTime=1-00:00:00 State=UP
PartitionName=batch Nodes=n[00-31] Default=YES DefaultTime=60
PartitionName=debug Nodes=n[00-03] MaxTime=30 MaxNodes=2 PriorityTier=10
PartitionName=all Nodes=ALL MaxTime=UNLIMITED
"""
TOPOLOGY = """SwitchName=s0 Nodes=n[00-15]
SwitchName=s1 Nodes=n[16-31]
SwitchName=top Switches=s[0-1]
"""
SHOWN = """PartitionName=batch
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   DefaultTime=01:00:00 DisableRootJobs=NO Default=YES QoS=N/A
   MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=n[00-31]
   PriorityJobFactor=1 PriorityTier=1 State=UP TotalCPUs=128 TotalNodes=32

PartitionName=debug
   MaxNodes=2 MaxTime=00:30:00
   Nodes=n[00-03]
   State=UP TotalCPUs=16 TotalNodes=4
"""


def test_slurm_conf_gives_machine_partitions_and_topology(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "topology.conf").write_text(TOPOLOGY)
    site = read_site([str(tmp_path / "slurm.conf"), str(tmp_path / "topology.conf")])
    assert site.machine == {"nodes": 34, "cores": 32 * 4 + 2 * 32, "gpus": 8, "memory": 32 * 8000 + 2 * 64000}
    told = {
        name: (each["nodes"], each.get("max_time"), each.get("max_nodes")) for name, each in site.partitions.items()
    }
    assert told == {"batch": (32, 86_400, None), "debug": (4, 1800, 2), "all": (34, None, None)}
    assert (site.partitions["batch"]["default"], site.partitions["batch"]["default_time"]) == (True, 3600)
    assert site.topology["leaf"] == [0] * 16 + [1] * 16 + [-1, -1]
    assert site.topology["pod"] == [0] * 32 + [-1, -1]


def test_what_scontrol_shows_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(SHOWN)
    nodes = "\n".join(
        f"NodeName=n{i:02} Arch=x86_64\n   CPUAlloc=0 CPUTot=4 RealMemory=8000 Gres=(null)" for i in range(32)
    )
    (tmp_path / "nodes").write_text(nodes)
    site = read_site([str(tmp_path / "text"), str(tmp_path / "nodes")])
    assert site.machine == {"nodes": 32, "cores": 128, "memory": 256_000}
    assert site.partitions["debug"]["cores"] == 16
    partition = {
        "name": "batch", "nodes": {"configured": "n[00-31]", "total": 32}, "cpus": {"total": 128},
        "maximums": {"time": {"set": True, "infinite": False, "number": 1440}, "nodes": {"infinite": True}},
    }  # fmt: skip
    (tmp_path / "json").write_text(json.dumps({"partitions": [partition]}))
    site = read_site([str(tmp_path / "json")])
    assert site.machine == {"nodes": 32, "cores": 128}
    assert site.partitions["batch"]["max_time"] == 86_400


def test_a_trace_knows_its_machine_and_each_partition(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    site = read_site([str(tmp_path / "slurm.conf")])
    jobs, card, _ = read_slurm([str(SACCT)], site=site)
    write_trace(tmp_path / "trace.parquet", jobs, card)
    assert read_swf(tmp_path / "trace.parquet").cluster.num_nodes == 34
    debug = read_swf(tmp_path / "trace.parquet", ReadingRules(partitions=("debug",)))
    assert (debug.cluster.num_nodes, debug.jobs.id.tolist()) == (4, [1006, 1009])
    shared = jobs.with_columns(cores=jobs["nodes"] * 2)
    write_trace(tmp_path / "shared.parquet", shared, card)
    assert read_swf(tmp_path / "shared.parquet", ReadingRules(size_field="cores")).cluster.num_nodes == 192
    by_hand = read_slurm([str(SACCT)], ImportRules(nodes=20), site=site)
    assert by_hand.card.machine["nodes"] == 20


def test_included_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=c\nInclude nodes.conf\ninclude slurm.conf\n")
    (tmp_path / "nodes.conf").write_text(CONF)
    assert read_site([str(tmp_path / "slurm.conf")]).machine["nodes"] == 34


def test_a_file_that_includes_itself_through_its_folder_ends(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"ClusterName=c\ninclude ../{tmp_path.name}/slurm.conf\nPartitionName=p Nodes=n[1-2]\n")
    settings, partitions = read_settings(str(conf))
    assert (settings, list(partitions)) == ({"clustername": "c"}, ["p"])


def test_what_is_included_stands_in_its_place(tmp_path: Path) -> None:
    # The second default is not that of the nodes before it.
    text = "NodeName=DEFAULT CPUs=4\n  PriorityWeightAge=7\n  include sub/a.conf\nNodeName=DEFAULT CPUs=8\n"
    (tmp_path / "slurm.conf").write_text(f"{text}NodeName=n2\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.conf").write_text("NodeName=n1\nInclude b.conf\n")
    (tmp_path / "sub" / "b.conf").write_text("PartitionName=p Nodes=ALL MaxTime=7\nPriorityType=priority/multifactor\n")
    site = read_site([str(tmp_path / "slurm.conf")])
    assert site.machine == {"nodes": 2, "cores": 12}
    settings, partitions = read_settings(str(tmp_path / "slurm.conf"))
    assert (settings["prioritytype"], partitions["p"]["maxtime"]) == ("priority/multifactor", "7")
    assert settings["priorityweightage"] == "7"


def test_an_included_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(f"include /etc/site/nodes.conf\n{CONF}Include gone.conf  # later\n")
    conf = str(tmp_path / "slurm.conf")
    site = read_site([conf])
    assert site.machine["nodes"] == 34
    assert site.notes[:2] == tuple(
        f"{conf}: includes {name}, which is not there: what it says is not known"
        for name in ("/etc/site/nodes.conf", "gone.conf")
    )
    assert read_slurm([str(SACCT)], site=site).findings.notes[:3] == list(site.notes)
    with pytest.raises(TraceError, match=r"includes /etc/site/nodes\.conf, which is not there"):
        read_settings(conf)
    # A file that is given beside it is the one that is included.
    (tmp_path / "nodes.conf").write_text("NodeName=x1\nPartitionName=x Nodes=x1\n")
    site = read_site([conf, str(tmp_path / "nodes.conf")])
    assert (site.machine["nodes"], len(site.notes)) == (35, 2)


SETS = """NodeName=DEFAULT CPUs=16
NodeName=g[1-4] Feature=gpu,fast
NodeName=c[1-8] Features="cpu"
NodeName=old[1-2]
NodeSet=gset Feature=gpu
NodeSet=mixed Nodes=old1,c[1-2] Feature=fast
PartitionName=gpu Nodes=gset
PartitionName=cpu Nodes=c[1-8],mixed
"""


def test_sets_of_nodes(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(SETS)
    site = read_site([str(tmp_path / "slurm.conf")])
    assert site.machine == {"nodes": 13, "cores": 208}
    assert {name: each["nodes"] for name, each in site.partitions.items()} == {"gpu": 4, "cpu": 13}
    assert site.notes == ()


def test_nodes_of_the_future_count_when_they_are_up(tmp_path: Path) -> None:
    conf, shown, json_ = (str(tmp_path / name) for name in ("slurm.conf", "nodes", "json"))
    future = "NodeName=n[1-2] CPUs=4\nNodeName=n[3-8] CPUs=4 State=FUTURE\nPartitionName=p Nodes=n[1-8]\n"
    Path(conf).write_text(future)
    site = read_site([conf])
    assert (site.machine, site.notes) == ({"nodes": 2, "cores": 8}, ("6 nodes in state FUTURE: not counted",))
    assert site.partitions["p"]["nodes"] == 2
    Path(shown).write_text("NodeName=n3 CPUTot=4\n   State=IDLE+CLOUD+DYNAMIC_FUTURE ThreadsPerCore=1\n")
    site = read_site([conf, shown])
    assert (site.machine, site.notes) == ({"nodes": 3, "cores": 12}, ("5 nodes in state FUTURE: not counted",))
    nodes = [{"name": "n1", "cpus": 4, "state": ["IDLE"]}, {"name": "n2", "cpus": 4, "state": ["FUTURE"]}]
    Path(json_).write_text(json.dumps({"nodes": nodes}))
    assert read_site([json_]).machine == {"nodes": 1, "cores": 4}


def test_nodes_that_no_line_describes_are_said(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("NodeName=n1 CPUs=4\nPartitionName=p Nodes=n[1-3]\n")
    site = read_site([str(tmp_path / "slurm.conf")])
    assert site.machine == {"nodes": 3, "cores": 4}
    assert site.notes == ("2 nodes of partitions without a NodeName line (n2): counted, without cores",)


@pytest.mark.parametrize(
    ("said", "cores"),
    [
        ("Procs=8", 8),
        ("CPUs=8 Procs=4", 8),
        ("", 1),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=8 ThreadsPerCore=2", 64),
        ("Boards=2 CoresPerSocket=8", 16),
        ("Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 32),
        ("CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 16),  # the cores alone
        ("CPUs=2 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 2),
        ("CPUs=24 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 32),  # fits nothing
        ("CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2", 64),  # as slurmd -C prints it
        ("CPUs=32 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2", 32),
        ("CPUs=64 CoresPerSocket=16 ThreadsPerCore=2", 64),
        ("CPUs=20 CoresPerSocket=16", 16),
        ("Sockets=4 SocketsPerBoard=2 Boards=1 CoresPerSocket=4", 8),
    ],
)
def test_cpus_of_a_node_are_those_that_slurm_takes(said: str, cores: int, tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(f"NodeName=n {said}\nPartitionName=p Nodes=ALL\n")
    assert read_site([str(tmp_path / "slurm.conf")]).machine == {"nodes": 1, "cores": cores}


def test_partition_limit_is_the_limit_of_the_partition(tmp_path: Path) -> None:
    (tmp_path / "sacct.txt").write_text(SACCT.read_text().replace("UNLIMITED", "Partition_Limit"))
    (tmp_path / "slurm.conf").write_text(CONF)
    without = read_slurm([str(tmp_path / "sacct.txt")])
    assert without.jobs.filter(without.jobs["id"] == 1007)["walltime"].item() == -1
    jobs, card, _ = read_slurm([str(tmp_path / "sacct.txt")], site=read_site([str(tmp_path / "slurm.conf")]))
    assert jobs.filter(jobs["id"] == 1007)["walltime"].item() == 86_400
    assert card.repairs["limit of the partition taken from the configuration"] == 1


@pytest.mark.parametrize(
    "text", ["", "nothing of this kind\n", "NodeName=n[1-\n", '{"nodes": [', "PartitionName=p Nodes=n[1-9999999]"]
)
def test_a_file_of_something_else_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "conf").write_text(text)
    with pytest.raises(TraceError, match=str(tmp_path / "conf")) as caught:
        read_site([str(tmp_path / "conf")])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("", []),
        ("n[08-11],x", ["n08", "n09", "n10", "n11", "x"]),
        ("a[1,3]b[0-1]", ["a1b0", "a1b1", "a3b0", "a3b1"]),
        ("r1,r[2],", ["r1", "r2"]),
    ],
)
def test_lists_of_hosts(text: str, names: list[str]) -> None:
    assert hosts(text) == names


@given(st.text("n[]01-,9", max_size=12))
def test_any_list_of_hosts_is_read_or_refused(text: str) -> None:
    try:
        assert all(isinstance(each, str) for each in hosts(text))
    except ValueError as error:
        assert "hosts" in str(error)  # noqa: PT017


@pytest.mark.parametrize("line", ["PartitionName", "PartitionName=", "PartitionName\x1c", "NodeName =", "SwitchName"])
def test_a_line_without_a_name_is_no_record(line: str, tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(f"{CONF}{line}\n")
    (tmp_path / "plain.conf").write_text(CONF)
    assert read_site([str(tmp_path / "slurm.conf")]) == read_site([str(tmp_path / "plain.conf")])


def test_maintenance_is_kept_of_reservations(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("NodeName=n[1-4] CPUs=8\nPartitionName=all Nodes=ALL\n")
    (tmp_path / "reservations").write_text(
        "ReservationName=m StartTime=2026-01-01T06:00 EndTime=2026-01-01T08:00 Nodes=n[1-3] NodeCnt=3 Flags=MAINT\n"
        "ReservationName=c StartTime=2026-01-01T06:00 EndTime=2026-01-01T08:00 Nodes=n4 NodeCnt=1 Users=ada Flags=\n"
    )
    site = read_site([str(tmp_path / "reservations"), str(tmp_path / "slurm.conf")], "Europe/Berlin")
    assert site.maintenance == [{"begin": 1767243600, "end": 1767250800, "nodes": 3, "cores": 24}]
    assert site.notes == ("1 reservation without the flag MAINT: not kept, they are for certain jobs",)
    assert site.partitions["all"]["node_list"] == "n[1-4]"
