"""What a command takes before it answers: CPU time, user and system, of whole processes with their children.

    python -m benchmarks.startup            # bytecode and compiled kernels are there; and without bytecode
    python -m benchmarks.startup --cold     # also with an empty cache of kernels, which takes minutes
    python -m benchmarks.startup --python /elsewhere/bin/python     # of an environment with an installed wheel
    python -m benchmarks.startup --all-kernels   # what it takes to compile all kernels that a wheel holds, nothing else

"compiler" says whether a command imports it. Each command runs once unseen, then `--rounds` times; the least counts.
Figures of one table are of one moment of one machine.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import transom
from transom._system.compiling import compiled
from transom.cli.output.console import number, print_table

INSTANCES = Path(__file__).parents[1] / "instances"
FILES = {
    "knapsack": "windows/lublin.jsonl",
    "scas": "tjap/small.jsonl",
    "dcas": "tjap/small.jsonl",
    "free": "tjap/small.jsonl",
    "selection": "selection/replay.jsonl.gz",
    "csp": "csp/random.jsonl.gz",
}
RULES = {"scas": "static", "dcas": "dynamic", "free": "free"}
PLAIN = (
    "--help",
    "solvers",
    "models",
    "schema",
    "library list --library {library}",
    "bench run --help",
    "bench plan --instances {knapsack} --solver dp",
    "bench plan smoke",
    "report --help",
    "check {knapsack} {result}",
)
KERNELS = (
    "simulate {trace} --policy fcfs-easy",
    "solve {knapsack} --solver dp",
    "solve {scas} --solver scas-dp",
    "solve {csp} --solver csp-dp",
    "solve {knapsack}",
    "solve {scas}",
    "solve {dcas}",
    "solve {free}",
    "solve {selection}",
    "solve {knapsack} --solver cpsat",
    "solve {knapsack} --solver scip",
)


# Compiles what Python calls, and what that calls, for types of arguments as a wheel has them.
EVERYTHING = """
import json, sys
from importlib import import_module
from numba import typeof
from transom._system.argument_types import example

for name, calls in json.load(sys.stdin).items():
    home, _, own = name.rpartition(".")
    for types in calls:
        getattr(import_module(home), own).compile(tuple(typeof(example(each)) for each in types))
"""


def main() -> None:
    """Print a row for each command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", action="store_true", help="also with an empty cache of kernels")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that runs the commands")
    parser.add_argument("--only", default="", help="commands that hold this text")
    parser.add_argument("--all-kernels", action="store_true", help="what it takes to compile the kernels, alone")
    arguments = parser.parse_args()
    if arguments.all_kernels:
        all_kernels()
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        given = dict(small(Path(folder)))
        start = Started(arguments.python, folder)
        start.seconds([*f"solve {given['knapsack']} --solver dp --out".split(), given["result"]])
        for name in (*PLAIN, *KERNELS):
            if arguments.only not in name:
                continue
            command = name.format(**given).split()
            warm = min([start.seconds(command) for _ in range(arguments.rounds + 1)][1:])
            # A place for bytecode where there is none, and where none is written.
            bare = start.seconds(command, PYTHONPYCACHEPREFIX=f"{folder}/none", PYTHONDONTWRITEBYTECODE="1")
            cells = [
                "transom " + re.sub(r"{(\w+)}", lambda found: found[1].upper(), name),
                number(warm, 2),
                number(bare, 2),
                "yes" if "numba" in start.imports(command) else "no",
            ]
            if arguments.cold:
                with tempfile.TemporaryDirectory() as empty:
                    cells.append(number(start.seconds(command, XDG_CACHE_HOME=empty), 1) if name in KERNELS else "")
            rows.append(cells)
    headings = ["command", "warm [s]", "no bytecode [s]", "compiler", *(["no kernels [s]"] if arguments.cold else [])]
    print_table("CPU time of a process and its children", headings, rows)


class Started(NamedTuple):
    """How commands of ours are started."""

    python: str
    folder: str

    def seconds(self, arguments: list[str], **environment: str) -> float:
        """CPU time of a command and of its children [s]."""
        before = os.times()
        self._run(arguments, **environment)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    def imports(self, arguments: list[str]) -> set[str]:
        """The packages that a command imports, by the names of their modules."""
        return set(re.findall(r"\| +(\w+)", self._run(arguments, PYTHONPROFILEIMPORTTIME="1")))

    def _run(self, arguments: list[str], **environment: str) -> str:
        given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            [self.python, "-m", "transom", *arguments],
            env={**given, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"transom {' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
        return done.stderr


def all_kernels() -> None:
    """Print what a process takes that finds no compiled kernels, beyond what it takes when it runs again."""
    run = [sys.executable, "-W", "ignore"]
    printed = subprocess.run([*run, "-m", "transom.foreseen"], stdout=subprocess.PIPE, check=True).stdout
    functions = printed.splitlines()[-1]  # after the steps that it took
    taken = []
    with tempfile.TemporaryDirectory() as empty:
        for _ in range(2):
            before = os.times()
            environment = {**os.environ, "XDG_CACHE_HOME": empty}
            subprocess.run([*run, "-c", EVERYTHING], input=functions, env=environment, check=True)
            after = os.times()
            taken.append(after.children_user + after.children_system - before.children_user - before.children_system)
        kept = {path.name.split("-")[0] for path in (Path(empty) / "transom" / "kernels").glob("*.nbc")}
    missing = sorted(_names() - kept)
    print(f"{taken[0] - taken[1]:.1f} s of CPU for {len(kept)} kernels ({taken[1]:.1f} s to load them again)")
    print(f"{len(missing)} are not reached: {', '.join(missing)}")


def _names() -> set[str]:
    """The kernels of the package, as their files in the cache are called."""
    names = set()
    for module in pkgutil.walk_packages(transom.__path__, "transom."):
        if module.name.endswith("__main__"):
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ModuleNotFoundError:  # of an extra that is not installed
            continue
        for each in vars(loaded).values():
            if isinstance(each, compiled):
                names.add(f"{each.__module__}.{each.__qualname__}")
    return names


def small(folder: Path) -> Iterator[tuple[str, str]]:
    """The first instance of bundled files, in files of their own; where a result goes; a trace."""
    for name, path in FILES.items():
        data = (INSTANCES / path).read_bytes()
        text = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
        line = text.partition("\n")[0].replace('"rule":"static"', f'"rule":"{RULES.get(name)}"')
        kept = folder / f"{name}.jsonl"
        kept.write_text(line + "\n")
        yield name, str(kept)
    yield "library", str(INSTANCES)
    yield "result", str(folder / "result.jsonl")
    yield "trace", str(INSTANCES / "workloads" / "lublin_5000.swf.gz")


if __name__ == "__main__":
    main()
