"""Fields of a trace that workloads do not hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.traces.test_swf import line, write
from transom.errors import TraceError
from transom.traces import read_swf
from transom.traces.further_fields import read_fields


def test_fields_stand_by_job(tmp_path: Path) -> None:
    lines = (line(f1=7, f2=5), line(f1=3, f2=9), line(f1=4, f2=1))
    path = write(tmp_path, "".join(lines))
    workload = read_swf(path)
    found = read_fields(path, [4, 1, 4], workload.jobs.id)
    assert found[1].tolist() == [4, 7, 3]
    assert sorted(found) == [1, 4]
    assert np.array_equal(found[4], workload.runtime)


def test_the_line_for_the_whole_job_counts(tmp_path: Path) -> None:
    lines = (line(f1=7, f11=status, f10=memory) for status, memory in ((2, 10), (1, "20.5"), (4, 30)))
    path = write(tmp_path, "".join(lines))
    assert read_fields(path, [10], read_swf(path).jobs.id)[10].tolist() == [20.5]


def test_a_job_without_a_line(tmp_path: Path) -> None:
    path = write(tmp_path, line(f1=7))
    with pytest.raises(TraceError, match="no line for job 8"):
        read_fields(path, [10], np.array([7, 8]))


@pytest.mark.reference
def test_memory_of_a_real_trace(shared: Path) -> None:
    path = shared / "traces" / "HPC2N-2002-2.2-cln.swf.gz"
    workload = read_swf(path)
    memory = read_fields(path, [10], workload.jobs.id)[10]
    assert len(memory) == len(workload)
    assert 0.8 < (memory > 0).mean() < 0.9
