"""Projects of PSPLIB and Patterson: what they say, and one line for what is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from transom import Stop, read_workflows, solve
from transom.cli import run
from transom.errors import DocumentError
from transom.io import read_documents

PATTERSON = """
6 2
3 2
0 0 0 3 2 3 4
4 2 0 1
5
3 2 1 1 6
5 1 1 1 6
4 0 2 1 6
0 0 0 0
"""


def test_a_project_of_psplib(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (made,) = read_workflows(root / "examples" / "small.sm")
    assert (made.name, made.tasks, made.resources) == ("small", ("1", "2", "3", "4", "5", "6"), ("R1", "R2"))
    assert made.runtimes.tolist() == [0, 4, 3, 5, 4, 0]
    assert made.demands.tolist() == [[0, 0], [2, 0], [2, 1], [1, 1], [0, 2], [0, 0]]
    assert made.edges.tolist() == [[0, 1], [0, 2], [0, 3], [1, 4], [2, 5], [3, 5], [4, 5]]
    assert made.machine is not None
    assert made.machine.tolist() == [6, 3, 2]
    packed = tmp_path / "small.sm.gz"
    packed.write_bytes(gzip.compress((root / "examples" / "small.sm").read_bytes().replace(b"\n", b"\r\n") + b"\x1a"))
    assert list(read_workflows(packed)) == [made]
    other = tmp_path / "small.rcp"
    other.write_text(PATTERSON)
    assert list(read_workflows(other)) == [made]
    result = solve(made, "auto", Stop(seconds=20))
    assert (result.status, result.value) == ("optimal", 11)
    assert run(["solve", str(packed), "--problem", "workflow", "--solver", "heft", "--json"]) == 0
    assert '"value":' in capsys.readouterr().out
    assert run(["simulate", str(other), "--policy", "fcfs", "--json"]) == 0


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("   2        1          1 ", "   2        3          1 ", ":20: job 2 has 3 modes; projects of several modes"),
        (
            "nonrenewable              :  0",
            "nonrenewable              :  2",
            ": resources that are nonrenewable are not",
        ),
        (
            "  2      1     4       2    0",
            "  2      1     4       2",
            ":30: job 2: expected mode, duration and 2 requests",
        ),
        ("  2      1     4       2    0", "  3      1     4       2    0", ":31: job 3 stands twice"),
        ("  2      1     4       2    0\n", "", ": job 2 of 6 stands in no line of REQUESTS/DURATIONS"),
        ("          5\n", "          7\n", ":20: job 2: 7 is no job, there are 6, from 1"),
        (
            "          5\n",
            "          5   6\n",
            ":20: job 2: expected its modes, the number of its successors and these",
        ),
        ("          5\n", "          x\n", ":20: expected whole numbers >= 0, got str 'x'"),
        ("          5\n", "          1\n", ": workflow: tasks wait for each other in a cycle: "),
        ("    3    2\n", "    3\n", ":38: states 1 availabilities of 2 renewable resources"),
        ("    3    2\n", "    1    2\n", ": workflow: task '2' needs 2 of R1, the machine has 1"),
        ("4      0       12", "4      3       12", ":15: a project that is released at 3 is not read"),
        ("sink ):  6", "sink ):  " + "9" * 15, ": job 7 of 999999999999999 stands in no line of PRECEDENCE RELATIONS"),
        pytest.param("sink ):  6", f"sink ):  {'9' * 5000}", ":6: expected whole numbers >= 0, got str", id="long"),
        ("PRECEDENCE", "PRE", ": holds no PRECEDENCE RELATIONS; expected a project of PSPLIB (.sm)"),
    ],
)
def test_a_wrong_project(old: str, new: str, says: str, root: Path, tmp_path: Path) -> None:
    text = (root / "examples" / "small.sm").read_text()
    assert old in text
    file = tmp_path / "w.sm"
    file.write_text(text.replace(old, new, 1))
    _refused(file, says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (PATTERSON + "7\n", ":11: goes on after activity 6"),
        (PATTERSON.replace("4 0 2 1 6\n", "4 0 2 1 9\n"), ":9: job 5: 9 is no job, there are 6"),
        (PATTERSON[:30], ": ends before "),
        (PATTERSON.replace("4 0 2", "4 -1 2"), ":9: expected whole numbers >= 0, got str '-1'"),
        ("", ": ends before the number of activities"),
    ],
)
def test_a_wrong_project_of_patterson(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "w.rcp"
    file.write_text(text)
    _refused(file, says)


def test_several_modes_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "w.mm"
    file.write_text("")
    _refused(file, "projects of several modes (.mm) are not read")


def _refused(file: Path, says: str) -> None:
    with pytest.raises(DocumentError) as caught:
        list(read_documents(file))
    assert str(caught.value).startswith(str(file))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
