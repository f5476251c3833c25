"""transom generate placement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Ran
from tests.generate.instances.test_placements import TASKS
from transom.io import read_placements


def test_the_command(transom: Callable[..., Ran], tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.csv"
    tasks.write_text(TASKS)
    out = tmp_path / "p.jsonl"
    ran = transom("generate", "placement", "--tasks", 4, "--machines", 2, "--number", 3, "--count", 2, "--out", out)
    assert (ran.status, ran.out) == (0, f"{out}: 2 placements\n")
    assert [problem.demands.shape for problem in read_placements(out)] == [(4, 3)] * 2
    ran = transom(
        "generate", "placement", "--like", tasks, "--cluster", "count=2,cpu=4,memory=1", "--out", out, "--json"
    )
    assert ran.status == 0
    assert next(read_placements(out)).waiting.tolist() == [9, 3]
    for arguments, says in (
        (["--like", tasks, "--tasks", 3], "--tasks does not go with --like"),
        (["--jobs", 3], "--jobs does not go with a family"),
        (["--like", tmp_path / "none.csv"], "none.csv: cannot be read"),
        (["--like", tasks, "--cluster", "cpu=1,memory=1"], "tasks.csv:2: cpu: fits on no machine"),
        (["--tightness", "nan"], "must be > 0"),
    ):
        ran = transom("generate", "placement", *arguments, "--out", out)
        assert ran.status == 2
        assert says in ran.err
        assert ran.err.count("\n") == 1
