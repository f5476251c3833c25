"""OR-Library's multi-dimensional knapsacks."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from transom import check, solve
from transom.errors import DocumentError
from transom.io import read_documents, read_mknap
from transom.models import Selection

TWO = "2\n 3 2 13\n 5 6 7\n 4 5 6\n 1 2 3\n 10 8\n2 1 0 1.5 2 0.25 3 3.25\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mknap.txt"
    path.write_text(text)
    return path


def test_problems_with_decimals_become_selections(tmp_path: Path) -> None:
    path = written(tmp_path, TWO)
    first = Selection([[4, 1], [5, 2], [6, 3]], [10, 8], [[5], [6], [7]], terms=["profit"])
    second = Selection([[25], [300]], [325], [[15], [20]], terms=["profit"], scales=[10])
    expected = [(f"{path}:1", first), (f"{path}:2", second)]
    assert list(read_mknap(path)) == list(read_documents(path)) == expected
    result = solve(first)
    assert result.solution is not None
    assert (result.solution.values.tolist(), check(first, result)) == ([[12]], [])
    packed = tmp_path / "mknap.txt.gz"
    packed.write_bytes(gzip.compress(TWO.encode()))
    assert [problem for _, problem in read_documents(packed)] == [first, second]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", "mknap.txt:1: expected the number of problems, got the end of the file"),
        ("1.5", "mknap.txt:1: expected the number of problems, got '1.5'"),
        (TWO.replace("13", "x"), "mknap.txt:2: expected the optimum, got 'x'"),
        (TWO.replace("4 5", "-4 5"), "mknap.txt:4: expected a weight, got '-4'"),
        (TWO[:-5], "mknap.txt:7: expected a capacity, got the end of the file"),
        (TWO + "7", "mknap.txt:8: expected the end of the file, got '7'"),
        (TWO.replace("5 6 7", f"5 6 {10**17}"), r"mknap.txt:1: .* 2\*\*53"),
        (TWO.replace("5 6 7", f"5.000000001 6 {10**17}"), "mknap.txt:1: .*too (large|big)"),
        ("999999999 999999999 1 0", "mknap.txt:1: expected a profit, got the end of the file"),
    ],
)
def test_errors_name_the_line_or_the_problem(tmp_path: Path, text: str, condition: str) -> None:
    with pytest.raises(DocumentError, match=condition):
        list(read_mknap(written(tmp_path, text)))
