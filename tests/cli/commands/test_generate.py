from __future__ import annotations

import gzip
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Ran
from transom.cli import run
from transom.cli.commands.generate.instances import knapsack_command
from transom.generate import CLASSES
from transom.io import read_documents
from transom.models import Knapsack
from transom.traces import read_swf

Transom = Callable[..., Ran]


def knapsacks(path: Path) -> list[Knapsack]:
    return [document for _, document in read_documents(path) if isinstance(document, Knapsack)]


def test_lublin(transom: Transom, tmp_path: Path) -> None:
    out = tmp_path / "new" / "lublin.swf.gz"
    ran = transom("generate", "workload", "--jobs", 2000, "--nodes", 100, "--load", 0.7, "--seed", 5, "--out", out)
    assert ran.status == 0
    workload = read_swf(out)
    assert len(workload) == 2000
    assert workload.cluster.num_nodes == 100
    assert not workload.repairs
    load = (workload.jobs.nodes * workload.runtime).sum() / (100 * workload.jobs.submit[-1])
    assert load == pytest.approx(0.7, abs=1e-3)
    assert ran.out.startswith(f"{out}: 2,000 jobs on 100 nodes over")
    assert "offered load 0.700" in ran.out
    assert (workload.jobs.walltime >= workload.runtime).all()
    assert (workload.jobs.walltime > workload.runtime).any()


def test_the_file_says_how_it_was_made(transom: Transom, tmp_path: Path) -> None:
    out = tmp_path / "a.swf"
    transom("generate", "workload", "--jobs", 50, "--walltimes", "exact", "--load", 0.5, "--seed", 2, "--out", out)
    header = [line for line in out.read_text().splitlines() if line.startswith(";")]
    assert any("Lublin and Feitelson" in line for line in header)
    (made,) = [line.partition("Made by: ")[2] for line in header if "Made by" in line]
    again = tmp_path / "b.swf"
    assert run([*shlex.split(made)[1:], "--out", str(again)]) == 0
    # The name of the file is the name of the workload, nothing else differs.
    assert again.read_text() == out.read_text()
    workload = read_swf(out)
    assert (workload.jobs.walltime == workload.runtime).all()


def test_weekly_is_like_the_trace(transom: Transom, tmp_path: Path) -> None:
    like, out = tmp_path / "like.swf", tmp_path / "weekly.swf"
    transom("generate", "workload", "--jobs", 500, "--nodes", 64, "--out", like)
    ran = transom("generate", "workload", "--model", "weekly", "--like", like, "--rate", 2, "--jobs", 800, "--out", out)
    assert ran.status == 0
    given, made = read_swf(like), read_swf(out)
    assert len(made) == 800
    assert made.cluster == given.cluster
    of_given = set(zip(given.jobs.nodes.tolist(), given.runtime.tolist(), given.jobs.walltime.tolist(), strict=True))
    of_made = set(zip(made.jobs.nodes.tolist(), made.runtime.tolist(), made.jobs.walltime.tolist(), strict=True))
    assert of_made <= of_given
    rates = [len(workload) / (workload.jobs.submit[-1] - workload.jobs.submit[0]) for workload in (given, made)]
    assert rates[1] / rates[0] == pytest.approx(2, rel=0.35)
    assert "--like like.swf --rate 2" in out.read_text()


def test_seeds(transom: Transom, tmp_path: Path) -> None:
    for command in (["workload", "--jobs", 100], ["knapsack", "--class", "circle"], ["knapsack", "--class", "windows"]):
        suffix = "swf.gz" if command[0] == "workload" else "jsonl.gz"
        texts = []
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            out = tmp_path / f"{name}.{suffix}"
            assert transom("generate", *command, "--seed", seed, "--out", out).status == 0
            assert out.read_bytes()[4:8] == bytes(4)  # no time stamp
            texts.append(gzip.decompress(out.read_bytes()).replace(b"--seed 2", b"--seed 1"))
        assert texts[0] == texts[1] != texts[2]


def test_a_class_in_a_series(transom: Transom, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    arguments = ["generate", "knapsack", "--class", "subset-sum", "--items", 30, "--range", 500, "--count", 9]
    assert transom(*arguments, "--out", out).out == f"{out}: 9 knapsacks\n"
    for i, problem in enumerate(knapsacks(out), 1):
        assert len(problem) == 30
        assert problem.weights.max() <= 500
        assert problem.capacity == max(problem.weights.sum() * i // 10, problem.weights.max())
    transom(*arguments, "--series", "1/3", "--out", out)
    assert all(problem.capacity == problem.weights.sum() // 4 for problem in knapsacks(out))
    transom(*arguments, "--ratio", 0.25, "--out", out)
    first = knapsacks(out)
    assert all(problem.capacity == int(problem.weights.sum() * 0.25) for problem in first)
    transom(*arguments[:-1], 2, "--ratio", 0.25, "--out", out)
    assert knapsacks(out) == first[:2]


def test_all_classes(transom: Transom, tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl.gz"
    assert transom("generate", "knapsack", "--class", "all", "--count", 2, "--out", out, "--json").lines == [
        {"out": str(out), "knapsacks": 26}
    ]
    assert len(set(knapsacks(out))) == 26
    assert all(name in " ".join((knapsack_command.__doc__ or "").split()) for name in CLASSES)


def test_hard_ones_have_the_capacity(transom: Transom, tmp_path: Path) -> None:
    out = tmp_path / "hard.json"
    transom("generate", "knapsack", "--class", "strongly-correlated", "--capacity", 100_000_000, "--out", out)
    (problem,) = knapsacks(out)
    assert (len(problem), problem.capacity) == (10_000, 100_000_000)
    assert 1.5 <= problem.weights.sum() / problem.capacity <= 3


def test_windows_of_a_trace(transom: Transom, tmp_path: Path) -> None:
    trace, out = tmp_path / "trace.swf", tmp_path / "windows.jsonl"
    transom("generate", "workload", "--jobs", 300, "--nodes", 32, "--out", trace)
    arguments = ["generate", "knapsack", "--class", "windows", "--count", 20, "--items", 10, "--out", out]
    assert transom(*arguments, "--like", trace).status == 0
    sizes = read_swf(trace).jobs.nodes
    at = np.lib.stride_tricks.sliding_window_view(sizes, 10)
    for problem in knapsacks(out):
        assert (problem.values == problem.weights).all()
        assert (at == problem.weights).all(axis=1).any()
        assert problem.capacity <= 32
    assert transom(*arguments, "--objective", "dras-capability", "--nodes", 100).status == 0
    assert {problem.scale for problem in knapsacks(out)} == {1_000_000}
    assert max(problem.capacity for problem in knapsacks(out)) > 32


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["workload", "--jobs", 5, "--out", "a.txt"], "must end in .swf"),
        (["workload", "--jobs", 5, "--model", "weekly", "--out", "a.swf"], "--model weekly needs --like TRACE"),
        (["workload", "--jobs", 5, "--rate", 2, "--out", "a.swf"], "--rate does not go with --model lublin"),
        (
            ["workload", "--jobs", 5, "--model", "weekly", "--load", 1, "--out", "a.swf"],
            "--load does not go with --model weekly",
        ),
        (["workload", "--jobs", 5, "--load", "nan", "--out", "a.swf"], "load must be finite and > 0, got nan"),
        (["workload", "--jobs", 0, "--out", "a.swf"], "error: --jobs: "),
        (["knapsack", "--class", "circles", "--out", "a.jsonl"], "'circles'; did you mean 'circle'?"),
        (["knapsack", "--class", "circle", "--count", 2, "--out", "a.json"], "holds one document"),
        (["knapsack", "--class", "circle", "--series", "5", "--out", "a.jsonl"], "such as 50/100, got '5'"),
        (["knapsack", "--class", "circle", "--series", "5/4", "--out", "a.jsonl"], "series must be (h, H)"),
        (["knapsack", "--class", "circle", "--objective", "wait", "--out", "a.jsonl"], "not go with --class circle"),
        (["knapsack", "--class", "windows", "--ratio", 0.5, "--out", "a.jsonl"], "--ratio does not go with windows"),
        (["knapsack", "--class", "windows", "--items", 9999, "--out", "a.jsonl"], "size must be from 1 to"),
        (["knapsack", "--class", "circle", "--capacity", 5, "--out", "a.jsonl"], "capacity >= 1000 x items"),
    ],
)  # fmt: skip
def test_what_does_not_go_is_refused(
    transom: Transom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = transom("generate", *arguments)
    assert ran.status == 2
    assert ran.err.startswith("error: ")
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
