"""Columns of imported traces as resources: the machine has as much of them as the records state."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from transom.generate.instances.replays import equip
from transom.traces import read_swf
from transom.traces.trace_file import TraceCard, complete, write_trace


def test_capacity_is_that_of_the_machine_unless_stated(tmp_path: Path) -> None:
    path = tmp_path / "site.parquet"
    jobs = pl.DataFrame(
        {
            "id": [1, 2], "submit": [0, 1], "start": [0, 5], "end": [60, 90], "runtime": [60, 85], "walltime": [60, 90],
            "nodes": [1, 2], "gpus": [4, -1], "memory": [2048, 3000],
        }
    )  # fmt: skip
    write_trace(path, complete(jobs), TraceCard(machine={"nodes": 4, "gpus": 16, "memory": 8192}))
    workload = read_swf(path)

    def capacities(text: str) -> tuple[int, ...]:
        return equip(workload, str(path), text, 0).workload.cluster.capacities

    larger = equip(workload, str(path), "gpu=column:gpus,memory=[column:field=memory,unit=1024]", 0)
    assert larger.workload.cluster.capacities == (16, 8)
    assert larger.workload.jobs.demand.tolist() == [[4, 2], [0, 3]]
    assert capacities("gpu=[column:field=gpus,capacity=5]") == (5,)
    assert capacities("cores=[column:field=gpus,load=0.5]") != (16,)
