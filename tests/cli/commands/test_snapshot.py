from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.cli.conftest import Ran
from transom.generate import generate_lublin
from transom.io import read_documents
from transom.models import Window
from transom.simulation import simulate
from transom.traces import Workload, cut, read_swf, write_swf

Transom = Callable[..., Ran]


def windows(path: Path) -> list[Window]:
    return [document for _, document in read_documents(path) if isinstance(document, Window)]


def waiting(workload: Workload, policy: str, now: int) -> list[int]:
    schedule = simulate(workload, policy)
    return schedule.jobs.id[(schedule.jobs.submit <= now) & (schedule.start >= now)].tolist()


def test_windows_are_those_of_the_replay(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "windows.jsonl.gz"
    ran = transom("snapshot", trace, "--every", 3600, "--minimum", 3, "--out", out, "--start", 10, "--jobs", 250)
    assert ran.status == 0
    found = windows(out)
    assert ran.out == f"{out}: {len(found)} windows\n"
    assert "small: 250 jobs on 64 nodes" in ran.err
    assert len(found) > 5
    workload = cut(read_swf(trace), 10, 250)
    for window in found:
        assert len(window.queue) >= 3
        assert window.queue.id.tolist() == waiting(workload, "fcfs-easy", window.now)
        assert window.free_nodes + window.running.nodes.sum() == 64
        started = dict(zip(workload.jobs.id.tolist(), simulate(workload, "fcfs-easy").start.tolist(), strict=True))
        ends = [started[job.id] + job.walltime for job in window.running]
        assert window.running_end.tolist() == [max(end, window.now + 1) for end in ends]
    assert (np.diff([window.now for window in found]) > 0).all()


def test_windows_on_a_tree_tell_idle_nodes_and_become_allocations(
    transom: Transom, trace: Path, tmp_path: Path
) -> None:
    base = ["snapshot", trace, "--every", 3600, "--minimum", 3, "--jobs", 150, "--cluster", "fat-tree:leaf=4,pod=16"]
    plain, chosen = tmp_path / "plain.jsonl", tmp_path / "chosen.jsonl"
    assert transom(*base, "--out", plain).status == 0
    assert transom(*base, "--out", chosen, "--allocate", "best-fit").status == 0
    for one, other in zip(windows(plain), windows(chosen), strict=True):
        assert one.idle is not None
        assert other.idle is not None
        assert len(one.idle) == len(other.idle) == one.free_nodes
        assert one.cluster.topology is not None
        assert (one.queue, one.running) == (other.queue, other.running)
    assert any(
        not np.array_equal(one.idle, other.idle) for one, other in zip(windows(plain), windows(chosen), strict=True)
    )
    assert transom("solve", plain, "--problem", "scas", "--solver", "sequential").status == 0
    for bad, says in (
        (["--allocate", "best-fit"], "--allocate needs --cluster"),
        (["--cluster", "torus"], "unknown cluster 'torus'"),
        (["--cluster", "fat-tree:k=8", "--allocate", "dp"], "solves Knapsack problems"),
    ):
        ran = transom("snapshot", trace, "--every", 3600, "--out", tmp_path / "no.jsonl", *bad)
        assert (ran.status, ran.out) == (2, "")
        assert says in ran.err.splitlines()[-1]


def test_order_and_limit(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "windows.jsonl"
    base = ["snapshot", trace, "--every", 3600, "--minimum", 5, "--limit", 4, "--out", out]
    ran = transom(*base, "--policy", "sjf-easy", "--json")
    assert {key: ran.lines[0][key] for key in ("windows", "policy", "out")} == {
        "windows": 4, "policy": "sjf-easy", "out": str(out),
    }  # fmt: skip
    assert all((np.diff(window.queue.walltime) >= 0).all() for window in windows(out))  # the policy's own order
    assert transom(*base, "--policy", "sjf-easy", "--order", "largest").status == 0
    assert all((np.diff(window.queue.nodes) <= 0).all() for window in windows(out))


def test_an_order_that_goes_by_what_has_ended_is_refused(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "windows.jsonl"
    base = ["snapshot", trace, "--every", 3600, "--policy", "f4-predicted-easy", "--out", out]
    ran = transom(*base)
    assert ran.status == 2
    says = "error: windows cannot be in the order of f4-predicted: formula: predicted is known in replays alone; name"
    assert says in ran.err
    assert not out.exists()
    assert transom(*base, "--order", "saf").status == 0


def test_solve_takes_the_windows(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "windows.jsonl"
    transom("snapshot", trace, "--every", 7200, "--policy", "window:solver=greedy,size=5", "--out", out, "--seed", 3)
    ran = transom("solve", out, "--solver", "dp", "--objective", "wait", "--json")
    assert len(ran.lines) == len(windows(out)) > 1
    assert {line["status"] for line in ran.lines} == {"optimal"}


def test_no_window_with_so_many_jobs(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "windows.jsonl"
    ran = transom("snapshot", trace, "--every", 3600, "--minimum", 10_000, "--out", out)
    assert ran.status == 2
    assert f"error: {trace}: no window has 10000 waiting jobs; the longest queue has" in ran.err
    assert not out.exists()


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    trace, out = tmp_path / "long.swf.gz", tmp_path / "windows.jsonl"
    write_swf(generate_lublin(20_000, 64, np.random.default_rng(1), load=1.1), trace)
    command = ["snapshot", str(trace), "--every", "60", "--out", str(out), "--policy", "window:solver=dp,size=10"]
    with subprocess.Popen(
        [sys.executable, "-c", "from transom.cli import main; main()", *command], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert any("20,000 jobs on 64 nodes" in line for line in process.stderr)
        time.sleep(1.0)  # in the middle of the replay, which takes far longer
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == 130
        assert process.stderr.read().splitlines()[-1] == "interrupted: what was finished is kept"
    assert [path.name for path in tmp_path.iterdir()] == ["long.swf.gz"]
