"""Callers of a large kernel get its declaration, and run its code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STEPS = range(2, 140)
LINES = "".join(f"    x = (x ^ (x * {step})) & 65535\n" for step in STEPS)
KERNELS = f"""
from transom._system.compiling import compiled, inlined

@compiled
def large(x):
    if x < 0:
        raise ValueError("negative")
{LINES}    return x

@inlined
def into_callers(x):
{LINES}    return x

@compiled
def small(x):
    return large(x) + 1

@compiled
def first(x):
    return small(x) * 2

@compiled
def second(x):
    return small(x) + large(x + 1)

@compiled
def third(x):
    return into_callers(x) + 1

@compiled
def pure(x):
{LINES}    return x

@compiled
def fourth(x):
    return pure(x) + 1

def library(kernel):
    (made,) = kernel.overloads.values()
    return made.library

def defined(module):
    return [name for name in ("large", "into_callers") for each in module.functions
            if name in each.name and not each.is_declaration]

def findings(module):
    return [each.decode() for function in module.functions if "pure" in function.name for each in function.attributes]
"""


def run(folder: Path, command: str) -> str:
    environment = {"XDG_CACHE_HOME": str(folder), "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    command = f"from kernels import *\n{command}"
    done = subprocess.run([sys.executable, "-B", "-c", command], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def plain(x: int) -> int:
    for step in STEPS:
        x = (x ^ (x * step)) & 65535
    return x


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a cache of kernels that all tests share."""
    folder = tmp_path_factory.mktemp("linking")
    (folder / "kernels.py").write_text(KERNELS)
    return folder


def test_the_code_of_a_large_kernel_is_optimised_once_and_runs_in_all_callers(folder: Path) -> None:
    small = plain(5) + 1
    command = "print(first(5), defined(library(small).part.code), defined(library(small)._final_module))"
    assert run(folder, command) == f"{2 * small} [] ['large']\n"
    # `large` and `small` come out of the cache here, and `second` is compiled; then all come out of it.
    for _ in range(2):
        assert run(folder, "print(second(5), first(5))") == f"{small + plain(6)} {2 * small}\n"
    assert run(folder, "print(small(5), large(5))") == f"{small} {plain(5)}\n"


def test_a_kernel_that_is_to_be_inlined_goes_into_its_callers_whatever_its_size(folder: Path) -> None:
    command = "print(third(5), defined(library(into_callers).part.code), defined(library(third)._final_module))"
    assert run(folder, command) == f"{plain(5) + 1} ['into_callers'] []\n"


def test_an_exception_comes_out_of_a_large_kernel(folder: Path) -> None:
    caught = "try:\n    print(first(-1))\nexcept ValueError as error:\n    print(error)"
    for _ in range(2):
        assert run(folder, caught) == "negative\n"


def test_callers_know_what_the_optimiser_found_out_about_a_large_kernel(folder: Path) -> None:
    found = run(folder, "fourth(5)\nprint(library(pure).part.code, *findings(library(fourth).part.code))")
    assert found.startswith("None ")
    assert "nounwind" in found
    assert "memory(argmem: write)" in found
