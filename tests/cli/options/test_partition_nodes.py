"""``--partition-nodes`` in the commands that replay a trace, and in what they record."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom.traces.records.swf import read_swf_records
from transom.traces.trace_file import write_trace

LINE = "{0} {1} {2} 100 {3} -1 -1 {3} 100 -1 1 1 1 1 1 {4} -1 -1\n"
APART = ("--partition-nodes", "debug=4,batch=6")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Jobs of (submission, wait, nodes, partition): the second waits for the first, though six nodes are idle."""
    jobs = ((0, 0, 3, 1), (1, 99, 3, 1), (2, 0, 6, 2), (3, 0, 5, 1))
    lines = (LINE.format(i, *job) for i, job in enumerate(jobs, 1))
    (tmp_path / "log.swf").write_text("; MaxProcs: 10\n; Partition: 1 debug\n; Partition: 2 batch\n" + "".join(lines))
    return tmp_path / "log.swf"


def test_a_recording_says_that_partitions_were_apart_and_is_checked_so(
    transom: Callable[..., Ran], log: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = transom("simulate", log, "--policy", "fcfs-easy", *APART, "--out", out, "--no-figures")
    assert "larger than its partition" in done.err
    jobs = pl.read_parquet(out / "fcfs-easy" / "jobs.parquet").sort("job_id")
    assert jobs["start"].to_list() == [0, 100, 2]
    assert transom("check", log, out).status == 0
    refused = transom("check", log, out, "--partition-nodes", "debug=4,batch=7")
    assert refused.status == 2
    assert "another workload" in refused.err


def test_a_replay_with_partitions_apart_follows_the_log(transom: Callable[..., Ran], log: Path) -> None:
    told = json.loads(transom("calibrate", log, *APART, "--json").out)
    everyone = told["policies"][0]["groups"][0]
    assert (told["machine"], everyone["jobs"], everyone["error_mean"]) == ("by partition", 3, 0.0)
    assert json.loads(transom("calibrate", log, "--json").out)["policies"][0]["groups"][0]["error_mean"] > 0


def test_rules_of_programs_that_know_no_partitions_refuse_it(transom: Callable[..., Ran], log: Path) -> None:
    done = transom("simulate", log, "--policy", "fcfs-easy", "--rules", "cqsim", *APART)
    assert done.status == 2
    assert done.err.splitlines()[-1].endswith("--partition-nodes does not go with --rules cqsim")


def test_a_policy_that_knows_no_partitions_is_told_what_limits_jobs(
    transom: Callable[..., Ran], log: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        "from transom import Decision\n\n\nclass All:\n    def decide(self, window, /):\n"
        "        return Decision(start=tuple(window.queue.id.tolist()))\n"
    )
    done = transom("simulate", log, "--policy", f"{tmp_path}/mine.py:All", *APART)
    assert done.status == 2
    told = done.err.splitlines()[-1]
    assert "is started but does not fit (what limits jobs: nodes, partition_" in told


def test_which_machine_was_replayed_is_the_first_sentence(transom: Callable[..., Ran], log: Path) -> None:
    records = read_swf_records(str(log))
    sizes = {"debug": {"nodes": 4}, "batch": {"nodes": 6}}
    write_trace(log.with_name("log.parquet"), records.jobs, replace(records.card, partitions=sizes))
    log = log.with_name("log.parquet")
    by_partition = "Replayed by partition (debug 4, batch 6 of 10 nodes)."
    merged = "Partitions merged into one machine of 10 nodes."
    for command in (("simulate", log), ("calibrate", log), ("when", log, "--job", 2)):
        assert transom(*command).out.splitlines()[0] == by_partition
        done = transom(*command, "--merge-partitions")
        assert done.out.splitlines()[0] == merged
        assert "partitions: " in done.err
        assert "as one machine: " not in done.err, "said once"
    assert transom("simulate", log, "--merge-partitions", "--json").lines[0]["machine"] == "merged"
    out = log.with_name("out")
    for asked, starts in ((("--merge-partitions",), [0, 1, 100, 200]), ((), [0, 100, 2])):
        transom("simulate", log, "--policy", "fcfs-easy", *asked, "--out", out, "--no-figures", "--force")
        assert pl.read_parquet(out / "fcfs-easy" / "jobs.parquet").sort("job_id")["start"].to_list() == starts
        assert transom("check", log, out).status == 0
    refused = transom("check", log, out, "--merge-partitions")
    assert (refused.status, "another workload" in refused.err) == (2, True)
    assert transom("simulate", log, "--rules", "cqsim", "--json").lines[0]["machine"] == "merged"
