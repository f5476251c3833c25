"""Golden schedules: proved by two programs that share no code, and run by commands of all kinds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conform.faulty_replay import replay as faulty
from tests.conform.test_judging import FAULTS
from tests.simulation import plain_replay
from tests.simulation.plain_outages import PlainReplay
from tests.simulation.plain_slurm import PlainJob, plain_slurm
from tests.simulation.test_engine import KEYS
from transom.conform.golden import BUNDLED, Golden, Prepared, digest, prepared, read_golden, run_case
from transom.errors import DocumentError, SpecError
from transom.simulation import simulate

CASES = {case.name: case for case in read_golden(BUNDLED)}
SMALL = {name: case for name, case in CASES.items() if case.starts}
REAL = {name: case for name, case in CASES.items() if case.digest}


def starts_of(case: Golden) -> dict[int, int]:
    return dict(map(tuple, case.starts))


def bounded(key: Callable[..., Any], bound: int, t: Any, now: int) -> Any:
    """The key of a rule under which jobs that have waited longer go first, in the order of submission."""
    return (0, t.job.submit, t.job.id) if now - t.job.submit > bound else (1, *key(t, now))


def plain(case: Golden, files: Prepared) -> dict[int, int]:
    """Starts by brute force, from jobs and policy alone."""
    name, _, settings = case.policy.partition(":")
    workload = files.workload
    jobs = [workload[i] for i in range(len(workload))]
    if name == "slurm-backfill":
        interval = int(settings.split(",")[0].removeprefix("interval="))
        listed = [PlainJob(t.job.id, t.job.submit, t.job.nodes, t.job.walltime, t.runtime) for t in jobs]
        return plain_slurm(listed, workload.cluster.num_nodes, interval, lambda job, running: True)
    rule, _, backfilling = name.partition("-")
    key = KEYS[rule]
    if settings.startswith("max_wait="):
        key = partial(bounded, KEYS[rule], int(settings.removeprefix("max_wait=")))
    elif settings == "depth=1":
        backfilling = "easy"  # which is what it means
    else:
        assert not settings
    if files.outages is not None:
        told = PlainReplay(workload, list(files.outages.rows), lambda t: key(t, 0), backfilling or "none").replay()
        return told.start
    return plain_replay.replay(workload, key, backfilling or "none")


def test_there_are_enough() -> None:
    assert len(SMALL) >= 30
    assert len(REAL) == 8
    assert len({case.rule for case in CASES.values()}) == len(CASES)
    assert all(len(case.starts) <= 8 and case.drawing for case in SMALL.values())


@pytest.mark.parametrize("name", SMALL)
def test_two_programs_prove_a_small_one(name: str, tmp_path: Path) -> None:
    case = SMALL[name]
    files = prepared(case, tmp_path, None)
    assert files is not None
    schedule = simulate(files.workload, case.policy, outages=files.outages)
    assert dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True)) == starts_of(case)
    assert plain(case, files) == starts_of(case)


@pytest.mark.reference
@pytest.mark.parametrize("name", REAL)
def test_two_programs_prove_a_real_one(name: str, shared: Path, root: Path, tmp_path: Path) -> None:
    case = REAL[name]
    traces = root / "instances" / "workloads" if name == "real-lublin-5000" else shared / "traces"
    files = prepared(case, tmp_path, traces)
    assert files is not None
    schedule = simulate(files.workload, case.policy)
    assert digest(dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))) == case.digest
    assert digest(plain(case, files)) == case.digest


@pytest.mark.parametrize("fault", FAULTS)
def test_some_case_shows_each_mistake_of_easy_backfilling(fault: str, tmp_path: Path) -> None:
    shown = []
    for name, case in SMALL.items():
        if case.policy != "fcfs-easy" or case.resources or case.outages:
            continue
        files = prepared(case, tmp_path, None)
        assert files is not None
        plain_jobs = not (files.workload.jobs.depends_on or files.workload.cluster.resources)
        if plain_jobs and faulty(files.workload, FAULTS[fault][0]) != starts_of(case):
            shown.append(name)
    assert shown


def command(program: str) -> list[str]:
    return [sys.executable, "-c", program]


HOSTILE = {
    "prints nothing": ("pass", "failed", "printed nothing"),
    "prints garbage": ("print(chr(0) * 5, 'x')", "failed", "expected the columns job and start"),
    "prints no table": ("print('no job here')", "failed", "expected the columns job and start"),
    "prints words": ("print('job,start\\n1,soon')", "failed", "row 1: start must be a number"),
    "prints other jobs": ("print('job,start\\n77,0')", "failed", "no job of the start times"),
    "prints too much": ("while True: print('1' * 1000000)", "failed", "ended with status"),
    "fails": ("raise SystemExit('out of luck')", "failed", "ended with status 1: out of luck"),
    "refuses": ("raise SystemExit(77)", "skipped", "not supported"),
    "leaves out a job": ("print('job,start\\n1,0')", "differs", "never"),
    "starts all at once": ("print('job,start\\n1,0\\n2,1\\n3,2')", "differs", "capacity exceeded"),
    "starts a job twice": ("print('job,start\\n1,0\\n2,20\\n3,2\\n1,90')", "differs", "restarted"),
    "is right": ("print('job,start\\n1,0\\n2,20\\n3,2')", "passed", ""),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_command_is_judged_whatever_it_does(what: str, tmp_path: Path) -> None:
    program, status, says = HOSTILE[what]
    came = run_case(CASES["easy-ends-before"], command(program), 600, tmp_path)
    assert came.status == status
    assert says in came.says
    assert "\n" not in came.says


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(3600)'])"
    came = run_case(CASES["easy-ends-before"], command(program), 0.5, tmp_path)
    assert (came.status, came.says) == ("failed", "ran out of time")


def test_no_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be run"):
        run_case(CASES["easy-ends-before"], ["./absent"], 5, tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "missing 2 required"),
        ("rule = 1", "unknown key or type"),
        ('rule = "x"\npolicy = "fcfs"\n', "swf or trace"),
        ('rule = "x"\npolicy = "fcfs"\nswf = "1"\nstarts = [1]', "pairs of job and start"),
    ],
)
def test_a_case_that_is_none_is_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(text)
    with pytest.raises(DocumentError, match=says):
        read_golden(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no golden schedules"):
        read_golden(tmp_path)
