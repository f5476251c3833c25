"""``transom generate selection``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from transom.generate import FAMILIES, Marked, family_selection
from transom.io import read_documents
from transom.models import Selection
from transom.rng import stream

Transom = Callable[..., Ran]


def selections(path: Path) -> list[Selection]:
    return [document for _, document in read_documents(path) if isinstance(document, Selection)]


def test_families_are_those_of_the_library(transom: Transom, tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl.gz"
    ran = transom(
        "generate", "selection", "--family", "all", "--count", 2, "--jobs", 9, "--number", 4, "--largest", 30,
        "--tightness", 0.3, "--forced", 0.1, "--excluded", 0.1, "--requires", 0.2, "--objectives", "nodes/waited",
        "--seed", 5, "--out", out,
    )  # fmt: skip
    assert ran.status == 0
    assert ran.out == f"{out}: 12 selections\n"
    expected = [
        family_selection(
            family, stream(5, "selection", family, i), 9, 4, 30, 0.3, "nodes/waited", Marked(0.1, 0.1, 0.2)
        )
        for family in FAMILIES
        for i in (1, 2)
    ]
    assert selections(out) == expected


def test_one_in_a_file_of_its_own(transom: Transom, tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    ran = transom("generate", "selection", "--out", out, "--json")
    assert ran.lines == [{"out": str(out), "selections": 1}]
    assert selections(out)[0].demands.shape == (20, 3)


def test_windows_of_a_replay(transom: Transom, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    ran = transom(
        "generate", "selection", "--like", trace, "--replay", 250, "--resources", "bb=normal,gpu=200", "--jobs", 6,
        "--every", 600, "--minimum", 3, "--objectives", "nodes/bb/wait", "--count", 5, "--out", out,
    )  # fmt: skip
    assert ran.status == 0
    assert "250 jobs on 64 nodes" in ran.err
    assert "gpu: 200 in all" in ran.err
    found = selections(out)
    assert len(found) == 5
    for problem in found:
        assert len(problem) <= 6
        assert problem.resources == ("nodes", "bb", "gpu")
        assert problem.terms == ("nodes", "bb", "wait")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--family", "foo"), "unknown selection family 'foo'"),
        (("--policy", "fcfs"), "--policy does not go with random families"),
        (("--resources", "bb=5"), "--resources does not go with random families"),
        (("--like", "TRACE", "--family", "ties"), "--family does not go with --like"),
        (("--like", "TRACE", "--minimum", "200"), "no window of the replay leaves 200 jobs"),
        (("--like", "TRACE", "--policy", "foo"), "unknown policy 'foo'"),
        (("--like", "TRACE", "--objectives", "gpu"), "unknown objective or resource 'gpu'"),
        (("--tightness", "-1"), "tightness must be > 0"),
    ],
)
def test_bad_input(transom: Transom, trace: Path, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    given = [str(trace) if each == "TRACE" else each for each in arguments]
    ran = transom("generate", "selection", "--out", tmp_path / "s.jsonl", *given)
    assert ran.status == 2
    assert says in ran.err.splitlines()[-1]
    assert not (tmp_path / "s.jsonl").exists()
