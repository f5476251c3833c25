"""Headers that state no machine, or another one than the jobs and ``--nodes``."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.errors import TraceError
from transom.traces import ReadingRules, Workload, read_swf
from transom.traces.records.importing import ImportRules
from transom.traces.records.swf import read_swf_records


def log(folder: Path, header: str) -> str:
    """A trace of two jobs on 4 and on 16 nodes."""
    lines = (f"{i} {i} 5 100 {n} -1 -1 {n} 100 -1 1 1 1 1 1 1 -1 -1\n" for i, n in ((1, 4), (2, 16)))
    (folder / "log.swf").write_text(header + "".join(lines))
    return str(folder / "log.swf")


def doubts(workload: Workload) -> list[str]:
    return [each.text for each in workload.diagnostics if each.short == "MACHINE SIZE IN DOUBT"]


@pytest.mark.parametrize("size", ["-5", "12_000", "1.5", "1e9", "-0", "+8"])
def test_what_is_no_machine_is_refused_unless_it_is_stated(size: str, tmp_path: Path) -> None:
    path = log(tmp_path, f"; MaxProcs: {size}\n; MaxNodes: 16\n")
    with pytest.raises(TraceError, match=r"log\.swf: line 1: MaxProcs: expected how many there are, > 0, or -1"):
        read_swf(path)
    with pytest.raises(TraceError, match="MaxProcs"):
        read_swf_records(path)
    said = "the header states a size of no machine; 16 nodes by --nodes or --cluster count"
    assert doubts(read_swf(path, nodes=16)) == [f"MACHINE SIZE IN DOUBT: {said}"]
    assert any("MaxProcs" in note for note in read_swf_records(path, ImportRules(nodes=16)).findings.notes)


@pytest.mark.parametrize(
    ("header", "nodes"),
    [
        ("; MaxProcs: 16\n; MaxNodes: -5\n", 16),  # which is not needed
        ("; MaxProcs: -1\n; MaxNodes: 32\n", 32),
        (";MaxProcs:\n; MaxNodes: 1,024 (batch)\n", 1024),
        ("; MaxProcs: unknown\n; MaxNodes: 64\n", 64),
        ("", 16),
    ],
)
def test_sizes_that_the_format_allows_are_no_doubt(header: str, nodes: int, tmp_path: Path) -> None:
    workload = read_swf(log(tmp_path, header))
    assert (workload.cluster.num_nodes, doubts(workload)) == (nodes, [])


@pytest.mark.parametrize("said", ["MaxNodes: 0", "MaxProcs: -1", "MaxProcs: unknown"])
def test_a_size_that_is_said_to_be_unknown_is_a_doubt(said: str, tmp_path: Path) -> None:
    workload = read_swf(log(tmp_path, f"; {said}\n"))
    text = f"MACHINE SIZE IN DOUBT: the header states {said}; the size of the largest job counts, 16 nodes"
    assert doubts(workload) == [text]
    assert f"the header states {said}" in read_swf_records(log(tmp_path, f"; {said}\n")).findings.notes


def test_a_header_smaller_than_the_largest_job_is_a_doubt(tmp_path: Path) -> None:
    path = log(tmp_path, "; MaxProcs: 8\n")
    workload = read_swf(path)
    text = "the header states 8 nodes; larger jobs left out: 1 (--nodes states another size)"
    assert doubts(workload) == [f"MACHINE SIZE IN DOUBT: {text}"]
    assert workload.facts["machine_in_doubt"] == text
    imported = read_swf_records(path)
    assert imported.card.repairs["larger than the machine of 8 nodes"] == 1


def test_nodes_beside_another_header_is_a_doubt(tmp_path: Path) -> None:
    path = log(tmp_path, "; MaxProcs: 64\n")
    assert doubts(read_swf(path, nodes=64)) == []
    begin = "MACHINE SIZE IN DOUBT: the header states 64 nodes, but"
    assert doubts(read_swf(path, nodes=32)) == [f"{begin} 32 by --nodes or --cluster count"]
    assert doubts(read_swf(path, nodes=8)) == [f"{begin} 8 by --nodes or --cluster count; larger jobs left out: 1"]
    assert doubts(read_swf(path, ReadingRules(partitions=(1,)), nodes=32)) == []  # of a part of the machine
    notes = read_swf_records(path, ImportRules(nodes=32)).findings.notes
    assert "--nodes 32 counts, not the 64 nodes that are stated" in notes
    (said,) = doubts(read_swf(log(tmp_path, "; MaxProcs: 1\n"), nodes=64))
    assert said == f"{begin.replace('64 nodes', '1 node')} 64 by --nodes or --cluster count"
