"""GPUs of jobs in all places where Slurm states them, and what is not known of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.traces.records.importing import Imported
from transom.traces.records.slurm import read_slurm
from transom.traces.records.slurm_conf import read_site
from transom.traces.records.values import gpus

HEAD = "JobID|Submit|Start|End|ElapsedRaw|NNodes|NCPUS|State"
TIMES = "2026-03-02T08:00:00|2026-03-02T08:05:00|2026-03-02T08:15:00|600"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("gpu:4", 4), ("gres:gpu:a100:2", 2), ("gres/gpu:1080=2", 2), ("gpu:1080:2", 2), ("gpu=2", 2),
        ("7696487:2", 2), ("7696487:0", 0), ("gpu:2(IDX:0-1)", 2), ("gpu(IDX:0-2,5)", 4), ("gpu:a100(IDX:0-1)", 2),
        ("gpu:(null):3(IDX:0-2)", 3), ("gpu:a100:2(IDX:N/A)", 2), ("gpu:a100:4(S:0,1),craynetwork:4", 4), ("gpu", 1),
        ("gpu:a100", 1), ("gpu:1g.5gb:2", 2), ("gpu:tesla:no_consume:2", 2), ("gres/gpu=3,gres/gpu:a100=3", 3),
        ("gres/gpu:a100=2,gres/gpu:h100=1", 3), ("gres/gpu:h100:1,gres/gpu:2080:1", 2), ("gpu:0", 0),
        ("shard:4,mps:100", -1), ("cpu=8,gres/gpumem=9,gres/gpuutil=3", -1), ("gres/gpu=", -1), ("N/A", -1),
        ("gres/gpu=99999999999", None), ("gpu(IDX:5-1)", 1),
    ],
)  # fmt: skip
def test_all_spellings(text: str, number: int | None) -> None:
    assert gpus(text) == number


def table(folder: Path, *rows: str, columns: str) -> Imported:
    """The trace of a table of ``sacct`` whose jobs had two nodes and eight cores."""
    lines = [f"{i}|{TIMES}|2|8|COMPLETED|{row}" for i, row in enumerate(rows, 1)]
    (folder / "sacct.txt").write_text("\n".join([f"{HEAD}|{columns}", *lines, ""]))
    return read_slurm([str(folder / "sacct.txt")])


def test_what_cannot_be_read_is_counted_once(tmp_path: Path) -> None:
    trace = table(tmp_path, "many|gpu:99999999999", columns="AllocNodes|TresPerJob")
    unread = {what: number for what, number in trace.findings.repairs.items() if "cannot be read" in what}
    assert unread == {f"{name} cannot be read, taken as not known": 1 for name in ("alloc_nodes", "job_gres")}


def test_a_file_that_tracks_no_gpus_says_nothing_of_them(tmp_path: Path) -> None:
    untracked = table(tmp_path, "cpu=8,node=2|cpu=8,node=2", "cpu=8,node=2|cpu=8,node=2", columns="AllocTRES|ReqTRES")
    assert untracked.jobs.select("gpus", "req_gpus").rows() == [(-1, -1), (-1, -1)]
    tracked = table(
        tmp_path,
        "cpu=8,node=2|cpu=8,node=2",
        "cpu=8,gres/gpu=2|cpu=8,gres/gpu:1080=2",
        "|",
        columns="AllocTRES|ReqTRES",
    )
    assert tracked.jobs.select("gpus", "req_gpus").rows() == [(0, 0), (2, 2), (-1, -1)]
    again = read_slurm([str(tmp_path / "sacct.txt"), str(_other(tmp_path))])
    assert again.jobs.select("gpus").to_series().to_list() == [0, 2, -1, -1]  # each file by itself


def _other(folder: Path) -> Path:
    path = folder / "other.txt"
    path.write_text(f"{HEAD}|AllocTRES\n9|{TIMES}|2|8|COMPLETED|cpu=8\n")
    return path


def test_generic_resources_of_old_databases(tmp_path: Path) -> None:
    trace = table(tmp_path, "7696487:2|gpu:1080:2", "gpu:0|gpu:0", "craynetwork:1|", "|", columns="AllocGRES|ReqGRES")
    assert trace.jobs.select("gpus", "req_gpus").rows() == [(2, 2), (0, 0), (0, 0), (0, 0)]


def test_requests_by_job_node_task_and_socket(tmp_path: Path) -> None:
    columns = "TRES_PER_JOB|TRES_PER_NODE|TRES_PER_TASK|TRES_PER_SOCKET|TASKS"
    rows = ("gres/gpu:6|N/A|N/A|N/A|4", "N/A|gres:gpu:2|N/A|N/A|4", "N/A|N/A|gres/gpu=2|N/A|4", "N/A|N/A|N/A|gpu:1|4")
    trace = table(tmp_path, *rows, columns=columns)
    assert trace.jobs.select("gpus", "req_gpus").rows() == [(6, 6), (4, 4), (8, 8), (-1, -1)]  # sockets are not told
    assert trace.card.repairs == {"GPUs not stated, taken from those that were requested": 3}


SCONTROL = """JobId=7 JobName=Nodes=x GRES=gpu:9
   UserId=ada(1000) GroupId=g(1) QOS=normal
   JobState=RUNNING Reason=None Dependency=(null)
   SubmitTime=2026-03-02T08:00:00 EligibleTime=2026-03-02T08:00:00 StartTime=2026-03-02T08:05:00 EndTime=Unknown
   Partition=gpu NodeList=g[1-3] BatchHost=g1 NumNodes=3 NumCPUs=12 NumTasks=3 CPUs/Task=4 ReqB:S:C:T=0:0:*:*
   ReqTRES=cpu=12,mem=12G,node=3,billing=12 AllocTRES=cpu=12,mem=12G,node=3,billing=12
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   {total}Nodes=g[1-2] CPU_IDs=0-3 Mem=4096 GRES=gpu:h100:2(IDX:0-1),shard:h100:4(1/8,3/8)
     Nodes=g3 CPU_IDs=0-3 Mem=4096 GRES=gpu:h100:1(IDX:0)
   MinCPUsNode=1 MinMemoryNode=4G MinTmpDiskNode=0 Features=(null) TresPerTask={task}
"""


@pytest.mark.parametrize("total", ["JOB_GRES=gpu:h100:5\n     ", "  "])
@pytest.mark.parametrize(("task", "requested"), [("gres/gpu=1", 3), ("cpu=4", 0)])
def test_details_of_scontrol(total: str, task: str, requested: int, tmp_path: Path) -> None:
    (tmp_path / "job.txt").write_text(SCONTROL.format(total=total, task=task))
    row = read_slurm([str(tmp_path / "job.txt")]).jobs.row(0, named=True)
    assert (row["gpus"], row["req_gpus"]) == (5, requested)


def test_types_of_digits_in_configurations(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("NodeName=n[1-2] CPUs=8 Gres=gpu:1080:4,gpu:a100:no_consume:1,shard:16\n")
    assert read_site([str(tmp_path / "slurm.conf")]).machine["gpus"] == 10
