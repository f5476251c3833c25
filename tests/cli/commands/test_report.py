from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.progress import Progress

from tests.cli.conftest import Ran
from tests.report.rows import solves
from transom.bench.store.frame import to_frame
from transom.bench.store.parquet import write_part
from transom.bench.store.store import Store


def test_its_bar_ends_at_the_number_of_figures(
    tmp_path: Path, transom: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Progress(disable=True)
    monkeypatch.setattr("transom.cli.commands.report.progress", lambda: shown)
    rows = tmp_path / "rows.parquet"
    write_part(rows, to_frame([*solves(3, 1, (1.0,))]))
    assert transom("report", rows, "-o", tmp_path / "page.html").status == 0
    (task,) = shown.tasks
    assert task.finished
    assert task.completed == task.total
    assert task.completed > 1


def test_the_command_writes_page_and_figures(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    store, single, page = tmp_path / "store", tmp_path / "rows.parquet", tmp_path / "out" / "page.html"
    with Store(store) as opened:
        for row in solves(2, 1, (1.0,)):
            opened.append(row)
    write_part(single, to_frame([*solves(3, 1, (1.0,))]))
    ran = transom("report", store, single, "-o", page, "--title", "Two", "--figures", tmp_path / "figures")
    assert (ran.status, ran.out) == (0, f"{page}\n")
    assert "9 runs; " in ran.err
    html = page.read_text(encoding="utf-8")
    assert "<h1>Two</h1>" in html
    assert "6 runs in several of the results given" in html
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"knapsack-1-s-profile.svg", "knapsack-1-s-profile.pdf"} <= names
    assert len(names) == 2 * 5, names


def test_what_cannot_be_done_is_one_line(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    (tmp_path / "file").touch()
    for arguments, words in (
        ([tmp_path / "none"], "no such file"),
        ([tmp_path / "file"], "file"),
        ([tmp_path / "none", "-o", tmp_path / "page.txt"], "must end in .html"),
        ([tmp_path / "none", "-o", tmp_path / "file" / "page.html"], "file: is a file, not a folder"),
        ([tmp_path / "none", "--figures", tmp_path / "file"], "file: is a file, not a folder"),
    ):
        out = [] if "-o" in arguments else ["-o", tmp_path / "page.html"]
        ran = transom("report", *arguments, *out)
        assert (ran.status, ran.out) == (2, "")
        assert words in ran.err
        assert ran.err.count("\n") == 1
    assert not (tmp_path / "page.html").exists()
