"""Values are checked, numbers are digits, and durations may have units."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran
from transom.cli.app import command_line
from transom.cli.options.digits import DURATION


def test_what_is_given_is_checked(transom: Callable[..., Ran], root: Path) -> None:
    packs = root / "instances" / "windows" / "lublin.jsonl"
    for option, value in (("--seed", "x"), ("--seconds", "soon"), ("--threads", "0"), ("--iterations", "1.5")):
        ran = transom("solve", packs, "--solver", "greedy", option, value)
        assert (ran.status, ran.out) == (2, "")
        assert option in ran.err
        assert value in ran.err


@pytest.mark.parametrize("value", ["1_0", " 7", "7 ", "٣", "1_0.5", "\u00a07"])
@pytest.mark.parametrize("option", ["--seed", "--seconds", "--iterations"])
def test_numbers_are_digits(transom: Callable[..., Ran], root: Path, option: str, value: str) -> None:
    packs = root / "instances" / "windows" / "lublin.jsonl"
    given = ("bench", "plan", "smoke") if option == "--iterations" else ("solve", packs, "--solver", "greedy")
    ran = transom(*given, option, value)
    assert (ran.status, ran.out) == (2, "")
    assert f"{option}: expected " in ran.err
    assert repr(value) in ran.err


def test_every_option_of_seconds_takes_a_unit(transom: Callable[..., Ran], root: Path) -> None:
    found = {option.opts[0]: option for option in _options(command_line()) if option.metavar == DURATION}
    for name in ("--period", "--warm-up", "--cool-down", "--jitter", "--tau", "--gap", "--seconds", "--lease"):
        assert name in found
    for option in found.values():
        several = option.multiple
        assert option.process_value(None, ["30m"] if several else "30m") == ([1800] if several else 1800)
    packs = root / "instances" / "windows" / "lublin.jsonl"
    ran = transom("solve", packs, "--solver", "greedy", "--seconds", "1 hour")
    assert (ran.status, ran.out) == (2, "")
    assert "--seconds: expected seconds, or a number with a unit: 90, 90s, 30m (minutes)" in ran.err


def test_ranges_of_durations(transom: Callable[..., Ran], tmp_path: Path) -> None:
    given = ("generate", "tjap", "--epochs", "1", "--periods", "3", "--seed", "1")
    for k, runtimes in enumerate(("60-1800", "1m-30m")):
        assert transom(*given, "--out", tmp_path / f"{k}.jsonl", "--runtimes", runtimes).status == 0
    assert (tmp_path / "0.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes()
    ran = transom(*given, "--out", tmp_path / "2.jsonl", "--runtimes", "1m-long")
    assert (ran.status, ran.out) == (2, "")
    assert "--runtimes: in '1m-long', expected whole seconds" in ran.err


def _options(command: Any) -> list[Any]:
    below = getattr(command, "commands", {}).values()
    return [*command.params, *(option for each in below for option in _options(each))]
