"""Sizes and array tasks in accounting logs of Torque, PBS Professional and OpenPBS."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.traces.records.importing import Imported
from transom.traces.records.pbs import read_pbs
from transom.traces.records.pbs.resources import ASKED, ASSIGNED, Size, asked, assigned


def log(folder: Path, *jobs: tuple[str, str]) -> Imported:
    """A log with a record of the end of each job: its id, and what it says beside its times."""
    common = "user=ada group=staff jobname=j queue=batch ctime=1772438400 start=1772438700 end=1772439300"
    lines = [f"03/02/2026 08:15:00;E;{id_};{common} Exit_status=0 {told}" for id_, told in jobs]
    (folder / "log").write_text("\n".join(lines) + "\n")
    return read_pbs([str(folder / "log")])


def sizes(folder: Path, told: str) -> tuple[int, ...]:
    """Nodes, cores and GPUs that one job had, and that it asked for."""
    names = ("nodes", "cores", "gpus", "req_nodes", "req_cores", "req_gpus")
    return log(folder, ("7.srv", told)).jobs.select(names).row(0)


@pytest.mark.parametrize(
    ("told", "size"),
    [
        ({"exec_host": "n1/0+n1/1+n2/0"}, Size(2, 3, None)),
        ({"exec_host": "n1/0-3+n2/0,2,4-5"}, Size(2, 8, None)),
        ({"exec_host": "n1/0*4+n2/1*12"}, Size(2, 16, None)),
        ({"exec_host": "n1.domain.org/7+n1.domain.org/6"}, Size(1, 2, None)),
        ({"exec_host": "n1/0*0", "exec_vnode": "(n1[1]:mem=1kb:ngpus=2:ncpus=24+n1[0]:ncpus=24)"}, Size(1, 48, 2)),
        ({"exec_vnode": "(n1:ncpus=4:ngpus=1:mem=8gb)+(n2:ncpus=4:ngpus=1)"}, Size(2, 8, 2)),
        ({"exec_vnode": "(uv[3]:ncpus=8+uv[4]:ncpus=8)"}, Size(1, 16, None)),
        ({"exec_host": "g1/0-3", "exec_gpus": "g1-gpu/0+g1-gpu/1"}, Size(1, 4, 2)),
        ({"slots": "80", "hosts": "2"}, Size(2, 80, None)),
        ({}, Size()),
    ],
)
def test_what_was_assigned(told: dict[str, str], size: Size) -> None:
    assert assigned(dict.fromkeys(ASSIGNED, "") | told) == size


@pytest.mark.parametrize(
    ("told", "size"),
    [
        ({"nodes": "2:ppn=4", "ncpus": "1", "nodect": "2"}, Size(2, 8, None)),
        ({"nodes": "2:ppn=8:gpus=2"}, Size(2, 16, 4)),
        ({"nodes": "2:ppn=8:gpus=2:exclusive_process:avx+n7:ppn=2#shared"}, Size(3, 18, 4)),
        ({"nodes": "n3:ppn=2+n4:ppn=2"}, Size(2, 4, None)),
        ({"nodes": "n3+n4:bigmem", "ncpus": "1"}, Size(2, 2, None)),
        ({"nodes": "1", "ncpus": "8"}, Size(1, 8, None)),
        ({"nodes": "1", "procs": "16"}, Size(1, 16, None)),
        ({"nodes": "2:ppn=2:cpp=3"}, Size(2, 12, None)),
        ({"neednodes": "3:ppn=28"}, Size(3, 84, None)),
        ({"nodect": "1:ppn=24:gpu=4:reqmem=1:gpu"}, Size(1, 24, 4)),
        ({"nodes": "1:ppn=4", "gres": "gpus:2"}, Size(1, 4, 2)),
        ({"ncpus": "4", "ngpus": "1"}, Size(None, 4, 1)),
        ({"select": "2:ncpus=4:ngpus=1:mem=8gb+1:ncpus=8", "ncpus": "1", "nodect": "3"}, Size(3, 16, 2)),
        ({"select": "ncpus=4:ngpus=2"}, Size(1, 4, 2)),
        ({"select": "2:mem=4gb", "ncpus": "12"}, Size(2, 12, None)),
        ({"select": "4:ncpus=2", "nodect": "4", "place": "pack:excl"}, Size(1, 8, None)),
        ({"tasks": "-L tasks=2:lprocs=4:gpus=1:place=numanode -L tasks=1", "ncpus": "1"}, Size(None, 9, 2)),
        ({"tasks": "-L tasks=2:lprocs=all"}, Size()),
        ({"mppwidth": "256", "mppnppn": "24", "mppdepth": "2", "ncpus": "1"}, Size(11, 512, None)),
        ({"size": "768"}, Size(None, 768, None)),
        ({}, Size()),
    ],
)
def test_what_was_asked_for(told: dict[str, str], size: Size) -> None:
    assert asked(dict.fromkeys(ASKED, "") | told) == size


def test_the_default_of_a_queue_does_not_hide_what_a_job_had(tmp_path: Path) -> None:
    held = "exec_host=n1/0+n1/1+n2/0+n2/1 Resource_List.ncpus=1 Resource_List.nodect=2"
    assert sizes(tmp_path, f"{held} Resource_List.nodes=2:ppn=2") == (2, 4, -1, 2, 4, -1)
    assert sizes(tmp_path, "Resource_List.ncpus=1 Resource_List.nodes=2:ppn=2:gpus=1") == (2, 4, 2, 2, 4, 2)


def test_chunks_on_one_host_use_one_node(tmp_path: Path) -> None:
    told = "exec_host=n1/0*2+n1/1*2 exec_vnode=(n1:ncpus=2)+(n1:ncpus=2) Resource_List.ncpus=4 Resource_List.nodect=2"
    assert sizes(tmp_path, f"{told} Resource_List.select=2:ncpus=2:ngpus=0") == (1, 4, 0, 2, 4, 0)


def test_requests_of_torque_6_have_blanks(tmp_path: Path) -> None:
    told = "exec_host=n1/0-79 Resource_Request_2.0=-L tasks=1:lprocs=40 -L tasks=2:lprocs=20 session=7"
    assert sizes(tmp_path, told) == (1, 80, -1, -1, 80, -1)


def test_of_a_cray_the_login_node_is_listed(tmp_path: Path) -> None:
    told = "exec_host=login1/24 exec_vnode=(login1:ncpus=1) Resource_List.mppwidth=48 Resource_List.mppnppn=24"
    assert sizes(tmp_path, f"{told} Resource_List.ncpus=1 Resource_List.nodect=1") == (2, 48, -1, 2, 48, -1)


def test_fewer_cores_than_asked_for_are_counted(tmp_path: Path) -> None:
    trace = log(tmp_path, ("1.srv", "exec_host=n1/0 Resource_List.ncpus=8"), ("2.srv", "exec_host=n1/0*8"))
    assert trace.jobs["cores"].to_list() == [1, 8]
    assert trace.card.repairs == {"fewer cores assigned than asked for: those assigned count": 1}


def test_gpus_of_a_job_whose_record_states_nothing_are_not_known(tmp_path: Path) -> None:
    log(tmp_path, ("1.s", "exec_host=n1/0 exec_gpus=n1-gpu/1 Resource_List.nodes=1:gpus=1"))
    with (tmp_path / "log").open("a") as file:
        file.write("03/02/2026 08:00:00;Q;2.s;queue=batch\n")
    jobs = read_pbs([str(tmp_path / "log")]).jobs.sort("id")
    assert jobs.select("req_gpus", "gpus").rows() == [(1, 1), (-1, -1)]


def test_gpus_of_a_log_that_speaks_of_none_are_not_known(tmp_path: Path) -> None:
    assert log(tmp_path, ("1.s", "exec_host=n1/0"), ("2.s", "exec_host=n1/1")).jobs["gpus"].to_list() == [-1, -1]
    assert log(tmp_path, ("1.s", "exec_host=n1/0"), ("2.s", "exec_gpus=n1-gpu/1")).jobs["gpus"].to_list() == [0, 1]


@pytest.mark.parametrize("spelling", ["1008[{}].srv", "1008-{}.srv", "1008-{}", "1008[{}].pbs-2.org"])
def test_tasks_of_arrays_are_jobs_of_their_own(spelling: str, tmp_path: Path) -> None:
    trace = log(tmp_path, *((spelling.format(task), "exec_host=n1/0") for task in (3, 4)), ("1008-srv.org", ""))
    assert sorted(trace.jobs["label"].to_list()) == ["1008", "1008_3", "1008_4"]
    assert trace.jobs["id"].is_unique().all()
    assert trace.card.repairs == {}


def test_a_walltime_of_zero_is_none_where_a_job_ran(tmp_path: Path) -> None:
    used = ("00:00:00", "-2:-3:-4", "00:05:00")
    trace = log(
        tmp_path, *((f"{i}.s", f"exec_host=n1/0 resources_used.walltime={each}") for i, each in enumerate(used, 1))
    )
    assert trace.jobs["runtime"].to_list() == [600, 600, 300]


def test_memory_without_a_unit_is_in_bytes(tmp_path: Path) -> None:
    amounts = ("2097152000", "2000mb")
    trace = log(
        tmp_path, *((f"{i}.s", f"exec_host=n1/0 Resource_List.mem={each}") for i, each in enumerate(amounts, 1))
    )
    assert trace.jobs["req_memory"].to_list() == [2000, 2000]
