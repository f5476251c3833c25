"""``python -m benchmarks.deepjs``: its tables and figures, from a small trace."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.deepjs.__main__ import main
from benchmarks.deepjs.replays import against
from tests.cli.commands.test_train_learned_priority import TASKS
from tests.cli.conftest import Ran, transom
from transom.simulation.placement.replay import simulate_tasks
from transom.traces.tasks import parse_machines, read_tasks

__all__ = ["transom"]

MACHINES = "count=5,cpu=64,memory=1"


def test_chunks_are_counted_and_tested() -> None:
    found = against(np.array([1, 2, 3, 4, 5, 6]), np.array([2, 3, 3, 5, 6, 1]))
    assert (str(found), found.p) == ("4 / 1 / 1", 0.375)
    assert against(np.array([1]), np.array([1])).p == 1


@pytest.mark.long
def test_a_second_run_reads_what_the_first_one_has_replayed(
    tmp_path: Path, transom: Callable[..., Ran], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, model, rows = tmp_path / "tasks.csv", tmp_path / "seed-2", tmp_path / "rows.csv"
    head, *lines = TASKS.splitlines()
    many = [line.split(",") for _ in range(4) for line in lines]  # 32 jobs, of up to 500 instances a task
    for k, fields in enumerate(many):
        fields[4], fields[6] = str(k // 3), str(40 * int(fields[6]))
    trace.write_text("\n".join([head, *(",".join(fields) for fields in many)]) + "\n")
    trained = transom(
        "train", "deepjs", trace, "--jobs", 10, "--steps", 2, "--episodes", 2, "--seed", 2, "--out", model
    )
    assert trained.status == 0, trained.err
    words = [str(trace), "--model", str(model), "--literal", str(model), "--apart", f"{model},{model}", "--first", "1"]
    words += ["--last", "2", "--factors", "1.5", "--pairs", "50", "--figures", str(tmp_path), "--rows", str(rows)]
    monkeypatch.setattr(sys, "argv", ["deepjs", *words])
    main()
    first = capsys.readouterr().out
    kept = rows.read_bytes()
    with rows.open() as file:
        found = {
            int(row["chunk"]): int(row["makespan"])
            for row in csv.DictReader(file)
            if (row["policy"], row["rules"], row["factor"]) == ("longest-first", "textbook", "1")
        }
    chunks = list(read_tasks(trace, parse_machines([MACHINES])).chunks(10))
    assert found == {k: simulate_tasks(chunks[k], "longest-first").makespan for k in (0, 1, 2)}
    assert "better than first-fit on" in first
    assert f"{'seed-2 and seed-2':44}     50     1.00" in first
    assert {path.name for path in tmp_path.glob("*.png")} == {f"deepjs_figure_{k}.png" for k in (4, 5, 6, 7)}
    main()
    assert capsys.readouterr().out == first
    assert rows.read_bytes() == kept
