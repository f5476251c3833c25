from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.cli.conftest import Ran

ALONE = ("simulate", "solve", "check", "snapshot", "report", "solvers", "models", "schema")
GROUPS = {
    "generate": ("workload", "knapsack", "selection", "tjap", "csp", "dataset"),
    "bench": ("run", "plan", "score", "compare", "portfolio"),
    "library": ("list", "add", "remove", "update", "verify"),
    "train": ("nsa", "nsa-cost", "dras"),
}
HEAVY = ("numpy", "numba", "scipy", "ortools", "pyscipopt", "pymoo", "polars", "matplotlib", "msgspec")


@pytest.mark.parametrize(
    ("words", "commands"), [((), (*ALONE, *GROUPS)), *(((name,), GROUPS[name]) for name in GROUPS)]
)
def test_help_lists_the_commands(
    transom: Callable[..., Ran], words: tuple[str, ...], commands: tuple[str, ...]
) -> None:
    for ran in (transom(*words, "--help"), transom(*words)):
        assert (ran.status, ran.err) == (0, "")
        assert all(f"\n  {command} " in ran.out for command in commands)


@pytest.mark.parametrize("command", [*ALONE, *(f"{name} {each}" for name in GROUPS for each in GROUPS[name])])
def test_each_command_has_help(transom: Callable[..., Ran], command: str) -> None:
    ran = transom(*command.split(), "--help")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: transom {command} ")
    assert "--json" in ran.out or command.split()[0] in ("report", "library")


def test_help_imports_nothing_heavy() -> None:
    program = f"import sys; from transom.cli import run; run(['--help']); print(sys.modules.keys() & set({HEAVY!r}))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "set()"
