from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import typeof

from transom._system.argument_types import described, example, type_of
from transom._system.building import BuildError, Interpreter, build, interpreter
from transom._system.compiling import compiled, watched
from transom._system.records import record


class Pair(NamedTuple):
    keys: np.ndarray
    most: int


class Progress:
    entry: int
    bound: float


def _values() -> list[Any]:
    matrix = np.arange(12).reshape(3, 4)
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    return [
        1,
        np.int64(2),
        1.5,
        np.float64(2.5),
        True,
        np.True_,
        None,
        matrix,
        matrix.T,
        matrix[::2, ::2],
        matrix[:, 0],
        fixed,
        np.zeros(3, np.uint8),
        Pair(matrix[0], 3),
        (1, 2.0),
        record(Progress),
        np.random.default_rng(1),
    ]


@pytest.mark.parametrize("value", _values(), ids=lambda value: type(value).__name__)
def test_a_description_gives_a_value_of_the_same_type_again(value: Any) -> None:
    description = json.loads(json.dumps(described(value)))
    assert typeof(example(description)) == typeof(value)
    assert json.loads(json.dumps(described(example(description)))) == description


def test_values_that_compiled_code_takes_differently_have_different_keys() -> None:
    values = _values()
    for i, one in enumerate(values):
        for other in values[:i]:
            if type_of(one) == type_of(other):
                assert described(one) == described(other)


@pytest.mark.parametrize("value", [{}, "text", np.int32(1), [1]])
def test_other_types_have_no_description(value: Any) -> None:
    with pytest.raises(TypeError):
        described(value)


@compiled
def _inner(x: int) -> int:
    return x + 1


@compiled
def _outer(values: np.ndarray, x: int) -> int:
    return _inner(x) + len(values)


def test_what_python_calls_is_seen_and_what_functions_call_is_not() -> None:
    with watched() as calls:
        assert _outer(np.zeros(2), 1) == _outer(np.ones(3), 0) + 0 == 4
        _outer(np.zeros((2, 2)).T[0], 1)
    assert calls == {
        f"{__name__}._outer": [
            [["array", "<f8", 1, "C", True], "int"],
            [["array", "<f8", 1, "A", True], "int"],
        ]
    }
    assert _outer(np.zeros(2), 1) == 4


SORTED = """
import sys
import numpy as np
from transom._system.sorting import stable_order

keys = np.array([3, 1, 2])
for keys in (np.array([3, 1, 2]), np.array([3, 0, 1, 0, 2])[::2]):
    print(stable_order(keys).tolist(), "numba" in sys.modules)
"""


@pytest.mark.slow
def test_a_function_that_was_built_needs_no_compiler_and_other_types_take_it(tmp_path: Path) -> None:
    place = "from transom._system.prebuilt import native_folder; print(native_folder())"
    given = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    given["XDG_CACHE_HOME"] = str(tmp_path)
    found = subprocess.run([sys.executable, "-c", place], env=given, capture_output=True, text=True, check=True)
    told: list[tuple[int, int]] = []
    functions = {"transom._system.sorting.stable_order": [[["array", "<i8", 1, "C", True]]]}
    folders = {Path(found.stdout.strip()): interpreter(sys.executable)}
    build(functions, folders, "native", 1, lambda done, of: told.append((done, of)))
    assert told == [(0, 1), (1, 1)]
    run = subprocess.run([sys.executable, "-c", SORTED], env=given, capture_output=True, text=True, check=True)
    assert run.stdout == "[1, 2, 0] False\n[1, 2, 0] True\n"
    run = subprocess.run(
        [sys.executable, "-c", SORTED],
        env={**given, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "[1, 2, 0] True\n[1, 2, 0] True\n"


def test_what_cannot_be_built_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    functions = {"transom._system.sorting.stable_order": [["none"]]}
    with pytest.raises(BuildError, match="kernels__system: "):
        build(
            functions,
            {tmp_path / "made": Interpreter("cpython-311", ".so", tmp_path)},
            "native",
            1,
            lambda done, of: None,
        )
    assert not list(tmp_path.iterdir())


def test_an_interpreter_that_is_not_there_or_has_no_headers_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"python0\.0 does not run"):
        interpreter("python0.0")
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\necho \'["cpython-399", ".so", "{tmp_path}"]\'\n')
    bare.chmod(0o755)
    with pytest.raises(BuildError, match=r"has no headers .*Python\.h"):
        interpreter(str(bare))
