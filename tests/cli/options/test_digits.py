"""Values are checked, and numbers are digits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran


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
    assert f"{option}: expected a" in ran.err
    assert repr(value) in ran.err
