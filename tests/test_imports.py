"""The shape of the house: imports point downwards, and there is no cycle."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

# From the bottom; what stands on one line does not import its neighbours.
LAYERS = [
    {"errors", "reading"},
    {"_system"},
    {"models", "class_files"},
    {"stop", "rng", "registry"},
    {"result", "problems"},
    {"solving", "reductions"},
    {"solvers", "heuristics", "traces", "io"},
    {"simulation"},
    {"generate", "forecast"},
    {"learned"},
    {"bench", "plot"},
    {"adapters", "conform", "report", "slurm", "testing", "tune"},
    {"cli"},
    {"__main__", "foreseen"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# Rooms within a layer, each with what it may take of its neighbours; a room's own rooms stand above it.
ROOMS = {
    "solvers.backends": set(),
    "solvers.knapsack": {"solvers.backends"},
    "solvers.selection": {"solvers.backends"},
    "solvers.allocation": {"solvers.backends"},
    "solvers.allocation.dcas": {"solvers.backends", "solvers.allocation"},
    "solvers.allocation.free": {"solvers.backends", "solvers.allocation", "solvers.allocation.dcas"},
    "solvers.placement": {"solvers.backends"},
    "solvers.workflow": {"solvers.backends"},
    "solvers.path": {"solvers.backends", "solvers.allocation"},
    "solvers.auto": {"solvers.knapsack", "solvers.allocation"},  # the sizes of their tables
    "heuristics": set(),
    "heuristics.knapsack": {"heuristics"},
    "heuristics.selection": {"heuristics"},
    "heuristics.allocation": {"heuristics"},
    "heuristics.placement": set(),
    "heuristics.workflow": set(),
    "traces": set(),
    "traces.records": {"traces", "traces.records.pbs", "traces.records.slurm_text"},
    "traces.records.slurm_text": {"traces", "traces.records"},
    "traces.records.pbs": {"traces", "traces.records"},
    "simulation.core": set(),
    "simulation.passes": {"simulation.core"},
    "simulation.nodes": {"simulation.core"},
    "simulation.policies": {"simulation.core", "simulation.passes"},
    "simulation.placement": set(),
    "simulation.workflows": {"simulation.core", "simulation.output"},
    "simulation.locked": {"simulation.core"},
    "simulation.output": {"simulation.core", "simulation.nodes"},
    "learned.dras.process": {"learned"},
    "learned.dras.training": {"learned", "learned.training", "learned.dras.process"},
    "learned.dras.agent": {"learned", "learned.dras.process", "learned.dras.training"},
    "learned.training": {"learned"},
    "learned.kernel": {"learned", "learned.training"},
    "learned.mars": {"learned", "learned.training", "learned.kernel"},
    "learned.priority": {"learned", "learned.training"},
    "learned.deepjs": {"learned", "learned.training"},
    "bench.plan": set(),
    "bench.store": {"bench.plan"},
    "bench.run": {"bench.plan", "bench.store"},
    "bench.score": {"bench.plan", "bench.store"},
    "bench.best_known": {"bench.store"},
}

MODULES = 25  # in a room, at most


def modules(package: Path) -> dict[str, Path]:
    """Dotted name of every module of the package."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def statements(path: Path, also_for_types: bool) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """All statements of a file that import."""
    tree = ast.parse(path.read_text())
    if not also_for_types:
        tree = _WithoutTypeChecking().visit(tree)
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def imports(path: Path, known: dict[str, Path], also_for_types: bool) -> set[str]:
    """The package's modules that a file imports, wherever in the file it does so."""
    found = set()
    for node in statements(path, also_for_types):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else str(node.module))
    return {name for name in found if name in known}


class _WithoutTypeChecking(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" else node


@pytest.fixture(scope="module")
def known() -> dict[str, Path]:
    return modules(Path(__file__).resolve().parents[1] / "transom")


def test_imports_point_downwards(known: dict[str, Path]) -> None:
    wrong = []
    for name, path in known.items():
        if name == "transom":
            continue  # the package itself re-exports, on first use
        here = name.split(".")[1]
        assert here in LEVEL, f"{name} stands in no layer"
        for other in imports(path, known, also_for_types=True):
            there = other.split(".")[1] if other != "transom" else here
            if there != here and LEVEL[there] >= LEVEL[here]:
                wrong.append(f"{name} -> {other}")
    assert wrong == []


def room(name: str) -> str:
    """The folder that a module stands in, below the package."""
    return ".".join(name.split(".")[1:-1])


def test_rooms_take_of_their_neighbours_what_is_theirs_to_take(known: dict[str, Path]) -> None:
    wrong = []
    for name, path in known.items():
        here = room(name)
        for other in imports(path, known, also_for_types=True):
            there = room(other)
            neighbours = here != there and here.split(".")[0] == there.split(".")[0]
            if neighbours and here in ROOMS and there in ROOMS and there not in ROOMS[here]:
                wrong.append(f"{name} -> {other}")
    assert wrong == []


def test_no_private_name_crosses_a_folder(known: dict[str, Path]) -> None:
    wrong = []
    for name, path in known.items():
        for node in statements(path, True):
            if not isinstance(node, ast.ImportFrom) or node.module not in known or room(node.module) == room(name):
                continue
            names = [*node.module.split(".")[2:], *(each.name for each in node.names)]
            wrong += [f"{name} -> {node.module}.{each}" for each in names if re.match("_[^_]", each)]
    assert wrong == []


def test_solve_and_check_need_no_bench(known: dict[str, Path]) -> None:
    for command in ("solve", "check"):
        reached = reached_from(f"transom.cli.commands.{command}", known)
        assert [each for each in reached if each.startswith("transom.bench")] == []


def reached_from(name: str, known: dict[str, Path]) -> set[str]:
    """All modules that come with one, except those that the packages' ``__init__`` hand out on first use."""
    found, open_ = {name}, [name]
    while open_:
        here = open_.pop()
        new = {each for each in imports(known[here], known, also_for_types=False) if each != "transom"} - found
        found |= new
        open_ += new
    return found


def test_no_folder_is_crowded(known: dict[str, Path]) -> None:
    sizes = Counter(room(name) for name, path in known.items() if path.name != "__init__.py")
    assert {name for name, size in sizes.items() if name and size > MODULES} == set()


def test_there_is_no_cycle(known: dict[str, Path]) -> None:
    graph = {name: imports(path, known, also_for_types=True) - {name, "transom"} for name, path in known.items()}
    # A package's __init__ that hands names out on first use has no arrow to them.
    state: dict[str, int] = {}

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if state.get(name) == 2:
            return
        assert state.get(name) != 1, " -> ".join([*trail[trail.index(name) :], name])
        state[name] = 1
        for other in sorted(graph[name]):
            visit(other, (*trail, name))
        state[name] = 2

    for name in graph:
        visit(name, ())


def test_importing_the_package_is_light() -> None:
    import subprocess
    import sys

    code = "import sys, transom; print([m for m in ('numpy', 'numba', 'polars', 'ortools') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
