"""Outages as users state them: reservations of a Slurm, and what the log shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from transom.errors import SpecError, TraceError
from transom.simulation.known_outages import known_outages
from transom.traces import Workload, read_swf
from transom.traces.outages import Outage
from transom.traces.records.swf import read_swf_records
from transom.traces.trace_file import write_trace

RESERVATIONS = """ReservationName=maint StartTime=1000 EndTime=2000 Nodes=n[1-4] NodeCnt=4 Users=root Flags=MAINT,SPEC
ReservationName=again StartTime=1500 EndTime=2500 Nodes=n[3-6] NodeCnt=4 Users=root Flags=MAINT
ReservationName=course StartTime=1000 EndTime=2000 Nodes=n[7-8] NodeCnt=2 Users=ada Flags=
"""
JOBS = "1 0 0 100 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1\n"


def test_reservations_of_slurm_for_maintenance_are_outages(tmp_path: Path) -> None:
    path, notes = tmp_path / "reservations.txt", list[str]()
    path.write_text(RESERVATIONS)
    (tmp_path / "windows.csv").write_text("kind,begin,end,nodes\ndrain,10,20,2\n")
    (tmp_path / "log.swf").write_text(JOBS)
    texts = [str(path), str(tmp_path / "windows.csv"), "mtbf=30d,mttr=4h", "logged"]
    found = known_outages(texts, read_swf(tmp_path / "log.swf", nodes=8), "lose", notes.append)
    maintenance = (Outage("maintenance", 1000, 2000, 4), Outage("maintenance", 1500, 2500, 2))
    assert found.rows == (Outage("drain", 10, 20, 2), *maintenance)
    assert (found.mttr, found.on_failure) == (4 * 3600, "lose")
    assert notes == [f"{path}: 1 reservation without the flag MAINT left out: they are for certain jobs"]
    with pytest.raises(SpecError, match=r"reservations.txt: 'maint' reserves 4 nodes, the machine has 3"):
        known_outages([str(path)], read_swf(tmp_path / "log.swf", nodes=3))
    records = read_swf_records(str(tmp_path / "log.swf"))
    write_trace(tmp_path / "log.parquet", records.jobs, replace(records.card, unit="cores"))
    with pytest.raises(SpecError, match="count cores"):
        known_outages([str(path)], counted_in_cores(tmp_path))


def counted_in_cores(folder: Path) -> Workload:
    """The jobs of the log as if they had been read from the Parquet file, which counts cores."""
    workload = read_swf(folder / "log.swf", nodes=8)
    return replace(workload, origin=replace(workload.origin, path=str(folder / "log.parquet")))


def test_a_log_without_starts_shows_no_outages(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(JOBS.replace("1 0 0", "1 0 -1"))
    with pytest.raises(SpecError, match="log: the trace does not say when jobs started"):
        known_outages(["logged"], read_swf(tmp_path / "log.swf"))


def test_maintenance_that_a_trace_states_is_of_its_machine(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(JOBS)
    records = read_swf_records(str(tmp_path / "log.swf"))
    rows = [
        {"begin": 10, "end": 20, "nodes": 8, "cores": 32},
        {"begin": 30, "end": 40, "nodes": 2, "cores": 8},
        {"begin": 50, "end": 60, "nodes": 9, "cores": 36},  # with a node that is none of the machine
    ]
    card = replace(records.card, machine={"nodes": 8, "cores": 32}, maintenance=rows, told_by="")
    for unit, sizes in (("nodes", [8, 2, 8]), ("cores", [32, 8, 32])):
        jobs = records.jobs.with_columns(cores=records.jobs["nodes"], req_cores=records.jobs["req_nodes"])
        write_trace(tmp_path / "log.parquet", jobs, replace(card, unit=unit))
        found = known_outages(["trace"], read_swf(tmp_path / "log.parquet")).rows
        assert [(each.kind, each.begin, each.number) for each in found] == [
            ("maintenance", begin, size) for begin, size in zip((10, 30, 50), sizes, strict=True)
        ]
    larger = known_outages(["trace"], read_swf(tmp_path / "log.parquet", nodes=64)).rows
    assert [each.number for each in larger] == [64, 8, 64]  # the whole machine stays whole
    with pytest.raises(SpecError, match="maintenance of 8 of 32 cores, not how many of the 4 here"):
        known_outages(["trace"], read_swf(tmp_path / "log.parquet", nodes=4))
    with pytest.raises(SpecError, match="log: the trace states no maintenance"):
        known_outages(["trace"], read_swf(tmp_path / "log.swf"))
    for wrong in (
        {"begin": 20, "end": 20, "nodes": 1, "cores": 4},
        {"begin": 1, "end": 20},
        {**rows[0], "nodes": "all"},
    ):
        write_trace(tmp_path / "log.parquet", records.jobs, replace(card, maintenance=[wrong]))
        with pytest.raises(TraceError, match="is no trace of the format"):
            read_swf(tmp_path / "log.parquet")
