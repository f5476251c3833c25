"""Small files as programs of other sites write them, with the rows that are right."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from transom.traces.records.importing import ImportRules
from transom.traces.records.lsf import read_lsf
from transom.traces.records.pbs import read_pbs
from transom.traces.records.slurm import read_slurm

CASES = (
    "lsf_index_minus_one", "pbs_array_dash", "pbs_ncpus_default", "pbs_torque_gpus", "sacct_pipe_in_comment",
    "sacct_pipe_in_constraint", "sacct_quoted_csv", "sacct_reqmem_32bit_flag",
)  # fmt: skip


@pytest.mark.reference
@pytest.mark.parametrize("name", CASES)
def test_cases(shared: Path, name: str) -> None:
    folder = shared / "cases" / "records" / name
    case = json.loads((folder / "expected.json").read_text())
    _, kind, file, *options = case["command"]
    rules = ImportRules(unit="cores" if options == ["--unit", "cores"] else "auto")
    jobs = {"lsf": read_lsf, "pbs": read_pbs, "slurm": read_slurm}[kind]([str(folder / file)], rules).jobs
    assert len(jobs) == case["expect"].get("jobs", len(jobs))
    for label, wanted in case["expect"].get("rows", {}).items():
        row = jobs.filter(pl.col("label") == label).row(0, named=True)
        assert {name: row[name] for name in wanted} == wanted
