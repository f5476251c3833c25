"""The script of the examples that makes a trace of Slurm's accounting data."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.sacct_to_swf import convert
from transom import read_swf
from transom.traces import ReadingRules

SACCT = Path(__file__).parents[2] / "examples" / "sacct.txt"


def test_jobs_have_the_sizes_and_times_of_the_accounting_data(tmp_path: Path) -> None:
    assert convert(SACCT, tmp_path / "out.swf", 16) == (9, 2)
    workload = read_swf(tmp_path / "out.swf")
    assert workload.cluster.num_nodes == 16
    first, unlimited = workload.jobs[0], workload.jobs[5]
    assert (first.id, first.submit, first.nodes, first.walltime) == (1001, 1767225600, 8, 7200)
    assert workload.runtime[0] == 3600
    # UNLIMITED is no request: the runtime stands in, and the workload says so.
    assert (unlimited.id, unlimited.walltime) == (1007, 14400)
    assert any("PERFECT ESTIMATES" in str(each) for each in workload.diagnostics)


def test_partitions_are_named(tmp_path: Path) -> None:
    convert(SACCT, tmp_path / "out.swf", 16)
    debug = read_swf(tmp_path / "out.swf", ReadingRules(partitions=("debug",)), nodes=4)
    assert debug.jobs.id.tolist() == [1006, 1009]


def test_a_file_without_its_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bare.txt").write_text(SACCT.read_text(encoding="utf-8").partition("\n")[2], encoding="utf-8")
    with pytest.raises(SystemExit, match="the header has no JobIDRaw"):
        convert(tmp_path / "bare.txt", tmp_path / "out.swf", 16)
    assert not (tmp_path / "out.swf").exists()


def test_cores_take_the_place_of_nodes(tmp_path: Path) -> None:
    text = SACCT.read_text(encoding="utf-8").replace("AllocNodes|ReqNodes", "AllocCPUS|ReqCPUS")
    (tmp_path / "cores.txt").write_text(text, encoding="utf-8")
    assert convert(tmp_path / "cores.txt", tmp_path / "out.swf", 16) == (9, 2)
    assert read_swf(tmp_path / "out.swf").jobs[0].nodes == 8
