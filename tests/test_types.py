"""A strict type checker accepts every example in README, docs and examples as a user would write it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import transom
from tests.test_docs import FENCE, PACKAGES, PAGES, ROOT


@pytest.mark.slow
def test_examples_are_typed(tmp_path: Path) -> None:
    for number, page in enumerate(PAGES):
        blocks = [match[3] for match in FENCE.finditer(page.read_text(encoding="utf-8")) if match[2] == "python"]
        if page.name in PACKAGES:  # which its blocks import
            module = f"{PACKAGES[page.name]}.py"
            (tmp_path / module).write_bytes((ROOT / "tests" / "packages" / PACKAGES[page.name] / module).read_bytes())
        if blocks:
            (tmp_path / f"page_{number}_{page.stem.replace('-', '_')}.py").write_text(
                "\n".join(blocks), encoding="utf-8"
            )
    (tmp_path / "examples").mkdir()
    for example in (ROOT / "examples").glob("*.py"):
        (tmp_path / "examples" / example.name).write_bytes(example.read_bytes())
    (tmp_path / "solutions.py").write_text(SOLUTIONS, encoding="utf-8")
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py"))
    assert len(files) > 12
    # What `make test` has found out about the package is not found out again: its settings, its cache.
    options = ["--strict", f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache'}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--explicit-package-bases", *files],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr


SOLUTIONS = """
from typing import assert_type

from transom import Allocation, Cluster, ConstrainedPath, FatTree, Knapsack, ParetoFront, Placement, Result, Selection
from transom import check, solve
from transom.models.arrays import BoolArray, IntArray

knapsack = Knapsack([3, 4], weights=(1, 2), capacity=2)
assert_type(knapsack.values, IntArray)
assert_type(solve(knapsack), Result[BoolArray])
assert_type(Cluster(4, ["gpu"], [2]).resources, tuple[str, ...])
assert_type(solve(Selection([[1, 2]], [3, 4], resources=["nodes", "gpu"], forced=[True])).solution, ParetoFront | None)
allocation = Allocation(FatTree([0, 0, 1], [0, 0, 0]), idle=range(3), sizes=[2])
assert_type(solve(allocation).solution, IntArray | None)
assert_type(solve(ConstrainedPath.from_allocation(allocation)).solution, IntArray | None)
assert_type(Placement([[4, 1]], [[1, 0]], [3], resources=["cpu", "memory"]).resources, tuple[str, ...])
assert_type(solve(Placement([[4, 1]], [[1, 0]], waiting=[3])).solution, IntArray | None)
anything: Result = solve(knapsack)
check(knapsack, anything)
"""


def test_every_name_is_where_it_is_looked_for() -> None:
    assert {name: getattr(transom, name).__name__ for name in transom.__all__} == {n: n for n in transom.__all__}
    assert set(transom.__all__) <= set(dir(transom))
    with pytest.raises(AttributeError, match="no attribute 'solves'"):
        transom.solves  # noqa: B018
