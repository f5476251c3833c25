"""Workloads written as records of Slurm are read back as the same jobs."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.traces.records.written import COLUMNS, json_text, records, text
from transom.models import JobTable
from transom.traces import Workload, cut, read_swf
from transom.traces.further_fields import read_fields
from transom.traces.records.importing import ImportRules
from transom.traces.records.slurm import read_slurm
from transom.traces.records.swf_file import write_swf_trace
from transom.traces.trace_file import write_trace

BUNDLED = Path(__file__).parents[3] / "instances" / "workloads" / "lublin_5000.swf.gz"
FORMS: dict[str, Callable[[Workload], str]] = {
    "sacct": lambda workload: text(records(workload)),
    "22.05": lambda workload: json_text(workload, "22.05"),
    "24.11": lambda workload: json_text(workload, "24.11"),
}


def in_calendar(workload: Workload) -> Workload:
    """The workload from 2020 on, with limits of whole minutes, as Slurm's are."""
    data = workload.jobs.data.copy()
    data[:, 1] += 1_577_836_800
    data[:, 3] = -(-data[:, 3] // 60) * 60
    return replace(workload, jobs=JobTable(data, workload.jobs.depends_on), first_submission=None)


@pytest.fixture(scope="module")
def workload() -> Workload:
    return in_calendar(cut(read_swf(BUNDLED), 0, 600))


def same_jobs(one: Workload, other: Workload, users: bool = True) -> bool:
    """Whether two workloads have the same jobs; users count as far as they tell jobs apart."""
    columns = one.jobs.data.shape[1]
    user = 4
    checked = [column for column in range(columns) if column != user]
    same = (one.jobs.data[:, checked] == other.jobs.data[:, checked]).all() and (one.runtime == other.runtime).all()
    told = (np.unique(each.jobs.user, return_inverse=True)[1] for each in (one, other))
    pairs = set(zip(*(each.tolist() for each in told), strict=True))
    return bool(same and (not users or len(pairs) == len(np.unique(one.jobs.user))))


@pytest.mark.parametrize("form", FORMS)
def test_records_give_the_jobs_back(form: str, workload: Workload, tmp_path: Path) -> None:
    (tmp_path / "records").write_text(FORMS[form](workload))
    jobs, card, findings = read_slurm([str(tmp_path / "records")], ImportRules(nodes=workload.cluster.num_nodes))
    assert (findings.bad, card.repairs) == (0, {})
    write_trace(tmp_path / "trace.parquet", jobs, card)
    write_swf_trace(tmp_path / "trace.swf.gz", jobs, card)
    for name in ("trace.parquet", "trace.swf.gz"):
        again = read_swf(tmp_path / name)
        assert again.cluster == workload.cluster
        assert same_jobs(again, workload)
        assert again.repairs == {}
    told = read_fields(tmp_path / "trace.parquet", ["start", "gpus", "memory", "eligible", 3], workload.jobs.id)
    assert (told["start"] == workload.jobs.submit + 60).all()
    assert (told[3] == 60).all()
    assert (told["gpus"] == workload.jobs.nodes).all()
    assert (told["memory"] == workload.jobs.nodes * 2048).all()
    assert (told["eligible"] == workload.jobs.submit + 1).all()


@pytest.mark.reference
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["theta_2022", "KTH-SP2-1996-2.1-cln"])
def test_real_traces_come_back(name: str, form: str, shared: Path, tmp_path: Path) -> None:
    whole = read_swf(shared / "traces" / f"{name}.swf.gz")
    workload = in_calendar(whole if form == "sacct" else cut(whole, 0, 5000))  # JSON takes 3 kB a job
    (tmp_path / "records").write_text(FORMS[form](workload))
    jobs, card, _ = read_slurm([str(tmp_path / "records")], ImportRules(nodes=workload.cluster.num_nodes))
    write_trace(tmp_path / "trace.parquet", jobs, card)
    assert same_jobs(read_swf(tmp_path / "trace.parquet"), workload)


def test_columns_may_stand_in_any_order(workload: Workload, tmp_path: Path) -> None:
    rows = records(workload)
    order = np.random.default_rng(1).permutation(len(COLUMNS))
    (tmp_path / "one").write_text(text(rows))
    (tmp_path / "other").write_text(text(rows, [COLUMNS[i] for i in order]))
    (tmp_path / "least").write_text(
        text(rows, ["JobIDRaw", "Submit", "Start", "End", "ReqNodes", "TimelimitRaw", "State"])
    )
    one, other = (read_slurm([str(tmp_path / name)]).jobs for name in ("one", "other"))
    assert one.equals(other)
    least = read_slurm([str(tmp_path / "least")])
    shared = ["id", "submit", "start", "end", "runtime", "walltime", "req_nodes", "state"]
    assert least.jobs.select(shared).equals(one.select(shared))


def test_files_may_be_packed_and_several(workload: Workload, tmp_path: Path) -> None:
    rows = records(workload)
    (tmp_path / "all").write_text(text(rows))
    (tmp_path / "first.gz").write_bytes(gzip.compress(text(rows[:250]).encode()))
    (tmp_path / "second").write_text(text(rows[200:], delimiter="^").replace("\n", "\r\n"))
    whole = read_slurm([str(tmp_path / "all")])
    parts = read_slurm([str(tmp_path / "first.gz"), str(tmp_path / "second")])
    assert parts.jobs.equals(whole.jobs)
    assert parts.findings.repairs == {"the same record again, left out": 50}
