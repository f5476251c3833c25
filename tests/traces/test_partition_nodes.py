"""Jobs that keep to the nodes of their own partition: sizes, partitions that share nodes, jobs that are too large."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from transom.errors import SpecError, TraceError
from transom.simulation import simulate
from transom.simulation.output.job_groups import groupings
from transom.simulation.output.verification import check_schedule
from transom.traces import ReadingRules, Workload, read_swf, write_swf
from transom.traces.partitions import PREFIX, PartitionNodes, nodes_of_partitions, partition_groups
from transom.traces.records.slurm import read_slurm
from transom.traces.records.slurm_conf import read_site
from transom.traces.records.swf import read_swf_records
from transom.traces.trace_file import read_trace_card, read_trace_frame, write_trace


def log(path: Path, *jobs: tuple[int, int, int]) -> Path:
    """A trace of 10 nodes: (submission, nodes, partition), each of 100 s; partitions 1 (debug) and 2 (batch)."""
    lines = (f"{i} {s} -1 100 {n} -1 -1 {n} 100 -1 1 1 1 1 1 {p} -1 -1\n" for i, (s, n, p) in enumerate(jobs, 1))
    path.write_text("; MaxProcs: 10\n; Partition: 1 debug\n; Partition: 2 batch\n" + "".join(lines))
    return path


def read(path: Path, text: str | None) -> Workload:
    return read_swf(path, ReadingRules(partition_nodes=text))


def starts(workload: Workload, policy: str) -> list[int]:
    schedule = simulate(workload, policy)
    assert check_schedule(workload, schedule) == []
    return schedule.start.tolist()


def test_jobs_wait_for_nodes_of_their_partition_though_others_are_idle(tmp_path: Path) -> None:
    path = log(tmp_path / "log.swf", (0, 3, 1), (1, 3, 1), (2, 6, 2))
    assert starts(read(path, None), "fcfs-easy") == [0, 1, 100]
    apart = read(path, "debug=4,batch=6")
    assert dict(zip(apart.cluster.resources, apart.cluster.capacities, strict=True)) == {
        "partition_debug": 4, "partition_batch": 6,
    }  # fmt: skip
    assert starts(apart, "fcfs-easy") == [0, 100, 2]
    assert starts(apart, "fcfs") == [0, 100, 100]
    assert not any("as one machine" in each.text for each in apart.diagnostics)
    assert any("as one machine" in each.text for each in read(path, None).diagnostics)
    assert starts(apart.take(np.array([1, 2])), "fcfs-easy") == [1, 2]


def of_one_name(path: Path) -> Path:
    """A trace whose partitions 1 and 2 have one name, and the third has what they would be called."""
    text = log(path, (0, 3, 1), (1, 3, 2), (2, 2, 3)).read_text()
    names = "; Partition: 1 batch\n; Partition: 2 batch\n; Partition: 3 batch_1\n"
    path.write_text(names + text.replace("; Partition: 1 debug\n; Partition: 2 batch\n", ""))
    return path


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("batch=4", {"partition_batch_1_1": 4, "partition_batch_2": 4}),
        ("1=4,2=3,3=3", {"partition_batch_1_1": 4, "partition_batch_2": 3, "partition_batch_1_3": 3}),
        ("batch_1_1=4,BATCH_2=3", {"partition_batch_1_1": 4, "partition_batch_2": 3}),
    ],
)
def test_partitions_of_one_name_are_told_apart_by_number(text: str, sizes: dict[str, int], tmp_path: Path) -> None:
    apart = read(of_one_name(tmp_path / "log.swf"), text)
    assert dict(zip(apart.cluster.resources, apart.cluster.capacities, strict=True)) == sizes
    said = "partition 'batch' is ambiguous, taken for all of 1 and 2"
    assert apart.repairs.get(said, 0) == (2 if text == "batch=4" else 0)


def test_an_ambiguous_name_means_all_partitions_that_have_it(tmp_path: Path) -> None:
    path = of_one_name(tmp_path / "log.swf")
    taken = read_swf(path, ReadingRules(partitions=("batch",)), nodes=10)
    assert taken.jobs.id.tolist() == [1, 2]
    assert taken.repairs["partition 'batch' is ambiguous, taken for all of 1 and 2"] == 2
    assert read_swf(path, ReadingRules(partitions=("batch_2",)), nodes=10).jobs.id.tolist() == [2]
    assert read_swf(path, ReadingRules(partitions=(2,)), nodes=10).jobs.id.tolist() == [2]
    labels = groupings(*(getattr(read(path, None), name) for name in ("jobs", "runtime", "cluster", "origin")))
    assert labels["partition"].labels == ("batch_1_1", "batch_2", "batch_1_3")
    assert read_swf_records(str(path)).jobs["partition"].to_list() == ["batch_1_1", "batch_2", "batch_1_3"]


def test_a_name_of_digits_and_that_number_are_two_partitions(tmp_path: Path) -> None:
    path = log(tmp_path / "log.swf", (0, 3, 1), (1, 3, 2))
    path.write_text(path.read_text().replace("1 debug", "1 2"))
    taken = read_swf(path, ReadingRules(partitions=("2",)), nodes=10)
    assert (len(taken), list(taken.repairs)) == (2, ["partition '2' is ambiguous, taken for all of 1 and 2"])


def test_names_that_differ_in_case_are_told_apart(tmp_path: Path) -> None:
    path = log(tmp_path / "log.swf", (0, 3, 1), (1, 3, 2))
    path.write_text(path.read_text().replace("1 debug", "1 BATCH"))
    assert read(path, "BATCH=4,batch=3").cluster.capacities == (4, 3)
    assert read_swf(path, ReadingRules(partitions=("batch",)), nodes=10).jobs.id.tolist() == [2]
    assert len(read_swf(path, ReadingRules(partitions=("Batch",)), nodes=10)) == 2


@pytest.mark.reference
def test_case_of_two_partitions_of_one_name(shared: Path) -> None:
    path = shared / "cases" / "replay" / "two_partitions_one_name.swf"
    for text in ("batch=4", "1=4,2=4"):
        assert read(path, text).cluster.capacities == (4, 4)
    assert len(read_swf(path, ReadingRules(partitions=("batch",)))) == 2


def test_slurm_stops_in_each_partition_by_itself(tmp_path: Path) -> None:
    # Job 4 does not fit in debug; job 5 is of batch and starts at once, job 6 stands behind job 4 until the next cycle.
    path = log(tmp_path / "log.swf", (1, 3, 1), (2, 4, 1), (3, 4, 2), (4, 1, 1))
    apart = read(path, "1=4,2=6")
    assert starts(apart, "slurm-backfill:interval=60,resolution=1") == [1, 101, 3, 201]
    assert starts(apart, "slurm-backfill:interval=60,resolution=1,order=sjf") == [1, 101, 3, 201]
    assert starts(apart, "fcfs") == [1, 101, 101, 201]
    # Where partitions share nodes, one that is stuck keeps the others waiting for the cycle.
    shared = read(path, "1=4,2=10")
    assert shared.cluster.resources == ("partition_debug", "partition_debug+batch")
    assert starts(shared, "slurm-backfill:interval=60,resolution=1") == [1, 101, 60, 201]


def test_main_starts_and_backfilled_ones_of_a_pass_come_in_the_order_of_the_queue(tmp_path: Path) -> None:
    # At 60 s: job 2 waits in debug, job 3 is backfilled there, job 4 has just been submitted to batch.
    path = log(tmp_path / "log.swf", (1, 3, 1), (2, 4, 1), (3, 1, 1), (60, 4, 2), (60, 2, 2))
    assert starts(read(path, "1=4,2=6"), "slurm-backfill:interval=60,resolution=1,window=1") == [1, 160, 60, 60, 60]


def test_jobs_larger_than_their_partition_are_counted_or_refused(tmp_path: Path) -> None:
    path = log(tmp_path / "log.swf", (0, 3, 1), (1, 5, 1), (2, 6, 2))
    assert read(path, "debug=4,batch=6").repairs["left out: larger than its partition"] == 1
    with pytest.raises(TraceError, match=r"log.swf: line 5: job 2: size 5 exceeds the nodes of its partition"):
        read_swf(path, ReadingRules(partition_nodes="debug=4,batch=6", oversized="error"))


def test_jobs_of_unknown_partitions_use_any_node_and_are_counted(tmp_path: Path) -> None:
    path = log(tmp_path / "log.swf", (0, 4, 1), (1, 6, 3))
    workload = read(path, "debug=4")
    assert workload.repairs["partition of unknown size: may use any node"] == 1
    assert workload.cluster.resources == ("partition_debug",)
    assert starts(workload, "fcfs") == [0, 1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("trace", "states no sizes of partitions"),
        ("nowhere=4", "no partition 'nowhere'. Known: 1 debug, 2 batch"),
        ("7=4", "no partition '7'. Known: 1 debug, 2 batch"),
        ("debug=4,1=3", "partition 1 has two sizes"),
        ("٣=4", "no partition"),
        ("debug", "expected trace, or distinct NAME=NODES"),
        ("debug=0", "expected trace, or distinct NAME=NODES"),
        ("debug=1,debug=2", "expected trace, or distinct NAME=NODES"),
    ],
)
def test_sizes_that_cannot_be_are_refused(tmp_path: Path, text: str, told: str) -> None:
    path = log(tmp_path / "log.swf", (0, 3, 1), (1, 5, 2))
    with pytest.raises(SpecError, match=told):
        read(path, text)


def test_sizes_that_add_up_to_more_than_the_machine_share_it() -> None:
    partition = np.array([1, 2, 2, 3])
    made = nodes_of_partitions(PartitionNodes({1: 4, 2: 8, 3: 10}), partition, {1: "a", 2: "b"}, 10)
    assert [(name.removeprefix(PREFIX), size, uses.tolist()) for name, size, uses in made] == [
        ("a", 4, [True, False, False, False]),
        ("b", 8, [False, True, True, False]),
        ("a+b+3", 10, [True, True, True, True]),
    ]
    demand = np.array([[1, 0, 1], [0, 2, 2], [0, 2, 2], [0, 0, 5]])
    assert partition_groups([name for name, _, _ in made], demand).tolist() == [0, 0, 0, 0]
    assert partition_groups([made[0][0], made[1][0], "gpu"], demand).tolist() == [2, 1, 1, 0]
    assert partition_groups(["gpu", "bb", "x"], demand).tolist() == [0, 0, 0, 0]
    assert partition_groups(["gpu"], demand[:0, :1]).tolist() == []


def test_a_configuration_says_which_partitions_share_nodes(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(
        "NodeName=n[1-10] CPUs=4\nPartitionName=debug Nodes=n[1-2]\nPartitionName=gpu Nodes=n[7-10]\n"
        "PartitionName=batch Nodes=n[1-6]\nPartitionName=long Nodes=n[3-6]\n"
    )
    site = read_site([str(tmp_path / "slurm.conf")])
    shared = {"pool": ["debug", "batch", "long"], "pool_nodes": 6, "pool_cores": 24}
    for name in ("debug", "batch", "long"):
        assert {key: value for key, value in site.partitions[name].items() if key.startswith("pool")} == shared
    (tmp_path / "sacct").write_text(
        "JobID|Submit|Start|End|NNodes|Partition|State|Timelimit\n"
        + "".join(
            f"{i}|2026-01-01T00:00:0{i}|2026-01-01T00:01:00|2026-01-01T00:02:00|{n}|{p}|COMPLETED|00:05:00\n"
            for i, (n, p) in enumerate((("2", "debug"), ("4", "gpu"), ("4", "batch"), ("2", "long"), ("4", "gpu")), 1)
        )
    )
    trace = read_slurm([str(tmp_path / "sacct")], site=site)
    write_trace(tmp_path / "trace.parquet", trace.jobs, trace.card)
    workload = read(tmp_path / "trace.parquet", None)
    assert workload.digest() == read(tmp_path / "trace.parquet", "trace").digest()
    assert (workload.facts["machine"], workload.diagnostics[:1]) == ("by partition", ())
    assert dict(zip(workload.cluster.resources, workload.cluster.capacities, strict=True)) == {
        "partition_debug": 2, "partition_gpu": 4, "partition_long": 4, "partition_debug+batch+long": 6,
    }  # fmt: skip
    first = int(workload.jobs.submit[0])
    assert [start - first for start in starts(workload, "fcfs-easy")] == [0, 1, 2, 60, 61]
    write_swf(workload, tmp_path / "trace.swf")
    again = read(tmp_path / "trace.swf", "debug=2,gpu=4,batch=6,long=4")
    assert starts(again, "fcfs-easy")[:3] == starts(workload, "fcfs-easy")[:3]
    assert "keep: debug+batch+long 6" in (tmp_path / "trace.swf").read_text()


@pytest.fixture
def sized(tmp_path: Path) -> Path:
    """A trace that states sizes: debug has 4 nodes, batch 6."""
    records = read_swf_records(str(log(tmp_path / "log.swf", (0, 3, 1), (1, 3, 1), (2, 6, 2), (3, 5, 1))))
    card = replace(
        records.card, machine={"nodes": 10}, told_by="", partitions={"debug": {"nodes": 4}, "batch": {"nodes": 6}}
    )
    write_trace(tmp_path / "sized.parquet", records.jobs, card)
    return tmp_path / "sized.parquet"


def test_what_states_sizes_is_replayed_by_partition_unless_one_machine_is_asked_for(sized: Path) -> None:
    apart = read_swf(sized)
    assert apart.cluster.capacities == (4, 6)
    assert starts(apart, "fcfs-easy") == [0, 100, 2]
    merged = read_swf(sized, ReadingRules(merge_partitions=True))
    assert (merged.cluster.resources, merged.origin.merged, merged.facts["machine"]) == ((), True, "merged")
    assert starts(merged, "fcfs-easy") == [0, 1, 100, 200]
    assert any("as one machine" in each.short for each in merged.diagnostics)
    with pytest.raises(SpecError, match="merge_partitions: one machine does not go with partition_nodes 'trace'"):
        ReadingRules(partition_nodes="trace", merge_partitions=True)


def test_partitions_of_another_machine_or_unit_have_no_stated_size(sized: Path) -> None:
    assert read_swf(sized, nodes=10).cluster.capacities == (4, 6)
    for larger in (read_swf(sized, nodes=12), read_swf(sized, ReadingRules(size_field="nodes"), nodes=12)):
        assert (larger.cluster.resources, larger.origin.merged) == ((), True)
    assert read_swf(sized, ReadingRules(partition_nodes="trace"), nodes=12).cluster.capacities == (4, 6)
    assert read_swf(sized, ReadingRules(partitions=("debug",))).cluster.resources == ()  # a machine of 4 nodes


def test_jobs_of_one_partition_keep_to_it_though_the_machine_has_more(sized: Path) -> None:
    frame = read_trace_frame(str(sized))
    write_trace(sized, frame.filter(frame["partition"] == "debug"), read_trace_card(str(sized)))
    assert starts(read_swf(sized), "fcfs-easy") == [0, 100]
    assert read_swf(sized).cluster.resources == ("partition_debug",)


@pytest.mark.reference
def test_traces_that_state_no_sizes_are_read_as_one_machine(shared: Path) -> None:
    for path in sorted((shared / "traces").glob("*.swf.gz")):
        assert read_swf(path).digest() == read_swf(path, ReadingRules(merge_partitions=True)).digest()
