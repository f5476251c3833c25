"""Arrays in what squeue prints: several columns of the same name, tasks that wait under the id of their array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from transom.traces.records.importing import ImportRules
from transom.traces.records.slurm import read_slurm

# What squeue -o %all prints first: columns by letters of its format, some of which are called the same.
ALL = (
    "ACCOUNT|TRES_PER_NODE|MIN_CPUS|MIN_TMP_DISK|END_TIME|FEATURES|GROUP|OVER_SUBSCRIBE|JOBID|NAME|COMMENT|TIME_LIMIT|"
    "MIN_MEMORY|REQ_NODES|COMMAND|PRIORITY|QOS|REASON||ST|USER|RESERVATION|WCKEY|EXC_NODES|NICE|S:C:T|JOBID|EXEC_HOST|"
    "CPUS|NODES|DEPENDENCY|ARRAY_JOB_ID|GROUP|SOCKETS_PER_NODE|CORES_PER_SOCKET|THREADS_PER_CORE|ARRAY_TASK_ID|"
    "TIME_LEFT|TIME|NODELIST|CONTIGUOUS|PARTITION|PRIORITY|NODELIST(REASON)|START_TIME|STATE|UID|SUBMIT_TIME|LICENSES|"
    "CORE_SPEC|SCHEDNODES|WORK_DIR"
)


def waiting(label: str, raw: str, array: str, task: str, features: str = "(null)") -> str:
    """A job that waits for 16 cores on two nodes."""
    cells = (
        "phys", "gres:gpu:2", "1", "0", "N/A", features, "staff", "OK", label, "arr", "(null)", "1:00:00", "4G", "",
        "/home/ada/run.sh", "0.00000023", "normal", "Priority", "", "PD", "ada", "(null)", "(null)", "", "0", "*:*:*",
        raw, "n/a", "16", "2", "(null)", array, "100", "*", "*", "*", task, "1:00:00", "0:00", "", "0", "batch",
        "4294901755", "(Priority)", "N/A", "PENDING", "1000", "2026-03-02T08:00:00", "(null)", "N/A", "(null)",
        "/home/ada",
    )  # fmt: skip
    return "|".join(cells)


def read(folder: Path, *lines: str) -> list[tuple[Any, ...]]:
    """Ids, labels, arrays, tasks and numbers of tasks."""
    (folder / "squeue").write_text("\n".join([*lines, ""]))
    jobs = read_slurm([str(folder / "squeue")], ImportRules(bad=0.0)).jobs.sort("label")
    return jobs.select("id", "label", "array_job", "array_task", "array_tasks").rows()


TASKS = [(14, "12_0", 12, 0, -1), (15, "12_1", 12, 1, -1), (16, "12_2", 12, 2, -1)]


def test_tasks_that_wait_are_jobs_of_their_own(tmp_path: Path) -> None:
    lines = [waiting(f"12_{task}", "12", "12", f"{task}") for task in range(3)]
    alone, part = waiting("13", "13", "13", "N/A"), waiting("9_[3-5%1]", "9", "9", "3-5%1", "a|b")
    assert read(tmp_path, ALL, *lines, alone, part) == [*TASKS, (13, "13", -1, -1, -1), (9, "9_[3-5%1]", 9, -1, 3)]
    row = read_slurm([str(tmp_path / "squeue")]).jobs.row(0, named=True)
    assert (row["req_nodes"], row["req_cores"], row["req_gpus"], row["priority"]) == (2, 16, 4, 4_294_901_755)
    assert (row["group"], row["name"], row["node_list"]) == ("staff", "arr", "")


REST = "PENDING|2026-03-02T08:00:00|1"


@pytest.mark.parametrize(
    ("header", "ids"),
    [
        ("JOBID|JOBID|ARRAY_JOB_ID|ARRAY_TASK_ID", "12_{task}|12|12|{task}"),
        ("JOBID|JOBID", "12_{task}|12"),
        ("JOBID|JOBID", "12|12_{task}"),
        ("JOBID|ARRAY_JOB_ID|ARRAY_TASK_ID", "12|12|{task}"),
        ("JobID|JobIDRaw", "12_{task}|12"),
        ("JOBID", "12_{task}"),
    ],
)
def test_any_columns_of_ids_will_do(header: str, ids: str, tmp_path: Path) -> None:
    alone = ids.replace("12_{task}", "13").replace("12", "13").replace("{task}", "N/A")
    lines = [*(ids.format(task=task) for task in range(3)), alone]
    found = read(tmp_path, f"{header}|STATE|SUBMIT_TIME|NODES", *(f"{line}|{REST}" for line in lines))
    assert found == [*TASKS, (13, "13", -1, -1, -1)]


def test_the_last_task_has_the_id_of_its_array(tmp_path: Path) -> None:
    header = "JobID|JobIDRaw|State|Submit|NNodes"
    lines = [f"12_0|13|{REST}", f"12_1|12|{REST}"]
    assert read(tmp_path, header, *lines) == [(13, "12_0", 12, 0, -1), (12, "12_1", 12, 1, -1)]


def test_an_id_that_another_record_states_is_the_task_s(tmp_path: Path) -> None:
    header, later = "JobID|JobIDRaw|State|Submit|Start|NNodes", "RUNNING|2026-03-02T08:00:00|2026-03-02T08:05:00|1"
    early = "PENDING|2026-03-02T08:00:00|Unknown|1"
    lines = [*(f"12_{task}|12|{early}" for task in range(2)), f"12_0|14|{later}"]
    assert read(tmp_path, header, *lines) == [(14, "12_0", 12, 0, -1), (15, "12_1", 12, 1, -1)]
