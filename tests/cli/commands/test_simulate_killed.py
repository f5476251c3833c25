"""``simulate --out`` is killed at its writes; the same command then ends with what an undisturbed one leaves."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Ran
from tests.killing import POINTS, kill_and_resume, killed, tree
from transom.generate import generate_lublin
from transom.traces import write_swf

Transom = Callable[..., Ran]

OPTIONS = ["--policy", "fcfs-easy", "--policy", "random", "--jitter", "60", "--repeats", "2"]
"""Writes decisions, jobs and twice repeats.json of each policy: eight files before the figures."""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "small.swf.gz"
    write_swf(generate_lublin(150, 64, np.random.default_rng(1), load=0.9), path)
    return path


@pytest.fixture
def undisturbed(transom: Transom, trace: Path, tmp_path: Path) -> Callable[..., dict[str, bytes]]:
    def run(*options: object) -> dict[str, bytes]:
        folder = tmp_path / "whole"
        shutil.rmtree(folder, ignore_errors=True)
        assert transom("simulate", trace, *options, "--out", folder).status == 0
        return tree(folder)

    return run


def test_a_killed_run_goes_on(transom: Transom, trace: Path, tmp_path: Path, undisturbed: Callable) -> None:
    expected = undisturbed(*OPTIONS, "--no-figures")
    arguments = ["simulate", trace, *OPTIONS, "--no-figures", "--out", tmp_path / "out"]
    assert kill_and_resume(transom, arguments, expected, "writing 4")


def replace_and_kill(transom: Transom, trace: Path, out: Path, wanted: dict[int, dict[str, bytes]], at: str) -> bool:
    """A record of seed 0 is replaced by one of seed 1 and the process killed; then both seeds in either order."""
    point, number = at.split()
    command = ["simulate", trace, "--policy", "random", "--no-figures", "--out", out, "--seed"]
    for seeds in ((0,), (1,), (0, 1)):
        shutil.rmtree(out, ignore_errors=True)
        assert transom(*command, 0).status == 0
        if not killed(point, int(number), [*command, 1]):
            return False
        for seed in seeds:
            assert transom(*command, seed).status == 0
            assert tree(out) == wanted[seed], f"{at}: seed {seed}"
    return True


@pytest.fixture
def both(transom: Transom, trace: Path, tmp_path: Path, undisturbed: Callable) -> dict[int, dict[str, bytes]]:
    return {seed: undisturbed("--policy", "random", "--no-figures", "--seed", seed) for seed in (0, 1)}


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_a_run_killed_at_any_write_goes_on(
    transom: Transom, trace: Path, tmp_path: Path, undisturbed: Callable, point: str
) -> None:
    options = [*OPTIONS, "--policy", "fcfs-conservative", "--format", "svg"]
    expected = undisturbed(*options)
    arguments = ["simulate", trace, *options, "--out", tmp_path / "out"]
    number = 1
    while kill_and_resume(transom, arguments, expected, f"{point} {number}"):
        number += 1
    assert number - 1 >= len(expected), "every file was killed at"


@pytest.mark.long
@pytest.mark.parametrize("point", [*POINTS, "removing"])
def test_records_never_mix_wherever_a_run_is_killed(
    transom: Transom, trace: Path, tmp_path: Path, both: dict[int, dict[str, bytes]], point: str
) -> None:
    assert both[0] != both[1]
    number = 1
    while replace_and_kill(transom, trace, tmp_path / "out", both, f"{point} {number}"):
        number += 1
    assert number > 1
