"""The real logs: every one is read, and what is kept is what independent programs kept."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from transom.traces import ReadingRules, read_swf

pytestmark = pytest.mark.reference

# Jobs with id, size and runtime > 0; runtimes above the request; node-seconds of all, cut. By awk.
COUNTS = {
    "KTH-SP2-1996-2.1-cln": (100, 28467, 475, 2005181934),
    "NASA-iPSC-1993-3.1-cln": (128, 18066, 0, 474238015),
    "SDSC-SP2-1998-4.2-cln": (128, 54034, 4134, None),
    "SDSC-BLUE-2000-4.2-cln": (1152, 232536, 23434, None),
    "HPC2N-2002-2.2-cln": (240, 202871, 14817, None),
    "lublin_256": (256, 10000, 0, 2092781168),
    "theta_2022": (4360, 23911, 6264, None),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(shared: Path, name: str) -> None:
    nodes, jobs, cut, area = COUNTS[name]
    workload = read_swf(shared / "traces" / f"{name}.swf.gz")
    assert (workload.cluster.num_nodes, len(workload)) == (nodes, jobs)
    assert workload.repairs.get("runtime above the walltime, cut", 0) == cut
    assert (np.diff(workload.jobs.submit) >= 0).all()
    assert (workload.runtime <= workload.jobs.walltime).all()
    if area is not None:
        assert int((workload.jobs.nodes * workload.runtime).sum()) == area


@pytest.mark.parametrize("name", ["theta_2022", "lublin_2000"])
def test_same_jobs_as_an_independent_replay(shared: Path, name: str) -> None:
    workload = read_swf(shared / "traces" / f"{name}.swf.gz", ReadingRules(walltime="requested"))
    with gzip.open(shared / "reference" / f"easy_{name}.csv.gz", "rt") as file:
        rows = {int(row["job_id"]): row for row in csv.DictReader(file)}
    assert set(workload.jobs.id.tolist()) == set(rows)
    first = int(workload.jobs.submit[0])
    for job, runtime in zip(workload.jobs, workload.runtime.tolist(), strict=True):
        row = rows[job.id]
        assert (job.submit - first, job.nodes) == (int(row["submit"]), int(row["procs"]))
        assert runtime == int(row["end"]) - int(row["start"])


def test_same_jobs_as_another_reader(shared: Path) -> None:
    rules = ReadingRules(nodes="max", long_runs="keep")
    workload = read_swf(shared / "traces" / "SDSC-SP2-1998-4.2-cln.swf.gz", rules)
    ours = {j: i for i, j in enumerate(workload.jobs.id.tolist())}
    compared = 0
    with gzip.open(shared / "reference" / "rlscheduler_jobs_SDSC-SP2.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            at = ours.get(int(row["job_id"]))
            if at is None:
                assert int(row["run_time"]) == 10  # what that reader makes of an unknown runtime
                continue
            job = workload[at]
            theirs = tuple(int(row[key]) for key in ("procs", "run_time", "request_time"))
            assert (job.job.nodes, job.runtime, job.job.walltime) == theirs
            compared += 1
    assert compared > 1000
