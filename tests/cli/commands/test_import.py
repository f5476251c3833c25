"""``transom import``: records in, a trace out that other commands take."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom import read_swf
from transom.traces import ReadingRules

SACCT = Path(__file__).parents[3] / "examples" / "sacct.txt"
Command = Callable[..., Ran]


def test_jobs_have_the_sizes_and_times_of_the_accounting_data(transom: Command, tmp_path: Path) -> None:
    told = transom("import", "slurm", SACCT, "--nodes", 16, "-o", tmp_path / "out.parquet", "--json").lines[0]
    assert (told["jobs"], told["ran"], told["machine"]) == (11, 9, {"nodes": 16})
    workload = read_swf(tmp_path / "out.parquet")
    assert (workload.name, workload.cluster.num_nodes, len(workload)) == ("out", 16, 9)
    first, unlimited = workload.jobs[0], workload.jobs[5]
    assert (first.id, first.submit, first.nodes, first.walltime) == (1001, 1767225600, 8, 7200)
    assert workload.runtime[0] == 3600
    # UNLIMITED is no request: the runtime stands in, and the workload says so.
    assert (unlimited.id, unlimited.walltime) == (1007, 14400)
    assert any("PERFECT ESTIMATES" in str(each) for each in workload.diagnostics)


def test_partitions_are_named(transom: Command, tmp_path: Path) -> None:
    for name in ("out.parquet", "out.swf.gz"):
        assert transom("import", "slurm", SACCT, "-o", tmp_path / name).status == 0
        debug = read_swf(tmp_path / name, ReadingRules(partitions=("debug",)), nodes=4)
        assert debug.jobs.id.tolist() == [1006, 1009]


def test_a_file_without_its_header_is_refused(transom: Command, tmp_path: Path) -> None:
    (tmp_path / "bare.txt").write_text(SACCT.read_text(encoding="utf-8").partition("\n")[2], encoding="utf-8")
    ran = transom("import", "slurm", tmp_path / "bare.txt", "-o", tmp_path / "out.parquet")
    assert ran.status == 2
    assert "bare.txt: line 1: expected the header line of sacct --parsable2" in ran.err
    assert os.listdir(tmp_path) == ["bare.txt"]
    names = SACCT.read_text(encoding="utf-8").partition("\n")[0].replace("|", ",")
    words = ("import", "slurm", tmp_path / "bare.txt", "-o", tmp_path / "out.parquet", "--columns", names)
    assert transom(*words, "--json").lines[0]["ran"] == 9


def test_cores_take_the_place_of_nodes(transom: Command, tmp_path: Path) -> None:
    text = SACCT.read_text(encoding="utf-8").replace("AllocNodes|ReqNodes", "AllocCPUS|ReqCPUS")
    (tmp_path / "cores.txt").write_text(text, encoding="utf-8")
    told = transom("import", "slurm", tmp_path / "cores.txt", "-o", tmp_path / "out.parquet", "--json").lines[0]
    assert (told["unit"], told["ran"]) == ("cores", 9)
    assert read_swf(tmp_path / "out.parquet").jobs[0].nodes == 8


def test_other_commands_take_the_trace(transom: Command, tmp_path: Path) -> None:
    trace, words = tmp_path / "out.parquet", ("--policy", "fcfs-easy", "--no-figures")
    transom("import", "slurm", SACCT, "-o", trace)
    replayed = transom("simulate", trace, *words, "--out", tmp_path / "runs", "--json").lines[0]
    assert (replayed["jobs"], replayed["nodes"]) == (9, 16)
    assert "machine size taken from the most nodes in use at once (16 nodes)" in replayed["repairs"]
    assert transom("check", trace, tmp_path / "runs").status == 0
    text = SACCT.read_text(encoding="utf-8").replace("|AllocNodes|", "|AllocCPUS|AllocNodes|").splitlines()
    cells = [line.split("|") for line in text]
    rows = ["|".join([*row[:4], str(4 * int(row[4])), *row[4:]]) for row in cells[1:]]
    (tmp_path / "both.txt").write_text("\n".join([text[0], *rows]))
    transom("import", "slurm", tmp_path / "both.txt", "-o", trace)
    by_cores = transom("simulate", trace, *words, "--size-field", "cores", "--nodes", 64, "--json").lines[0]
    assert by_cores["nodes"] == 64
    gpus = transom("simulate", trace, *words, "--resources", "core=[column:field=cores]", "--json").lines[0]
    assert gpus["resources"][0]["name"] == "core"


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--timezone", "Nowhere/Land"), "timezone: 'Nowhere/Land' is not known"),
        (("--key", "key"), "--key needs --anonymise"),
        (("--unit", "cores"), "no job states its size in cores"),
        (("--format", "json"), "is not the JSON that sacct prints"),
        (("--out", "trace.parquet.gz"), "trace.parquet.gz: Parquet files are packed already"),
    ],
)
def test_what_cannot_be_is_said_on_one_line(
    words: tuple[str, str], wrong: str, transom: Command, tmp_path: Path
) -> None:
    ran = transom("import", "slurm", SACCT, "-o", tmp_path / "out.parquet", *words)
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert wrong in ran.err
    assert not list(tmp_path.iterdir())


def test_a_parquet_file_of_something_else_is_no_trace(transom: Command, tmp_path: Path) -> None:
    pl.DataFrame({"id": [1]}).write_parquet(tmp_path / "other.parquet")
    ran = transom("simulate", tmp_path / "other.parquet", "--policy", "fcfs")
    assert ran.status == 2
    assert "is no trace of the format transom/trace/1" in ran.err
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and nothing else")
    ran = transom("simulate", tmp_path / "cut.parquet", "--policy", "fcfs")
    assert (ran.status, ran.err.count("\n")) == (2, 1)


def test_standard_input_is_read(transom: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piped = io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(SACCT.read_bytes()))))
    monkeypatch.setattr("sys.stdin", piped)
    told = transom("import", "slurm", "-", "-o", tmp_path / "out.parquet", "--json").lines[0]
    assert told["ran"] == 9
    (tmp_path / "sacct.zst").write_bytes(b"\x28\xb5\x2f\xfd and more")
    ran = transom("import", "slurm", tmp_path / "sacct.zst", "-o", tmp_path / "out.parquet")
    assert (ran.status, "zstd -dc FILE | transom" in ran.err) == (2, True)
