from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran

ALONE = ("demo", "simulate", "solve", "check", "conform", "snapshot", "report", "solvers", "models", "schema")
GROUPS = {
    "generate": ("workload", "knapsack", "selection", "tjap", "csp", "placement", "workflow", "joint", "dataset"),
    "bench": ("run", "plan", "score", "compare"),
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
    for option in ("--json", "-q, --quiet", "-v, --verbose", "--wide"):
        assert f"\n  {option} " in ran.out


def test_help_imports_nothing_heavy() -> None:
    program = f"import sys; from transom.cli import run; run(['--help']); print(sys.modules.keys() & set({HEAVY!r}))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "set()"


WITHOUT_COMPILER = (
    ("--help",),
    ("solvers",),
    ("models",),
    ("schema",),
    ("library", "list"),
    ("report", "--help"),
    ("bench", "run", "--help"),
    ("bench", "plan", "--instances", "instances/windows/lublin.jsonl"),
    ("bench", "plan", "smoke", "--quiet"),
    ("check", "instances/windows/lublin.jsonl", "RESULT"),
)


@pytest.mark.parametrize("words", WITHOUT_COMPILER, ids=lambda words: " ".join(words[:2]))
def test_what_computes_nothing_imports_no_compiler(root: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    if "RESULT" in words:
        result = tmp_path / "result.jsonl"
        solving = ["solve", str(root / words[1]), "--solver", "dp", "--out", str(result)]
        subprocess.run([sys.executable, "-m", "transom", *solving], capture_output=True, check=True)
        words = (*words[:-1], str(result))
    program = f"import sys; from transom.cli import run; run({words!r}); print({{'numba', 'scipy'}} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert (ran.stdout.splitlines()[-1], ran.stderr) == ("set()", "")


def test_a_command_brings_no_other_one() -> None:
    program = "import sys; from transom.cli import run; run(['bench', 'run', '-h']); print(*sorted(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    brought = ran.stdout.splitlines()[-1].split()
    assert [each for each in brought if each.startswith("transom.cli.commands.")] == ["transom.cli.commands.bench_run"]


def test_short_options(transom: Callable[..., Ran]) -> None:
    assert transom("-V").out == transom("--version").out
    assert transom("-h").out == transom("--help").out
    assert transom("bench", "run", "-h").out == transom("bench", "run", "--help").out


def test_values_have_names_and_lists_of_commands_whole_sentences(transom: Callable[..., Ran]) -> None:
    for command in [*ALONE, *(f"{name} {each}" for name in GROUPS for each in GROUPS[name])]:
        text = transom(*command.split(), "--help").out
        assert not re.search(r"<(list\[)?(str|int|float|path|Path)\b", text), command
        assert not re.search(r"\w-\n|\{[A-Z]", text), command  # no name is cut, and no argument stands in braces
        assert max(map(len, text.splitlines())) <= 80
    for name in ("", *GROUPS):
        assert "..." not in transom(*name.split(), "--help").out.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("transom solve --solver scas-", ["scas-cpsat", "scas-dp", "scas-flow", "scas-lagrangian", "scas-scip"]),
        ("transom simulate --policy mine=fcfs", ["mine=fcfs", "mine=fcfs-conservative", "mine=fcfs-easy"]),
        ("transom solve --problem d", ["dcas"]),
        ("transom solve --decide k", ["knee"]),
        ("transom simulate --cost-model p", ["paper"]),
        ("transom solve --objective wai", ["wait", "waited"]),
        ("transom bench p", ["plan"]),
    ],
)
def test_a_shell_completes_names(words: str, completed: list[str]) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert _completion("complete_bash", **asked).split() == completed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str) -> None:
    assert f"complete_{shell}" in _completion(f"source_{shell}")


def _completion(task: str, **asked: str) -> str:
    program = "import sys; sys.argv = ['transom']; from transom.cli import main; main()"
    environment = {**os.environ, "_TRANSOM_COMPLETE": task, **asked}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment).stdout
