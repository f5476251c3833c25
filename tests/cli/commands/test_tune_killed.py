"""``transom tune``, ended in the middle of a search, resumes: nothing is replayed twice, and it chooses alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from tests.killing import killed

AFTER = 150
"""So many lines of the journal are written when the search ends."""


@pytest.fixture
def trace(trace_to_tune: Path) -> Path:
    return trace_to_tune


def arguments(trace: Path, out: str) -> list[object]:
    few = ["--evaluations", 250, "--space", trace.parent / "space.toml", "--no-figures"]
    return ["tune", trace, *few, "-o", trace.parent / out]


def journal(trace: Path, out: str) -> list[bytes]:
    path = trace.parent / f"{out}.evaluations.jsonl"
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def policy(trace: Path, out: str) -> str:
    """The file, but for the name of it that its first line states."""
    return (trace.parent / out).read_text().replace(f"tuned:file={out}", "")


def undisturbed(transom: Callable[..., Ran], trace: Path) -> tuple[str, list[bytes]]:
    """What is printed, and the journal."""
    done = transom(*arguments(trace, "whole.toml"), "--workers", 1)
    assert done.status == 0, done.err
    return done.out, sorted(journal(trace, "whole.toml"))


def assert_resumes(transom: Callable[..., Ran], trace: Path, expected: tuple[str, list[bytes]]) -> None:
    before = [line for line in journal(trace, "tuned.toml") if line.endswith(b"\n")]
    assert AFTER <= len(before) < len(expected[1])
    assert b":max_wait=" in before[-1]  # a policy of the space: the fixed rules are done
    assert not (trace.parent / "tuned.toml").exists()
    done = transom(*arguments(trace, "tuned.toml"), "--workers", 1)
    assert done.status == 0, done.err
    assert done.out == expected[0]
    assert f"{len(before):,} replays are read from" in done.err
    lines = journal(trace, "tuned.toml")
    assert lines[: len(before)] == before
    assert sorted(lines) == expected[1]  # each replay once, whether before or after
    assert policy(trace, "tuned.toml") == policy(trace, "whole.toml")


@pytest.mark.parametrize(("point", "workers"), [("appending", 1), ("appended", 2)])
def test_a_search_that_was_killed_resumes(transom: Callable[..., Ran], trace: Path, point: str, workers: int) -> None:
    expected = undisturbed(transom, trace)
    assert killed(point, AFTER + 1, [*arguments(trace, "tuned.toml"), "--workers", workers])
    assert_resumes(transom, trace, expected)


def test_a_search_that_was_interrupted_says_so_in_a_line_and_resumes(transom: Callable[..., Ran], trace: Path) -> None:
    expected = undisturbed(transom, trace)
    words = [*arguments(trace, "tuned.toml"), "--workers", 2]
    words[words.index("--evaluations") + 1] = 10**7  # which would take hours
    command = [sys.executable, "-m", "transom", *map(str, words)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while len(journal(trace, "tuned.toml")) < AFTER and process.poll() is None:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, its workers too
        out, told = process.communicate()
    assert (process.returncode, out) == (130, ""), told
    assert told.splitlines()[-1] == "interrupted: what was finished is kept"
    assert "Traceback" not in told
    before = journal(trace, "tuned.toml")
    done = transom(*arguments(trace, "tuned.toml"), "--workers", 1)
    assert done.status == 0, done.err
    assert "replays are read from" in done.err
    assert policy(trace, "tuned.toml") == policy(trace, "whole.toml")
    lines = journal(trace, "tuned.toml")
    assert lines[: len(before)] == before
    assert len(set(lines)) == len(lines)
    assert set(expected[1]) <= set(lines)
