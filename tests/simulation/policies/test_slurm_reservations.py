"""Reservations by administrators: beside a plain replay, cases by hand, and files that do not say what they should."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.simulation.plain_slurm import PlainJob, PlainReservation, plain_slurm
from transom.errors import SpecError, TraceError
from transom.models import Cluster, Job, Window
from transom.simulation import make_policy, simulate
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload, read_swf
from transom.traces.outages import Outage, Outages
from transom.traces.records.slurm_text.reservations import SlurmReservation, read_reservations
from transom.traces.trace_file import TraceCard, complete, write_trace

SHOWN = """\
ReservationName={name} StartTime={begin} EndTime={end} Duration=00:10:00
   Nodes={nodes} NodeCnt={count} CoreCnt=16 Features=(null) PartitionName=main Flags={flags}
   TRES=cpu=16
   Users={users} Groups=(null) Accounts={accounts} Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

"""


def shown(
    name: str,
    begin: int | str,
    end: int | str,
    nodes: str = "n[0-3]",
    count: int | str = 4,
    flags: str = "SPEC_NODES",
    users: str = "(null)",
    accounts: str = "(null)",
) -> str:
    """What scontrol shows of a reservation."""
    return SHOWN.format(**locals())


def trace(
    folder: Path,
    jobs: Sequence[PlainJob],
    nodes: int = 8,
    unit: str = "nodes",
    partitions: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Workload:
    rows = [
        {
            "id": job.id, "submit": job.submit, "start": job.submit, "runtime": job.runtime, "walltime": job.walltime,
            "nodes": job.nodes, "cores": job.nodes, "user": 1, "user_name": job.user, "account": job.account,
            "reservation": job.reservation, "partition": job.partition, "state": "COMPLETED",
        }
        for job in jobs
    ]  # fmt: skip
    card = TraceCard(machine={unit: nodes}, unit=unit, partitions=partitions)
    write_trace(folder / "site.parquet", complete(pl.DataFrame(rows)), card)
    return read_swf(folder / "site.parquet")


def starts(folder: Path, jobs: Sequence[PlainJob], text: str, interval: int = 10) -> list[int]:
    """When jobs start on eight nodes."""
    (folder / "resv.txt").write_text(text)
    workload = trace(folder, jobs)
    spec = f"slurm-backfill:interval={interval},resolution=1,reservations={folder / 'resv.txt'}"
    schedule = simulate(workload, spec)
    assert check_schedule(workload, schedule) == []
    return schedule.start.tolist()


def drawn(rng: np.random.Generator) -> tuple[list[PlainJob], list[PlainReservation]]:
    """Jobs of three users on ten nodes, and some reservations that may overlap."""
    flags = (set[str](), {"MAGNETIC"}, {"MAINT"}, {"OVERLAP"})
    reservations = []
    for name in ("a", "b", "c"):
        begin, first = int(rng.integers(0, 100)), int(rng.integers(0, 8))
        nodes = set(range(first, int(rng.integers(first, 10)) + 1))
        end = begin + int(rng.integers(5, 80))
        reservations.append(PlainReservation(name, begin, end, nodes, {"ann"}, flags[rng.integers(4)]))
    named = 0.0 if rng.random() < 0.3 else 0.3
    jobs = []
    for i in range(1, 31):
        walltime = int(rng.integers(2, 40))
        jobs.append(
            PlainJob(
                i, int(rng.integers(0, 120)), int(rng.integers(1, 6)), walltime, int(rng.integers(1, walltime + 1)),
                user=str(rng.choice(["ann", "bob", "eve"])),
                reservation=str(rng.choice(["a", "b", "c"])) if rng.random() < named else "",
            )
        )  # fmt: skip
    return jobs, sorted(reservations, key=lambda each: (each.begin, each.name))


def test_reservations_are_those_of_a_plain_replay(tmp_path: Path) -> None:
    mattered = 0
    for seed in range(40):
        jobs, reservations = drawn(np.random.default_rng(seed))
        text = "".join(
            shown(
                each.name, each.begin, each.end, ",".join(f"n{n}" for n in sorted(each.nodes)), len(each.nodes),
                ",".join(sorted(each.flags)), "ann",
            )
            for each in reservations
        )  # fmt: skip
        (tmp_path / "resv.txt").write_text(text)
        workload = trace(tmp_path, jobs, 10)
        spec = "slurm-backfill:interval=5,resolution=1"
        schedule = simulate(workload, f"{spec},reservations={tmp_path / 'resv.txt'}")
        assert check_schedule(workload, schedule) == []
        found = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
        assert found == plain_slurm(jobs, 10, 5, lambda job, running: True, reservations), seed
        mattered += found != plain_slurm(jobs, 10, 5, lambda job, running: True)
    assert mattered > 30


PARTITIONS = {"long": {"nodes": 6, "node_list": "n[0-5]"}, "short": {"nodes": 4, "node_list": "n[6-9]"}}


def test_reservations_by_partition_are_those_of_a_plain_replay(tmp_path: Path) -> None:
    mattered = 0
    for seed in range(40):
        jobs, reservations = drawn(np.random.default_rng(seed))
        for job in jobs:
            job.partition = "long" if job.nodes > 4 or job.id % 2 else "short"
        text = "".join(
            shown(each.name, each.begin, each.end, ",".join(f"n{n}" for n in sorted(each.nodes)), len(each.nodes),
                  ",".join(sorted(each.flags)), "ann")
            for each in reservations
        )  # fmt: skip
        (tmp_path / "resv.txt").write_text(text)
        workload = trace(tmp_path, jobs, 10, partitions=PARTITIONS)
        assert workload.cluster.capacities == (6, 4)
        schedule = simulate(workload, f"slurm-backfill:interval=5,resolution=1,reservations={tmp_path / 'resv.txt'}")
        assert check_schedule(workload, schedule) == []
        found = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
        parts = {"long": set(range(6)), "short": set(range(6, 10))}
        assert found == plain_slurm(jobs, 10, 5, lambda job, running: True, reservations, partitions=parts), seed
        mattered += found != plain_slurm(jobs, 10, 5, lambda job, running: True, reservations)
    assert mattered > 30


def test_each_reservation_is_cut_to_the_nodes_it_has_in_a_partition(tmp_path: Path) -> None:
    def found(nodes: str, count: int, jobs: Sequence[PlainJob]) -> list[int]:
        (tmp_path / "resv.txt").write_text(shown("upgrade", 100, 200, nodes, count, "MAINT", "root"))
        workload = trace(tmp_path, jobs, 10, partitions=PARTITIONS)
        spec = f"slurm-backfill:interval=10,resolution=1,reservations={tmp_path / 'resv.txt'}"
        return simulate(workload, spec).start.tolist()

    both = [PlainJob(1, 0, 4, 150, 150, partition="long"), PlainJob(2, 0, 4, 150, 150, partition="short")]
    assert found("n[6-9]", 4, both) == [0, 200]
    assert found("n[0-3]", 4, both) == [200, 0]
    assert found("n[0-1,6]", 3, both) == [0, 200]
    assert found("n[0-9]", 10, both) == found("ALL", 10, both) == [200, 200]
    assert found("n[6-9]", 4, both[:1]) == [0]  # of a partition without jobs
    with pytest.raises(SpecError, match=r"reservation 'upgrade' names no node of a partition: .* \(--merge-partitions"):
        found("(null)", 4, both)


def test_jobs_that_would_run_into_maintenance_wait_and_shorter_ones_do_not(tmp_path: Path) -> None:
    maintenance = shown("upgrade", 100, 200, "n[0-7]", 8, "MAINT,IGNORE_JOBS,SPEC_NODES,ALL_NODES", "root")
    jobs = [PlainJob(1, 0, 4, 100, 100), PlainJob(2, 0, 4, 101, 90), PlainJob(3, 1, 4, 50, 50)]
    # Job 3 would also fit before the maintenance, but stands behind job 2 until the cycle of 10 s.
    assert starts(tmp_path, jobs, maintenance) == [0, 200, 10]
    # Half of the machine stays: job 2 runs there, and job 3 waits for the end of job 2.
    assert starts(tmp_path, jobs, maintenance.replace("NodeCnt=8", "NodeCnt=4").replace("[0-7]", "[0-3]")) == [0, 0, 90]


def test_nothing_runs_and_the_end_of_a_reservation_starts_the_queue(tmp_path: Path) -> None:
    all_nodes = shown("upgrade", 0, 205, "n[0-7]", 8, "MAINT")
    assert starts(tmp_path, [PlainJob(1, 3, 8, 50, 50)], all_nodes) == [210]  # the first cycle after 205 s
    # Cycles go on before a reservation, too: job 2 stands behind job 1, and ends in time.
    later = all_nodes.replace("StartTime=0", "StartTime=100")
    assert starts(tmp_path, [PlainJob(1, 3, 8, 150, 50), PlainJob(2, 5, 8, 50, 50)], later) == [210, 10]


def test_a_job_that_names_a_reservation_runs_there_and_others_keep_off(tmp_path: Path) -> None:
    course = shown("Course", 50, 150, users="ann")
    jobs = [
        PlainJob(1, 0, 4, 60, 60, "ann", reservation="course"),  # waits for the reservation, holds back nobody
        PlainJob(2, 0, 8, 40, 40, "bob"),
        PlainJob(3, 0, 8, 60, 60, "bob"),  # would run into the reservation
        PlainJob(4, 5, 4, 100, 30, "ann"),  # names none: beside the reservation
        PlainJob(5, 60, 4, 100, 40, "ann", reservation="course"),  # its limit lies beyond the reservation
    ]
    assert starts(tmp_path, jobs, course) == [50, 0, 150, 40, 110]
    # Where no job names one, those of its users may use it.
    for user, start in (("ann", 60), ("eve", 150)):
        unnamed = [PlainJob(1, 0, 4, 200, 200, "bob"), PlainJob(2, 60, 4, 40, 40, user)]
        assert starts(tmp_path, unnamed, course) == [0, start]
    # A job that comes too late for its reservation waits as all others do.
    late = [PlainJob(1, 0, 1, 10, 10), PlainJob(2, 150, 4, 10, 10, "ann", reservation="course")]
    assert starts(tmp_path, late, course) == [0, 150]


def test_a_magnetic_reservation_takes_jobs_that_name_none(tmp_path: Path) -> None:
    jobs = [
        PlainJob(1, 0, 1, 5, 5, "eve", "law", reservation="other"),
        PlainJob(2, 0, 4, 60, 60, "bob"),
        PlainJob(3, 50, 8, 20, 20, "bob"),  # waits at the head for all nodes, until 90 s
        PlainJob(4, 50, 4, 20, 20, "ann", "optics"),
    ]
    for flags, users, accounts, start in (
        ("MAGNETIC", "ann", "(null)", 50),
        ("SPEC_NODES", "ann", "(null)", 60),
        ("MAGNETIC,SPEC_NODES", "-eve", "(null)", 50),
        ("MAGNETIC", "-ann", "(null)", 60),
        ("MAGNETIC", "ann", "optics", 50),
        ("MAGNETIC", "ann", "law", 60),
        ("MAGNETIC", "(null)", "(null)", 60),
    ):
        text = shown("course", 50, 90, flags=flags, users=users, accounts=accounts)
        assert starts(tmp_path, jobs, text)[3] == start, (flags, users, accounts)


def test_text_lines_and_json_tell_the_same(tmp_path: Path) -> None:
    text = shown(
        "Course", "2026-01-31T12:00:00", "2026-01-31T14:00:00", "n[0-2,7]", 4, "OVERLAP,PURGE_COMP=00:05:00", "ann"
    )
    (tmp_path / "text").write_text(text + shown("licences", 0, 10, "", 0, "ANY_NODES"))
    (tmp_path / "line").write_text(" ".join(text.split()) + "\n")
    number = {"set": True, "infinite": False, "number": 1769860800}
    told = {
        "name": "Course", "start_time": number, "end_time": 1769860800 + 7200, "node_list": "n[0-2,7]",
        "node_count": 4, "flags": ["OVERLAP", "PURGE_COMP"], "users": "ann", "accounts": "",
    }  # fmt: skip
    (tmp_path / "json").write_text(json.dumps({"reservations": [told], "errors": []}))
    expected = SlurmReservation(
        "course", 1769860800, 1769868000, ("n0", "n1", "n2", "n7"), ("ann",), (), ("OVERLAP", "PURGE_COMP")
    )
    for form in ("text", "line", "json"):
        assert read_reservations(str(tmp_path / form)) == (expected,), form
    (berlin,) = read_reservations(str(tmp_path / "text"), "Europe/Berlin")
    assert (berlin.begin, berlin.end) == (expected.begin - 3600, expected.end - 3600)
    (tmp_path / "text").write_text(2 * shown("Course", 0, 10, "(null)", 3))
    (counted,) = read_reservations(str(tmp_path / "text"))
    assert len(set(counted.hosts)) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("No reservations in the system\n", "resv.txt: holds no reservation; expected scontrol show reservation"),
        (
            shown("a", 0, 10) + shown("b", 5, 5),
            "line 7: reservation 'b': EndTime must be after StartTime = 5 s, got 5 s",
        ),
        (shown("a", "soon", 10), "line 1: reservation 'a': StartTime 'soon' is no time"),
        (shown("a", 0, 10, count="few"), "reservation 'a': NodeCnt 'few' is no number of nodes"),
        (shown("a", 0, 10, count=3), "reservation 'a': Nodes names 4 nodes, NodeCnt says 3"),
        (shown("a", 0, 10, "n[0-"), "reservation 'a': "),
        (shown("a", 0, 10) + shown("a", 5, 15), "line 7: reservation 'a' is stated before, with other terms"),
        (shown("a", 0, 10, flags="FLEX"), "reservation 'a': FLEX is not modelled: jobs begin before it"),
        (shown("a", 0, 10, flags="DAILY,MAINT"), "DAILY is not modelled: it comes again; state each time"),
        (shown("a", 0, 10) + "   NodeName=n0 CoreIDs=0-1\n", "reservation 'a': parts of nodes are not modelled"),
        ("{", "is not the JSON that scontrol prints"),
    ],
)
def test_files_that_cannot_be_read_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "resv.txt").write_text(text)
    with pytest.raises(TraceError) as refused:
        make_policy(f"slurm-backfill:reservations={tmp_path / 'resv.txt'}")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    job = PlainJob(1, 0, 1, 10, 10)
    with pytest.raises(SpecError, match="'a' and other reservations of 0 s take 9 nodes, the machine has 8"):
        starts(tmp_path, [job], shown("a", 0, 10, "n[0-8]", 9))
    with pytest.raises(SpecError, match="all reservations lie outside of the trace, which lasts from 0 s to 10 s"):
        starts(tmp_path, [job], shown("a", 10, 20))
    (tmp_path / "resv.txt").write_text(shown("a", 0, 10))
    spec = f"slurm-backfill:reservations={tmp_path / 'resv.txt'}"
    with pytest.raises(SpecError, match="count cores"):
        simulate(trace(tmp_path, [job], unit="cores"), spec)
    workload = trace(tmp_path, [job])
    with pytest.raises(SpecError, match="reservations does not go with --outages"):
        simulate(workload, spec, outages=Outages((Outage("maintenance", 0, 5, 1),)))
    apart = Workload.of([TracedJob(Job(1, 0, 1, 10, demand=(1,)), 10)], Cluster(8, ("partition_a",), (4,)))
    with pytest.raises(SpecError, match="which nodes partition 'a' has, and the trace does not say"):
        simulate(apart, spec)
    for wrong in ("timezone=Europe/Berlin", f"reservations={tmp_path / 'resv.txt'},timezone=Nowhere"):
        with pytest.raises(SpecError, match="timezone"):
            make_policy(f"slurm-backfill:{wrong}")
    with pytest.raises(SpecError, match="need a replay: windows know neither accounts nor nodes"):
        make_policy(spec).decide(Window(0, Cluster(8), workload.jobs, workload.jobs.take([]), [], [8]))
