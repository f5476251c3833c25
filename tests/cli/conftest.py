"""Run commands as a user would, inside this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from transom.cli import run


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
def transom(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command with these arguments."""

    def command(*arguments: object) -> Ran:
        capsys.readouterr()
        status = run([str(argument) for argument in arguments])
        return Ran(status, *capsys.readouterr())

    return command
