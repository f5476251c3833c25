"""Jobs that share nodes under Slurm's backfill: beside a plain replay, cases by hand, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.simulation.plain_slurm import PlainJob, PlainNodes, PlainReservation, plain_slurm
from transom.errors import SpecError
from transom.models import Cluster, Job, Window
from transom.simulation import make_policy, simulate
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload, read_swf
from transom.traces.outages import Outages
from transom.traces.records.importing import ImportRules
from transom.traces.records.slurm import read_slurm
from transom.traces.records.slurm_conf import read_site
from transom.traces.rules import ReadingRules
from transom.traces.trace_file import TraceCard, complete, write_trace


def trace(jobs: Sequence[PlainJob], cores: int, folder: Path, unit: str = "cores") -> Workload:
    rows = [
        {
            "id": job.id, "submit": job.submit, "start": job.submit, "runtime": job.runtime, "walltime": job.walltime,
            "nodes": job.amounts["node"], "cores": job.nodes, "memory": job.amounts["mem"], "gpus": job.amounts["gpu"],
            "user": 1, "user_name": job.user, "account": "", "reservation": job.reservation, "state": "COMPLETED",
        }
        for job in jobs
    ]  # fmt: skip
    write_trace(folder / "site.parquet", complete(pl.DataFrame(rows)), TraceCard(machine={unit: cores}, unit=unit))
    return read_swf(folder / "site.parquet")


def job(
    number: int, submit: int, cores: int, time: int, nodes: int = 1, memory: int = 0, gpus: int = 0, left: int = 0
) -> PlainJob:
    return PlainJob(number, submit, cores, time, time - left, amounts={"node": nodes, "mem": memory, "gpu": gpus})


def drawn(rng: np.random.Generator, has: dict[str, int], count: int) -> list[PlainJob]:
    jobs = []
    for i in range(1, 31):
        nodes, time = int(rng.integers(1, count + 1)), int(rng.integers(2, 40))
        nodes = nodes if rng.random() < 0.4 else 1
        cores = int(rng.integers(nodes, nodes * has["cpu"] + 1))
        memory, gpus = (int(rng.integers(0, nodes * has[name] + 1)) for name in ("mem", "gpu"))
        stated = nodes if rng.random() < 0.8 else -1
        if stated < 0:  # on as few nodes as have its cores
            memory, gpus = min(memory, has["mem"]), min(gpus, has["gpu"])
        jobs.append(job(i, int(rng.integers(0, 120)), cores, time, stated, memory, gpus, int(rng.integers(0, time))))
    return jobs


def no_limit(_: PlainJob, __: Sequence[PlainJob]) -> bool:
    return True


def test_shared_nodes_are_those_of_a_plain_replay(tmp_path: Path) -> None:
    mattered, has = 0, {"cpu": 4, "mem": 8, "gpu": 2}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 6))
        jobs = drawn(rng, has, count)
        workload = trace(jobs, 4 * count, tmp_path)
        spec = "slurm-backfill:interval=5,resolution=1"
        schedule = simulate(workload, f"{spec},node_cores=4,node_memory=8,node_gpus=2")
        assert check_schedule(workload, schedule) == []
        found = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
        assert found == plain_slurm(jobs, 4 * count, 5, no_limit, shared=PlainNodes(count, has)), seed
        mattered += found != plain_slurm(jobs, 4 * count, 5, no_limit)
    assert mattered > 50


def reserved(rng: np.random.Generator, count: int) -> list[PlainReservation]:
    """Reservations that may overlap, and two that name all nodes, so that the first host is the last node."""
    flags = (set[str](), {"MAGNETIC"}, {"MAINT"}, {"OVERLAP"})
    found = [PlainReservation("0", begin, begin + 1, set(range(count)), set(), set()) for begin in (0, 10**6)]
    for name in ("a", "b"):
        begin, first = int(rng.integers(1, 100)), int(rng.integers(0, count))
        nodes, end = set(range(first, int(rng.integers(first, count)) + 1)), begin + int(rng.integers(5, 80))
        found.append(PlainReservation(name, begin, end, nodes, {"ann"}, flags[rng.integers(4)]))
    return sorted(found, key=lambda each: (each.begin, each.name))


def shown(each: PlainReservation, count: int) -> str:
    """What scontrol shows of a reservation."""
    first = sorted(each.nodes, reverse=True)
    hosts, flags = ",".join(f"n{count - 1 - node}" for node in first), ",".join(sorted(each.flags))
    return (
        f"ReservationName={each.name} StartTime={each.begin} EndTime={each.end} Nodes={hosts} "
        f"NodeCnt={len(each.nodes)} Flags={flags or '(null)'} Users={'ann' if each.users else '(null)'} "
        "Accounts=(null)\n\n"
    )


def test_reserved_nodes_are_those_of_a_plain_replay(tmp_path: Path) -> None:
    mattered, has = 0, {"cpu": 4, "mem": 8, "gpu": 2}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 6))
        jobs, reservations = drawn(rng, has, count), reserved(rng, count)
        for each in jobs:
            each.user = str(rng.choice(["ann", "bob"]))
            each.reservation = str(rng.choice(["a", "b"])) if rng.random() < 0.2 else ""
        path = tmp_path / "resv.txt"
        path.write_text("".join(shown(each, count) for each in reservations))
        workload = trace(jobs, 4 * count, tmp_path)
        spec = f"slurm-backfill:interval=5,resolution=1,node_cores=4,node_memory=8,node_gpus=2,reservations={path}"
        schedule = simulate(workload, spec)
        assert check_schedule(workload, schedule) == []
        found = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
        assert found == plain_slurm(jobs, 4 * count, 5, no_limit, reservations, PlainNodes(count, has)), seed
        mattered += found != plain_slurm(jobs, 4 * count, 5, no_limit, shared=PlainNodes(count, has))
    assert mattered > 40


def test_jobs_keep_off_the_single_nodes_that_are_reserved_before_their_ends(tmp_path: Path) -> None:
    path = tmp_path / "resv.txt"
    path.write_text(
        "ReservationName=own StartTime=50 EndTime=200 Nodes=n2 NodeCnt=1 Flags=SPEC_NODES Users=ann Accounts=(null)\n"
    )
    jobs = [job(1, 0, 2, 30), job(2, 1, 1, 60), job(3, 2, 1, 45), job(4, 3, 2, 60), job(5, 51, 4, 40)]
    jobs[4].user, jobs[4].reservation = "ann", "own"
    # The last node is reserved: only job 3 ends before that. Job 4 has no room on the other one before job 1 ends.
    assert starts(jobs, f"node_cores=4,reservations={path}", tmp_path) == [0, 1, 2, 30, 51]


def starts(jobs: Sequence[PlainJob], spec: str, folder: Path) -> list[int]:
    """When jobs start on two nodes of four cores."""
    return simulate(trace(jobs, 8, folder), f"slurm-backfill:interval=10,{spec}").start.tolist()


def test_cores_that_are_free_on_several_nodes_are_no_room_on_one(tmp_path: Path) -> None:
    jobs = [job(1, 0, 3, 100), job(2, 0, 3, 200), job(3, 1, 2, 50), job(4, 2, 1, 20), job(5, 3, 2, 20, nodes=2)]
    # Of the two free cores, one on each node, job 3 can use none; those behind it wait for the next cycle.
    assert starts(jobs, "node_cores=4", tmp_path) == [0, 0, 100, 10, 30]
    assert starts(jobs, "resolution=60", tmp_path) == [0, 0, 1, 51, 71]
    assert starts(jobs[:4], "node_cores=8", tmp_path) == [0, 0, 1, 51]


def test_memory_and_gpus_of_a_node_run_out_too(tmp_path: Path) -> None:
    jobs = [job(1, 0, 1, 100, memory=6, gpus=1), job(2, 0, 1, 200, memory=6), job(3, 1, 1, 50, memory=3)]
    assert starts(jobs, "node_cores=4", tmp_path) == [0, 0, 1]
    assert starts(jobs, "node_cores=4,node_memory=8", tmp_path) == [0, 0, 100]
    twice = [*jobs[:1], job(2, 0, 1, 200, gpus=1), job(3, 1, 2, 50, nodes=2, gpus=2)]
    assert starts(twice, "node_cores=4,node_gpus=1", tmp_path) == [0, 0, 200]


def test_jobs_on_whole_nodes_are_replayed_as_before(tmp_path: Path) -> None:
    whole = read_swf("examples/slurm_60.swf")
    small = simulate(whole, "slurm-backfill")
    jobs = [
        job(int(each.job.id), each.job.submit, 4 * each.job.nodes, each.job.walltime, each.job.nodes,
            left=each.job.walltime - each.runtime)
        for each in whole
    ]  # fmt: skip
    shared = simulate(trace(jobs, 4 * whole.cluster.num_nodes, tmp_path), "slurm-backfill:node_cores=4")
    assert np.array_equal(shared.start, small.start)
    assert np.array_equal(shared.mode, small.mode)
    for name in ("time", "queued", "started", "backfilled", "reserved_job", "reserved_start"):
        assert np.array_equal(shared.decisions[name], small.decisions[name])


def test_without_stated_nodes_jobs_have_as_few_as_their_cores_need() -> None:
    listed = [TracedJob(Job(i, 0, c, 100), 100) for i, c in enumerate((6, 3, 2, 1), 1)]
    workload = Workload.of(listed, Cluster(12))
    # 3 and 3 cores of two nodes, 3 of a third: the next has no two cores on one node.
    assert simulate(workload, "slurm-backfill:node_cores=4").start.tolist() == [0, 0, 100, 0]


@pytest.mark.parametrize(
    ("jobs", "spec", "words"),
    [
        ([job(1, 0, 1, 9)], "node_cores=3", "the machine has 8 cores, which cannot be nodes of 3 cores each"),
        ([job(1, 0, 1, 9), job(7, 0, 3, 9, nodes=3)], "node_cores=4", "job 7 has 3 nodes, there are 2"),
        (
            [job(1, 0, 1, 9), job(7, 0, 2, 9, nodes=2, memory=17)],
            "node_cores=4,node_memory=8",
            "job 7 asks for 9 MiB of memory on each of its 2 nodes, a node has 8",
        ),
        ([job(1, 0, 1, 9)], "node_cores=-1", "node_cores must be from 0 to"),
        ([job(1, 0, 1, 9)], "node_gpus=1", "give node_cores"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, jobs: list[PlainJob], spec: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        starts(jobs, spec, tmp_path)


def test_partitions_whose_nodes_differ_are_replayed_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(
        "NodeName=c[1-4] CPUs=8 RealMemory=32000\nNodeName=g[1-2] CPUs=16 RealMemory=64000 Gres=gpu:4\n"
        "PartitionName=cpu Nodes=c[1-4]\nPartitionName=gpu Nodes=g[1-2]\n"
    )
    lines = ["JobIDRaw|Submit|Start|End|NNodes|NCPUS|AllocTRES|TimelimitRaw|Partition|State"]
    for i, (partition, cores) in enumerate([("cpu", 8), ("gpu", 10), ("gpu", 10), ("gpu", 6)], 1):
        tres = f"cpu={cores},node=1"
        lines.append(f"{i}|{i}|{i}|{100 + i}|1|{cores}|{tres}|2|{partition}|COMPLETED")
    (tmp_path / "sacct.txt").write_text("\n".join(lines) + "\n")
    site = read_site([str(tmp_path / "slurm.conf")])
    imported = read_slurm([str(tmp_path / "sacct.txt")], ImportRules(unit="cores"), site=site)
    write_trace(tmp_path / "site.parquet", imported.jobs, imported.card)
    with pytest.raises(SpecError, match=r"node_cores=16: partition cpu has 32 cores on 4 nodes; .* one at a time"):
        simulate(read_swf(tmp_path / "site.parquet"), "slurm-backfill:node_cores=16")
    alone = read_swf(tmp_path / "site.parquet", rules=ReadingRules(partitions=("gpu",)))
    assert simulate(alone, "slurm-backfill:node_cores=16").start.tolist() == [2, 3, 4]
    with pytest.raises(SpecError, match="node_cores=8: partition gpu has 32 cores on 2 nodes"):
        simulate(alone, "slurm-backfill:node_cores=8")


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    one = [job(1, 0, 1, 9)]
    with pytest.raises(SpecError, match="count nodes; import it with --unit cores"):
        simulate(trace(one, 8, tmp_path, "nodes"), "slurm-backfill:node_cores=4")
    workload = trace(one, 8, tmp_path)
    with pytest.raises(SpecError, match="node_cores does not go with --outages"):
        simulate(workload, "slurm-backfill:node_cores=4", outages=Outages())
    apart = Workload.of([TracedJob(Job(1, 0, 1, 10, demand=(1,)), 10)], Cluster(8, ("partition_a",), (4,)))
    with pytest.raises(SpecError, match="node_cores does not go with --partition-nodes"):
        simulate(apart, "slurm-backfill:node_cores=4")
    (tmp_path / "resv.txt").write_text(
        "".join(f"ReservationName=r{i} StartTime=1 EndTime=9 Nodes=n[1-3] NodeCnt=3 Flags=MAINT\n" for i in range(2))
    )
    with pytest.raises(SpecError, match="take 3 nodes, the machine has 2"):
        simulate(workload, f"slurm-backfill:node_cores=4,reservations={tmp_path / 'resv.txt'}")
    with pytest.raises(SpecError, match="need a replay"):
        make_policy("slurm-backfill:node_cores=4").decide(
            Window(0, Cluster(8), workload.jobs, workload.jobs.take([]), [], [8])
        )
