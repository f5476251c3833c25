from __future__ import annotations

import sys

import pytest

from transom.cli.output.console import print_json, print_table

ROWS = [["somewhere/very_long_name.jsonl:17", "128,375,960", "0.003"], ["b", "1", "12.000"]]


@pytest.mark.parametrize("columns", ["30", "80", "300"])
def test_no_width_breaks_a_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table("A title", ["instance", "mean bounded slowdown", "gap [%]"], ROWS)
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert "A title" in lines[0]
    assert [line.split() for line in lines[-3:-1]] == ROWS
    assert ("mean bounded slowdown" in shown) == (columns != "30")


def test_plain_text_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ["name", "number"], [["a", "1"]])
    assert capsys.readouterr().out == "\n name   number\n ─────────────\n a           1\n\n"


def test_json_has_no_number_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": (2,)})
    assert capsys.readouterr().out == '{"a":null,"b":[null,1.5],"c":[2]}\n'
