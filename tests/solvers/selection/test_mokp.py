"""Published fronts of multi-objective knapsacks, point for point."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom import Stop, check, solve
from transom.io.mokp import read_kirlik


@pytest.mark.reference
def test_the_fronts_of_kirlik_and_sayin_are_reproduced(shared: Path) -> None:
    """One capacity, three to five objectives, up to 50 items."""
    paths = sorted((shared / "instances" / "mokp").glob("kirlik_*.dat"))
    assert len(paths) >= 40
    for path in paths:
        problem = read_kirlik(path)
        lines = path.with_suffix(".front.txt").read_text(encoding="utf-8").splitlines()
        published = {tuple(-int(float(number)) for number in line.split()) for line in lines if line.strip()}
        result = solve(problem, "pareto-dp", Stop(seconds=600))
        assert result.status == "optimal", path.name
        assert check(problem, result) == []
        assert {tuple(value) for value in result.solution.values.tolist()} == published, path.name
