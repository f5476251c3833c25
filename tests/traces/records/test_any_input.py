"""Whatever a file holds: a trace comes out, or one line that names the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.traces.records.test_slurm_oddities import BASE
from tests.traces.records.written import json_text, records, text
from transom.errors import TransomError
from transom.generate import generate_lublin
from transom.traces.records.importing import Imported, ImportRules
from transom.traces.records.lsf import read_lsf
from transom.traces.records.pbs import read_pbs
from transom.traces.records.slurm import read_slurm
from transom.traces.records.slurm_conf import read_site
from transom.traces.records.swf import read_swf_records
from transom.traces.records.values import amount, count, gpus, instant, minutes, seconds, state, tres, waits_for
from transom.traces.trace_file import write_trace

EXAMPLES = Path(__file__).parents[3] / "examples"
FEW = settings(max_examples=15)
ODD = st.sampled_from(
    ["", "Unknown", "None", "INVALID", "UNLIMITED", "Partition_Limit", "-1", "0", "1e999", "99999999999999999999",
     "4K-8K", "1-1-1", "12:60:61", "2026-02-30T25:61:61", "9999-12-31T23:59:59", "123_4", "123_[1-5%2]", "123_[9-1]",
     "123+0", "123.batch", "CANCELLED by 1000", "a|b", "a\nb", "\x00", "\ud7ff", "é", '"', "'",
     "cpu=,mem=x,gres/gpu=-", "null"]
) | st.text(max_size=12).map(lambda each: each.encode("utf-8", "replace").decode())  # fmt: skip
RULES = ImportRules(bad=1.0)


def survives(read: Callable[[], Imported], folder: Path) -> None:
    """It gives a trace that can be written, or an error of ours on one line."""
    try:
        jobs, card, _ = read()
    except TransomError as error:
        assert str(folder) in str(error)  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
        return
    write_trace(folder / "out.parquet", jobs, card)
    assert jobs["id"].is_unique().all()
    assert (jobs["submit"] >= 0).all()


@FEW
@given(st.lists(st.tuples(st.sampled_from(list(BASE)), ODD), max_size=4), st.integers(0, 3))
def test_any_cells_of_sacct(tmp_path: Path, changed: Sequence[tuple[str, str]], more: int) -> None:
    rows = [BASE | {"JobID": str(i), "JobIDRaw": str(i)} for i in range(1, more + 1)]
    (tmp_path / "in.txt").write_text(text([BASE | dict(changed), *rows], list(BASE)), encoding="utf-8")
    survives(lambda: read_slurm([str(tmp_path / "in.txt")], RULES), tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["set", "infinite", "number", "x"]), inner)
    ),
    max_leaves=5,
)


@FEW
@given(st.lists(st.tuples(st.integers(0, 60), JSON), max_size=4))
@example([(5, None), (34, None)])
def test_any_values_in_json(tmp_path: Path, changed: Sequence[tuple[int, Any]]) -> None:
    workload = generate_lublin(2, 16, np.random.default_rng(1))
    told = json.loads(json_text(workload, "24.11"))
    for at, value in changed:
        job = told["jobs"][at % 2]
        inner = [job[key] for key in ("time", "state", "tres") if isinstance(job[key], dict)]
        places = [(holder, key) for holder in (job, *inner) for key in holder]
        holder, key = places[at % len(places)]
        holder[key] = value
    (tmp_path / "in.json").write_text(json.dumps(told))
    survives(lambda: read_slurm([str(tmp_path / "in.json")], RULES), tmp_path)


def whole_files() -> dict[str, bytes]:
    """A small file of each kind."""
    workload = generate_lublin(4, 16, np.random.default_rng(1))
    scontrol = (
        "JobId=7 JobName=a b\n   UserId=ada(1) JobState=COMPLETED TimeLimit=1:00\n   SubmitTime=2026-01-01T00:00:00\n"
    )
    return {
        "sacct": text(records(workload)).encode(),
        "csv": ('"' + text(records(workload)).replace("|", '","').replace("\n", '"\n"')).removesuffix('"').encode(),
        "json": json_text(workload, "22.05").encode(),
        "scontrol": (scontrol + "   StartTime=2026-01-01T00:00:00 EndTime=2026-01-01T00:10:00 NumNodes=2\n").encode(),
        "pbs": (EXAMPLES / "pbs.txt").read_bytes(),
        "lsf": (EXAMPLES / "lsb.acct").read_bytes(),
        "conf": b"NodeName=n[0-3] CPUs=4\nPartitionName=p Nodes=ALL MaxTime=1-0\nSwitchName=s Nodes=n[0-3]\n",
        "swf": b"; MaxProcs: 8\n1 0 5 100 4 -1 -1 4 200 2048 1 7 1 9 2 3 -1 -1 16\n" * 2,
    }


FILES = whole_files()


@pytest.mark.parametrize("kind", FILES)
@FEW
@given(st.lists(st.tuples(st.integers(0, 5000), st.binary(max_size=3), st.integers(0, 9)), min_size=1, max_size=5))
def test_any_bytes_in_any_file(kind: str, tmp_path: Path, changes: Sequence[tuple[int, bytes, int]]) -> None:
    content = FILES[kind]
    for at, new, gone in changes:
        at %= len(content) or 1
        content = content[:at] + new + content[at + gone :]
    path = tmp_path / "in"
    path.write_bytes(content)
    if kind == "conf":
        try:
            read_site([str(path)])
        except TransomError as error:
            assert str(path) in str(error)  # noqa: PT017
        return
    readers = {"pbs": read_pbs, "lsf": read_lsf, "swf": lambda paths, rules: read_swf_records(paths[0], rules)}
    survives(lambda: readers.get(kind, read_slurm)([str(path)], RULES), tmp_path)


@given(ODD)
def test_any_text_is_a_value_or_none(value: str) -> None:
    for parse in (count, seconds, minutes, instant, gpus):
        found = parse(value)
        assert found is None or -1 <= found < 2**63
    found = amount(value)
    assert found is None or found.mebibytes >= -1
    assert isinstance(state(value), str)
    assert all(each >= -1 for each in tres(value))
    assert all(each >= 0 for each in waits_for(value))
