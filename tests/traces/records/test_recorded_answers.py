"""What a real Slurm 22.05.8 answered about seventeen executions of jobs, in four forms.

Recorded on four emulated nodes: jobs on whole nodes and on cores, an array, a heterogeneous job, one that is held and
one beyond the limit of its partition (both cancelled), one that was requeued while it ran and cancelled while it waited
again, a failed one, one that began later, a name with a delimiter and a key in it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.traces import read_swf
from transom.traces.records.slurm import read_slurm
from transom.traces.records.slurm_conf import read_site
from transom.traces.trace_file import write_trace

RECORDED = Path(__file__).parent / "recorded"
FILES = ("squeue.json.gz", "squeue.txt", "scontrol.txt", "jobcomp.txt")
SHARED = ("id", "submit", "start", "end", "runtime", "nodes", "cores", "state", "partition", "name", "array_task")
SITE = read_site([str(RECORDED / "nodes.txt"), str(RECORDED / "partitions.txt")])


@pytest.mark.parametrize("name", FILES)
def test_all_forms_say_the_same(name: str) -> None:
    trace = read_slurm([str(RECORDED / name)], site=SITE)
    rows = {row["id"]: {each: row[each] for each in SHARED} for row in trace.jobs.to_dicts()}
    known = {row["id"]: row for row in read_slurm([str(RECORDED / FILES[0])]).jobs.select(SHARED).to_dicts()}
    assert trace.findings.bad == 0
    requeued = rows.pop(17, None)  # jobcomp alone tells of the execution before the requeue
    assert rows == known
    assert (requeued is None) == (name != "jobcomp.txt")
    if requeued is not None:
        assert (requeued["state"], requeued["runtime"], requeued["nodes"]) == ("REQUEUED", 3, 2)
        assert "an execution before a requeue, kept as a job of its own with a new id" in trace.card.repairs
    assert [row["name"] for row in rows.values() if row["id"] == 4] == ["na|me JobState=x"]
    assert {row["id"] for row in rows.values() if row["start"] < 0} == {4, 6, 13}


def test_the_configuration_gives_the_machine_of_the_replay(tmp_path: Path) -> None:
    assert SITE.machine == {"nodes": 4, "cores": 16, "memory": 16_000}
    assert {name: (each["nodes"], each["max_time"]) for name, each in SITE.partitions.items()} == {
        "main": (4, 3600),
        "small": (2, 600),
    }
    trace = read_slurm([str(RECORDED / "jobcomp.txt")], site=SITE)
    write_trace(tmp_path / "t.parquet", trace.jobs, trace.card)
    workload = read_swf(tmp_path / "t.parquet")
    assert (workload.cluster.num_nodes, len(workload)) == (4, 13)
