"""Other packages stay as they are: nothing of theirs is replaced, and only what they promise to keep is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "transom"
EXEMPT = PACKAGE / "_system" / "kernel_cache.py"
"""It says why."""

SETTINGS = {"torch.backends.cudnn.deterministic"}
"""Attributes of other packages that are there to be set."""

DOCUMENTED = {"_replace", "_asdict", "_fields", "_make", "_field_defaults", "_exit", "_repr_html_"}
"""Names with an underscore that are documented: those of named tuples, ``os._exit``, and what notebooks ask for."""

LEFT = {("_system/signals.py", "_signal")}
"""Module and private name of others that is used, where it says why; the list may only shrink."""


@cache
def modules() -> dict[str, ast.Module]:
    """The modules of the package that are not exempt, by path."""
    paths = sorted(path for path in PACKAGE.rglob("*.py") if path != EXEMPT)
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text()) for path in paths}


def foreign(tree: ast.Module) -> dict[str, str]:
    """What a module imports from other packages and calls by a name of its own, and what it makes of that."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(each.asname or each.name.partition(".")[0]): each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {(each.asname or each.name): f"{node.module}.{each.name}" for each in node.names}
    found = {name: what for name, what in found.items() if what.partition(".")[0] not in ("transom", "__future__")}
    for node in ast.walk(tree):  # an attribute under another name
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and (root(node.value) in found):
            found |= {each.id: ast.unparse(node.value) for each in node.targets if isinstance(each, ast.Name)}
    return found


def root(node: ast.expr) -> str | None:
    """The name that an expression of attributes begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in DOCUMENTED


def defined() -> set[str]:
    """Names that the package gives to functions, classes, variables, fields and parameters."""
    found = set()
    for node in (each for tree in modules().values() for each in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and root(node) in ("self", "cls"):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def changed(tree: ast.Module) -> Iterator[str]:
    """Attributes of what a module imports from other packages that it sets, deletes or has set."""
    theirs = foreign(tree).keys() - {"sys"}  # whose streams may be closed
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            target: ast.expr = node
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr"):
            target = node.args[0]
        else:
            continue
        if root(target) in theirs:
            yield ast.unparse(node)


def private(tree: ast.Module) -> Iterator[str]:
    """Private names that a module imports from other packages or looks up, as an attribute or by a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (part for each in node.names for part in each.name.split(".") if is_private(part))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] != "transom":
            yield from (each for each in f"{node.module}.{node.names[0].name}".split(".") if is_private(each))
            yield from (each.name for each in node.names if is_private(each.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr":
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and is_private(name.value):
                yield name.value


def test_nothing_of_other_packages_is_replaced() -> None:
    found = {(path, each) for path, tree in modules().items() for each in changed(tree)}
    assert {(path, each) for path, each in found if each not in SETTINGS} == set()


def test_private_names_of_other_packages_are_not_used() -> None:
    ours = defined()
    found = {(path, each) for path, tree in modules().items() for each in private(tree) if each not in ours}
    assert found == LEFT


def test_what_is_looked_for_is_found() -> None:
    tree = ast.parse(
        "import _signal\nimport numba as n\nfrom numba.core.lowering import Lower\nfrom typer._typing import thing\n"
        "Lower.storevar = None\nn.config.OPT = 0\nalias = n.core\nalias.x = 1\nsetattr(Lower, 'a', 1)\n"
        "made = Lower()\nmade._blocks\ngetattr(n, '_hidden')\n"
    )
    assert sorted(changed(tree)) == ["Lower.storevar", "alias.x", "n.config.OPT", "setattr(Lower, 'a', 1)"]
    assert sorted(private(tree)) == ["_blocks", "_hidden", "_signal", "_typing"]
