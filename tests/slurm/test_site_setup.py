"""What an administrator sets up, as the documentation names it: the script of job_submit/lua, and the service."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.account import assert_accounted
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.driving import Drive, asked_nodes

__all__ = ["transom"]

EXAMPLES = Path(__file__).parents[2] / "examples" / "slurm"
PLUGIN = Path("/usr/lib/x86_64-linux-gnu/slurm-wlm/job_submit_lua.so")
LONG = 120.0
"""Longest wait [s] on a machine that is busy."""


def test_the_script_is_lua() -> None:
    compiler = next(filter(None, map(shutil.which, ("luac5.1", "luac5.3", "luac5.4", "luac"))), None)
    if compiler is None:
        pytest.skip("there is no Lua compiler here")
    done = subprocess.run(
        [compiler, "-p", str(EXAMPLES / "job_submit.lua")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_systemd_takes_the_service(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    text = (EXAMPLES / "transom.service").read_text()
    program = tmp_path / "transom"  # which must exist to be verified
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "transom.service").write_text(text.replace("/opt/transom/bin/transom", str(program)))
    command = ["systemd-analyze", "verify", str(tmp_path / "transom.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG)
    told = [line for line in done.stderr.splitlines() if "transom.service" in line]
    assert (done.returncode, told) == (0, []), done.stderr


def test_the_service_and_the_pages_name_commands_as_they_are(transom: Callable[..., Ran]) -> None:
    """Their options exist, and the service ends with the log that it began with."""
    unit = (EXAMPLES / "transom.service").read_text().replace("\\\n", " ")
    lines = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and not line.startswith("#"))
    run, release = (shlex.split(lines[name].lstrip("-"))[1:] for name in ("ExecStart", "ExecStopPost"))
    assert (run[:2], release[:2]) == (["slurm", "run"], ["slurm", "release"])
    log = release[-1]
    assert (run[run.index("--audit") + 1], log.startswith("/var/lib/transom/")) == (log, True)
    assert (lines["Type"], lines["KillMode"], lines["StateDirectory"]) == ("notify", "mixed", "transom")
    page = (EXAMPLES.parents[1] / "docs" / "slurm.md").read_text()
    stated = re.findall(
        r"^ *(?:\*/5 \* \* \* \* )?transom (slurm (?:run|release|replay|score) [^#\n>|]+)", page, re.MULTILINE
    )
    assert len(stated) > 5
    for words in (run, release, *map(shlex.split, stated)):
        ran = transom(*words, "--help")
        assert (ran.status, ran.err) == (0, ""), words
    assert transom(*run, "--no-such", "--help").status == 2


def with_lua(start: Callable[..., EmulatedSlurm], lease: int) -> EmulatedSlurm:
    if not PLUGIN.exists():
        pytest.skip(f"{PLUGIN} is not installed")

    def write(folder: Path) -> None:
        text = (EXAMPLES / "job_submit.lua").read_text()
        assert "LEASE = 600" in text
        (folder / "job_submit.lua").write_text(text.replace("LEASE = 600", f"LEASE = {lease}"))

    return start(nodes=4, leaf=0, settings={"JobSubmitPlugins": "lua"}, before=write)


def told(slurm: EmulatedSlurm, job: int) -> tuple[str, bool]:
    """The comment of a job, and whether its begin time is after its submission."""
    asked = ("squeue", "-h", "--states=all", "-j", str(job), "-o")  # it may have run meanwhile
    comment = slurm.run(*asked, "%k").strip()
    at = slurm.run(*asked, "%V %S").split()
    return comment, at[0] < at[1]


def test_where_transom_was_never_started_slurm_has_all_jobs(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = with_lua(emulated_slurm, 5)
    jobs = [slurm.submit("true", "-N", str(size), "-t", "1") for size in (1, 4)]
    assert [told(slurm, job) for job in jobs] == [("transom", True)] * 2
    slurm.wait(lambda: [slurm.states()[job] for job in jobs] == ["COMPLETED"] * 2, "Slurm has run all jobs", LONG)


@pytest.mark.long
def test_jobs_of_the_partition_are_driven(emulated_slurm: Callable[..., EmulatedSlurm]) -> None:
    slurm = with_lua(emulated_slurm, 400)
    jobs = [slurm.submit("true", "-N", str(size), "-t", "1") for size in (1, 4)]
    spoken = slurm.submit("true", "-N2", "-t1", "--comment=of mine")
    held = slurm.submit("true", "-H", "-N2", "-t1")
    past = slurm.submit("true", "-N2", "-t1", "--begin=now")
    assert told(slurm, spoken)[0] == "transom of mine"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(slurm.folder / "notify"))
    with (
        listener,
        Drive(slurm, "--select", "partition=main", "--no-holds", NOTIFY_SOCKET=listener.getsockname()) as drive,
    ):
        slurm.wait(
            lambda: [slurm.states()[job] for job in (*jobs, spoken, past)] == ["COMPLETED"] * 4, "all have run", LONG
        )
        listener.settimeout(LONG)
        assert [listener.recv(100) for _ in range(2)] == [b"READY=1", b"WATCHDOG=1"]
        late = slurm.submit("sleep 600", "-N4", "-t20", "--begin=now")
        slurm.wait(lambda: slurm.states()[late] == "RUNNING", "the machine is full", LONG)
        waiting = slurm.submit("true", "-N1", "-t1")

        def leased() -> bool:
            last = drive.lines("act")[-1]
            return str(waiting) in last["jobs"] and drive.lines("done")[-1]["number"] == last["number"]

        slurm.wait(leased, "it is under lease", LONG)
    # In order, all jobs are given back; what a user holds stays held.
    assert told(slurm, waiting)[0] == "transom"
    assert drive.lines("end")[0]["given_back"] == [str(waiting)]
    assert slurm.run("squeue", "-h", "-j", str(held), "-o", "%r").strip() == "JobHeldUser"
    slurm.run("scancel", str(late))
    slurm.wait(lambda: slurm.states()[waiting] == "COMPLETED", "Slurm starts it", LONG)
    assert asked_nodes(drive.audit).keys() == {str(job) for job in (*jobs, spoken)}
    assert_accounted(slurm, drive.audit)
