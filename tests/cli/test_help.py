from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.cli.conftest import Ran

COMMANDS = ("simulate", "solve", "check", "snapshot", "generate", "solvers", "models", "schema")
HEAVY = ("numpy", "numba", "scipy", "ortools", "pyscipopt", "pymoo", "polars", "matplotlib", "msgspec")


def test_help_lists_the_commands(transom: Callable[..., Ran]) -> None:
    for ran in (transom("--help"), transom()):
        assert (ran.status, ran.err) == (0, "")
        assert all(f"\n  {command} " in ran.out for command in COMMANDS)


@pytest.mark.parametrize(
    "command", [*COMMANDS, *(f"generate {kind}" for kind in ("workload", "knapsack", "tjap", "csp"))]
)
def test_each_command_has_help(transom: Callable[..., Ran], command: str) -> None:
    ran = transom(*command.split(), "--help")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: transom {command} ")
    assert "--json" in ran.out or command == "generate"


def test_help_imports_nothing_heavy() -> None:
    program = f"import sys; from transom.cli import run; run(['--help']); print(sys.modules.keys() & set({HEAVY!r}))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "set()"
