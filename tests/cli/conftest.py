"""Run commands as a user would, inside this process."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.cli import run
from transom.generate import generate_lublin
from transom.traces import write_swf

SMALL_SPACE = """
[[family]]
policy = "{rule}-easy:max_wait={bound}"
population = 4
rule = ["saf", "sjf"]
bound = { low = 0.1, high = 3, log = true, whole = true, unit = "longest" }
"""


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of JSON on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def transom(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command with these arguments, which never says how far it is because it takes long here."""
    monkeypatch.setattr("transom.cli.output.progress_lines.EVERY", math.inf)

    def command(*arguments: object) -> Ran:
        capsys.readouterr()
        status = run([str(argument) for argument in arguments])
        return Ran(status, *capsys.readouterr())

    return command


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 jobs of the Lublin-Feitelson model on 64 nodes."""
    path = tmp_path_factory.mktemp("trace") / "small.swf.gz"
    write_swf(generate_lublin(300, 64, np.random.default_rng(1), load=0.9), path)
    return path


@pytest.fixture
def trace_to_tune(transom: Callable[..., Ran], tmp_path: Path) -> Path:
    """400 jobs, and beside them ``space.toml``, a small space to search."""
    path = tmp_path / "trace.swf"
    made = transom("generate", "workload", "--jobs", 400, "--nodes", 64, "--load", 0.95, "--seed", 1, "--out", path)
    assert made.status == 0
    (tmp_path / "space.toml").write_text(SMALL_SPACE)
    return path
