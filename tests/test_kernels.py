"""How functions are to be read: annotated, with few parameters, checked without exceptions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "transom"
DECORATORS = {"compiled", "no_refcount", "inlined"}

PARAMETERS = 8  # of a function outside the command line, at most
LONG = {
    "engine.simulate",
    "envs.scheduling",
    "envs.scheduling_lanes",
    "envs.window",
    "fragmented.fragmented_allocation",
    "selections.family_selection",
}
"""Module and name of those that still have more; the list may only shrink."""

IGNORED = 26  # comments that silence the type checker, in the package, at most

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[Path, Function]]:
    """All functions of the package with their files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, Function):
                yield path, node


def parameters(function: Function) -> list[ast.arg]:
    """Those that a caller gives."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return named[1:] if named and named[0].arg in ("self", "cls") else named


def test_kernels_are_annotated() -> None:
    bare = set()
    for path, function in functions():
        names = {ast.unparse(each).split("(")[0].split(".")[-1] for each in function.decorator_list}
        if names & DECORATORS and (
            function.returns is None or any(not each.annotation for each in parameters(function))
        ):
            bare.add(path.stem)
    assert not bare


def test_functions_have_few_parameters() -> None:
    inside = [(path, each) for path, each in functions() if "cli" not in path.relative_to(PACKAGE).parts]
    assert {f"{path.stem}.{each.name}" for path, each in inside if len(parameters(each)) > PARAMETERS} == LONG


def test_the_type_checker_is_seldom_silenced() -> None:
    assert sum(path.read_text().count("type: ignore") for path in PACKAGE.rglob("*.py")) <= IGNORED
