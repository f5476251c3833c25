"""``python -m benchmarks.mars``: its table, from a small trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.mars import COSTS, main
from tests.learned.mars.made import trace
from transom.learned.checkpoints import load
from transom.learned.mars.choosing import RULES
from transom.traces import write_swf


def test_the_table_has_heuristics_and_mars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="needs the extra learned")
    write_swf(trace(), tmp_path / "small.swf")
    short = "--updates 1 --batch 1 --length 20 --validation 2 --validation-length 30"
    words = [str(tmp_path / "small.swf"), "--first", "200", "--length", "25", "--train", short]
    main([*words, "--out", str(tmp_path / "out")])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    table = {cells[1].strip(" `"): cells[2].strip() for cells in (row.split("|") for row in rows)}
    policies = [*RULES, *(f"mars-{cost:g}" for cost in COSTS), "mars-learned"]
    assert list(table)[2:-1] == policies
    values = {name: float(table[name].replace(",", "")) for name in policies}
    assert min(values.values()) >= 1
    assert load(tmp_path / "out" / "small" / "mars.safetensors", "mars").card.trained_on.endswith("its first 140 jobs")
    best = min(values[rule] for rule in RULES)
    assert float(list(table.values())[-1]) == pytest.approx(100 * (values["mars-0"] / best - 1), abs=0.5)
