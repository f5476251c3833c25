"""How functions are to be read: annotated, with few parameters, checked without exceptions."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "transom"
DECORATORS = {"compiled", "no_refcount", "inlined"}

PARAMETERS = 8  # of a function outside the command line, at most
LONG = {
    "engine.simulate",
}
"""Module and name of those that still have more; the list may only shrink."""

IGNORED = 26  # comments that silence the type checker, in the package, at most

MAKING = {"append", "arange", "array", "concatenate", "copy", "empty", "empty_like", "full", "ones", "where", "zeros"}
"""Functions and methods that make an array, where kernels call them."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> tuple[tuple[Path, ast.Module], ...]:
    """All files of the package, parsed."""
    return tuple((path, ast.parse(path.read_text())) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def functions() -> tuple[tuple[Path, Function], ...]:
    """All functions of the package with their files."""
    return tuple((path, node) for path, tree in modules() for node in ast.walk(tree) if isinstance(node, Function))


def parameters(function: Function) -> list[ast.arg]:
    """Those that a caller gives."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return named[1:] if named and named[0].arg in ("self", "cls") else named


def decorators(function: Function) -> set[str]:
    """Names of its decorators, without arguments and modules."""
    return {ast.unparse(each).split("(")[0].split(".")[-1] for each in function.decorator_list}


def test_kernels_are_annotated() -> None:
    bare = set()
    for path, function in functions():
        if decorators(function) & DECORATORS and (
            function.returns is None or any(not each.annotation for each in parameters(function))
        ):
            bare.add(path.stem)
    assert not bare


def test_kernels_without_reference_counts_make_no_arrays() -> None:
    # The compiler refuses one that does, in itself or in what it calls, unless another kernel has had that compiled.
    kernels, imported = {}, {}
    for path, tree in modules():
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                imported |= {(module, each.asname or each.name): (node.module, each.name) for each in node.names}
            elif isinstance(node, Function) and decorators(node) & DECORATORS:
                kernels[module, node.name] = node
    calls, making = {}, set()
    for key, kernel in kernels.items():
        called = [each.func for each in ast.walk(kernel) if isinstance(each, ast.Call)]
        named = [(key[0], each.id) for each in called if isinstance(each, ast.Name)]
        calls[key] = {found for each in named if (found := imported.get(each, each)) in kernels}
        if any(isinstance(each, ast.Attribute) and each.attr in MAKING for each in called):
            making.add(key)
    while more := {key for key, those in calls.items() if key not in making and those & making}:
        making |= more
    assert {key for key in making if decorators(kernels[key]) & {"no_refcount", "inlined"}} == set()


def test_functions_have_few_parameters() -> None:
    inside = [(path, each) for path, each in functions() if "cli" not in path.relative_to(PACKAGE).parts]
    assert {f"{path.stem}.{each.name}" for path, each in inside if len(parameters(each)) > PARAMETERS} == LONG


def test_the_type_checker_is_seldom_silenced() -> None:
    assert sum(path.read_text().count("type: ignore") for path in PACKAGE.rglob("*.py")) <= IGNORED
