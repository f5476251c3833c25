"""transom generate tjap and csp."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Ran
from transom.io import PeriodWindow, read_documents
from transom.models import AUTHORS, PAPER, Allocation, ConstrainedPath, HopCost

Transom = Callable[..., Ran]
FRAGMENTED = ["tjap", "--family", "fragmented"]
SMALL = ["--nodes", 40, "--leaf-nodes", 4, "--pod-nodes", 8, "--sizes", "1-12", "--periods", 15]


def made(transom: Transom, out: Path, *arguments: object) -> list[Any]:
    ran = transom("generate", *arguments, "--out", out)
    assert (ran.status, ran.err) == (0, "")
    return [document for _, document in read_documents(out)]


def test_defaults_are_those_of_the_paper(transom: Transom, tmp_path: Path) -> None:
    for problem in made(transom, tmp_path / "a.jsonl", "tjap", "--periods", 12):
        assert isinstance(problem, Allocation)
        assert problem.tree.num_nodes == 1000
        assert problem.tree.regular == (10, 100)
        assert (problem.rule, problem.wrap, problem.cost) == ("static", True, PAPER)
        assert problem.sizes.max() <= 40


def test_what_the_authors_do(transom: Transom, tmp_path: Path) -> None:
    options = ["--window", "code", "--pod-nodes", 40, "--cost-model", "authors", "--one-node", "lost", "--periods", 30]
    problems = made(transom, tmp_path / "a.jsonl", "tjap", *options)
    assert {problem.cost for problem in problems} == {AUTHORS}
    assert {problem.tree.regular for problem in problems} == {(10, 40)}
    assert max(len(problem) for problem in problems) <= 5
    lines = made(transom, tmp_path / "b.jsonl.gz", "tjap", *options, "--form", "lines")
    assert all(isinstance(line, PeriodWindow) and line.epoch == 1 for line in lines)
    assert [line.allocation(cost=AUTHORS) for line in lines] == problems
    few = made(transom, tmp_path / "c.jsonl", "tjap", *options, "--most", 2)
    assert max(len(problem) for problem in few) == 2


def test_epochs_are_streams_of_their_own(transom: Transom, tmp_path: Path) -> None:
    one = made(transom, tmp_path / "a.jsonl", "tjap", *SMALL, "--form", "lines")
    two = made(transom, tmp_path / "b.jsonl", "tjap", *SMALL, "--form", "lines", "--epochs", 2)
    assert two[: len(one)] == one
    assert {window.epoch for window in two} == {1, 2}
    assert [w.idle.tolist() for w in two[len(one) :]] != [w.idle.tolist() for w in one]
    other = made(transom, tmp_path / "c.jsonl", "tjap", *SMALL, "--form", "lines", "--seed", 1)
    assert other != one


def test_the_policy_makes_the_windows(transom: Transom, tmp_path: Path) -> None:
    exact = made(transom, tmp_path / "a.jsonl", "tjap", *SMALL)
    first = made(transom, tmp_path / "b.jsonl", "tjap", *SMALL, "--policy", "sequential")
    assert exact[0] == first[0]
    assert exact != first
    dynamic = made(transom, tmp_path / "c.jsonl", "tjap", *SMALL, "--policy", "sequential", "--problem", "dcas")
    assert {problem.rule for problem in dynamic} == {"dynamic"}
    annealed = ["tjap", *SMALL, "--policy", "sa", "--problem", "dcas", "--iterations", 20, "--no-wrap"]
    once, again = (made(transom, tmp_path / f"{name}.jsonl", *annealed) for name in "de")
    assert once == again
    assert not any(problem.wrap for problem in once)


def test_what_is_reported(transom: Transom, tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    ran = transom("generate", "tjap", *SMALL, "--periods", 20, "--epochs", 2, "--out", out)
    count = len(list(read_documents(out)))
    assert ran.out.startswith(f"{out}: {count} windows in 40 periods, ")
    assert "scas-dp, cost per period: all " in ran.out
    (told,) = transom("generate", "tjap", *SMALL, "--periods", 20, "--epochs", 2, "--out", out, "--json").lines
    assert (told["windows"], told["policy"]) == (count, "scas-dp")
    costs = told["cost_per_period"]
    assert costs["all"] == pytest.approx(0.75 * costs["filling"] + 0.25 * costs["steady"])


def test_fragmented_windows(transom: Transom, tmp_path: Path) -> None:
    base = [*FRAGMENTED, "--nodes", 400, "--idle", 150, "--jobs", 6, "--longest", 20, "--cap", 30]
    for i, law in enumerate(([], ["--mean", 20, "--spread", 0.5], ["--law", "uniform"], ["--k", 8, "--load", 0.3])):
        problems = made(transom, tmp_path / f"{i}.jsonl", *base, *law, "--count", 2)
        assert len(set(problems)) == 2
        for problem in problems:
            assert (problem.tree.num_nodes, len(problem.idle), len(problem)) == (400, 150, 6)
            assert problem.sizes.max() <= 30
            assert problem.sizes.sum() <= 0.95 * 150
            assert (problem.rule, problem.wrap, problem.cost) == ("static", False, PAPER)
            assert (problem.tree.leaf == np.arange(400) // (4 if "--k" in law else 32)).all()
            assert problem.tree.num_pods == (25 if "--k" in law else 1)
            assert "--load" not in law or problem.sizes.sum() <= 45
    options = ["--problem", "free", "--wrap", "--cost-model", "authors", "--leaf-nodes", 5, "--pod-nodes", 20]
    (problem,) = made(transom, tmp_path / "o.jsonl", *base, *options)
    assert (problem.rule, problem.wrap, problem.cost, problem.tree.regular) == ("free", True, AUTHORS, (5, 20))
    (large,) = made(transom, tmp_path / "l.jsonl.gz", *FRAGMENTED)
    assert (large.tree.num_nodes, len(large.idle), len(large)) == (20_000, 5_000, 50)


def test_random_paths(transom: Transom, tmp_path: Path) -> None:
    paths = made(transom, tmp_path / "a.jsonl", "csp", "--count", 3, "--length", 50, "--arcs", 5, "--density", 0.5)
    assert [(path.length, len(path), len(path.sizes)) for path in paths] == [(50, 5, 3)] * 3
    assert len(set(paths)) == 3
    assert (
        made(transom, tmp_path / "b.jsonl", "csp", "--count", 2, "--length", 50, "--arcs", 5, "--density", 0.5)
        == (paths[:2])
    )
    (one,) = made(transom, tmp_path / "c.json", "csp")
    assert np.isfinite(one.costs[0]).sum() == one.length - one.sizes[0] + 1


def test_paths_like_windows(transom: Transom, tmp_path: Path) -> None:
    lines = made(transom, tmp_path / "a.jsonl", "tjap", *SMALL, "--form", "lines")
    paths = made(transom, tmp_path / "b.jsonl", "csp", "--like", tmp_path / "a.jsonl", "--cost-model", "authors")
    assert paths == [ConstrainedPath.from_allocation(line.allocation("static", False, AUTHORS)) for line in lines]
    stated = made(transom, tmp_path / "c.jsonl", "tjap", *SMALL, "--cost-model", "custom:other=9")
    assert {problem.cost for problem in stated} == {HopCost(other=9)}
    paths = made(transom, tmp_path / "d.jsonl", "csp", "--like", tmp_path / "c.jsonl", "--count", 2)
    wanted = [Allocation(p.tree, p.idle, p.sizes, "static", False, p.cost) for p in stated[:2]]
    assert paths == [ConstrainedPath.from_allocation(problem) for problem in wanted]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tjap", "--out", "a.json"], "must end in .jsonl, .jsonl.gz"),
        (["tjap", "--gaps", "5", "--out", "a.jsonl"], "--gaps: expected A-B such as 5-30, got '5'"),
        (["tjap", "--gaps", "9-5", "--out", "a.jsonl"], "gaps must be 1 <= least <= largest"),
        (["tjap", "--sizes", "1-2000", "--out", "a.jsonl"], "a job of 2000 nodes never fits into 1000"),
        (["tjap", "--k", "5", "--out", "a.jsonl"], "k must be even and > 0, got 5"),
        (["tjap", "--period", "1000000000", "--out", "a.jsonl"], "more than 10000000 jobs may arrive"),
        (["tjap", "--k", "8", "--pod-nodes", "4", "--out", "a.jsonl"], "--pod-nodes does not go with --k"),
        (["tjap", "--pod-nodes", "15", "--out", "a.jsonl"], "pod_nodes must be a multiple of leaf_nodes"),
        (["tjap", "--idle", "15", "--out", "a.jsonl"], "--idle does not go with --family stream"),
        ([*FRAGMENTED, "--policy", "scas-dp", "--out", "a.jsonl"], "--policy does not go with"),
        (["tjap", "--policy", "scas", "--out", "a.jsonl"], "unknown solver 'scas'; did you mean"),
        (["tjap", "--policy", "scas-dp", "--problem", "free", "--out", "a.jsonl"], "'scas-dp' cannot take free"),
        (["tjap", "--policy", "dp", "--out", "a.jsonl"], "it solves Knapsack problems"),
        (["tjap", "--cost-model", "autors", "--out", "a.jsonl"], "unknown cost model 'autors'"),
        (["tjap", "--period", "0", "--out", "a.jsonl"], "period must be > 0, got 0"),
        (["tjap", "--window", "all", "--out", "a.jsonl"], "error: --window: "),
        ([*FRAGMENTED, "--law", "uniform", "--mean", "5", "--out", "a.jsonl"], "mean does not go with law uniform"),
        ([*FRAGMENTED, "--jobs", "5000", "--out", "a.jsonl"], "5000 jobs of 2 nodes are more than"),
        ([*FRAGMENTED, "--load", "nan", "--out", "a.jsonl"], "load from 0 to 1"),
        (["csp", "--length", "5", "--out", "a.jsonl"], "do not fit into 4 entries"),
        (["csp", "--density", "2", "--out", "a.jsonl"], "density must be from 0 to 1"),
        (["csp", "--cost-model", "paper", "--out", "a.jsonl"], "--cost-model does not go with random costs"),
        (["csp", "--like", "x.jsonl", "--arcs", "5", "--out", "a.jsonl"], "--arcs does not go with --like"),
        (["csp", "--like", "x.jsonl", "--out", "a.jsonl"], "x.jsonl: no such file"),
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
