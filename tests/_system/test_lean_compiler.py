"""What is taken out of the compiler changes nothing of the code that it makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.compiler import Flags

from transom._system.compiler_flags import quick
from transom.models.arrays import IntArray

# The code of each function that Python calls, with the compiler as it is or as we leave it.
COMPILING = """
import json, re, sys
from transom import Knapsack, Stop, solve
from transom._system import entry_points, lean_compiler

if sys.argv[1] == "whole":
    lean_compiler.make_lean = lambda: None
around, made = entry_points._around, []

def noted(result, *given):
    library = around(result, *given)
    made.append([result.fndesc.qualname, re.sub(r"; ModuleID.*", "", str(library._final_module))])
    return library

entry_points._around = noted
solve(Knapsack([3, 4, 5], [2, 3, 4], 6), "greedy", Stop(iterations=1))
print(json.dumps(made))
"""


def compiled(how: str, folder: Path) -> list[list[str]]:
    command = [sys.executable, "-c", COMPILING, how]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


def test_the_code_is_that_of_the_whole_compiler(tmp_path: Path) -> None:
    lean, whole = compiled("lean", tmp_path / "lean"), compiled("whole", tmp_path / "whole")
    assert len(lean) > 3
    assert [name for name, _ in lean] == [name for name, _ in whole]
    assert lean == whole


def test_variables_are_listed_in_their_order() -> None:
    from numba.core import ir

    from transom._system.lean_compiler import make_lean

    place, scope = ir.Loc("nowhere", 1), ir.Scope(None, ir.Loc("nowhere", 1))
    a, b, c = (ir.Var(scope, name, place) for name in "abc")
    make_lean()
    call = ir.Expr.call(a, [b, c], [("by", a)], place)
    assert [each.name for each in call.list_vars()] == ["a", "b", "c", "a"]
    assert [each.name for each in ir.Assign(call, c, place).list_vars()] == ["a", "b", "c", "a", "c"]


def test_a_declaration_that_comes_with_a_module_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transom._system.compiling import compiled as kernel

    (tmp_path / "declared_late.py").write_text(
        "from numba.extending import overload\n"
        "def twice(x):\n    raise NotImplementedError\n"
        "@overload(twice)\ndef _twice(x):\n    return lambda x: 2 * x\n"
    )

    @kernel
    def before(x: int) -> int:
        return x + 1

    assert before(1) == 2
    monkeypatch.syspath_prepend(str(tmp_path))
    from declared_late import twice

    @kernel
    def after(x: int) -> int:
        return twice(x) + 1

    assert after(3) == 7


def test_a_declaration_that_comes_with_a_type_is_found() -> None:
    from transom._system.compiling import compiled as kernel

    @kernel
    def before(x: int) -> int:
        return x + 1

    # The compiler declares what searches in a sorted array when it first meets one.
    @kernel
    def after(x: IntArray) -> int:
        return int(np.searchsorted(x, 2))

    assert before(1) == 2
    assert after(np.array([1, 2, 3])) == 1


def test_options_are_equal_to_the_same_options_and_to_nothing_else() -> None:
    flags = Flags()
    flags.nrt = True
    assert quick(flags) == flags
    assert quick(flags) != Flags()
    assert quick(Flags()) == Flags()
    nothing: object = None
    assert quick(flags) != nothing
