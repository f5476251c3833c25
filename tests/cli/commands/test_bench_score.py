"""``transom bench score`` and ``bench compare``: what is printed, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bench.made_rows import curve, row
from tests.cli.conftest import Ran
from transom.bench.plan.task import Row
from transom.bench.store.store import Store
from transom.cli.commands.bench_score import percent
from transom.stop import Stop

Run = Callable[..., Ran]


def stored(folder: Path, *rows: Row) -> Path:
    with Store(folder) as store:
        for each in rows:
            store.append(each)
    return folder


def comparison(**facts: Any) -> list[Row]:
    """Two solvers on eight instances under two budgets; the second finds three quarters."""
    rows = []
    for number in range(8):
        for seconds in (0.5, 2.0):
            common = {"instance": f"i{number}", "stop": Stop(seconds=seconds), **facts}
            rows.append(row("exact", **common, **curve((0.1, 8.0, 8.0)), status="optimal", reason="proof"))
            rows.append(row("quick", **common, value=6.0))
    return rows


def replays() -> list[Row]:
    return [
        row(
            name, f"{where} trace", what="replay", problem="sequence", sense="min", set=where, stop=Stop(), seed=seed,
            metrics={"mean_wait": 3600.0 * (wait + seed), "utilisation": 0.5},
        )
        for where, wait in (("lublin", 1), ("theta", 5)) for name in ("fcfs", "sjf") for seed in (0, 1)
    ]  # fmt: skip


def test_a_table_for_each_problem_and_budget(transom: Run, tmp_path: Path) -> None:
    ran = transom("bench", "score", stored(tmp_path / "r", *comparison()))
    assert (ran.status, ran.err) == (0, "")
    assert "knapsack, 0.5 s: 8 instances" in ran.out
    assert "knapsack, 2 s: 8 instances" in ran.out
    assert "knapsack, 2 s: 95 % limits over instances drawn like these" in ran.out
    lines = [line.split() for line in ran.out.splitlines() if line.strip().startswith(("exact", "quick"))]
    assert [line[0] for line in lines] == ["exact", "quick"] * 4
    assert "0.000*" in lines[0]
    assert "25.000" in lines[1]
    assert " ".join(lines[2]).startswith("exact 0 of 8 0.0 0.0 to 36.9 0.000 0.000 to 0.000 0.000 too few ")
    assert " ".join(lines[3]).startswith("quick 8 of 8 100.0 63.1 to 100.0 25.000 25.000 to 25.000 25.000 too few ")
    assert "a run without a solution (nothing found, failed, wrong, refused) counts 100 %" in " ".join(ran.out.split())
    assert "Of 8 best known values 8 are proved." in " ".join(ran.out.split())


def test_json_has_every_figure(transom: Run, tmp_path: Path) -> None:
    (told,) = transom("bench", "score", stored(tmp_path / "r", *comparison()), "--json", "--pairs").lines
    exact, quick = told["comparisons"][:2]
    assert (exact["solver"], exact["gap"], exact["proved"], exact["best"], exact["runs"]) == ("exact", 0, 1, True, 8)
    assert (quick["gap"], quick["gap_low"], quick["gap_high"], quick["proved_gap"]) == (0.25, None, None, None)
    assert (quick["gap_median_low"], quick["gap_median_high"]) == (0.25, 0.25)
    assert (quick["behind"], quick["behind_share"], quick["behind_share_high"]) == (8, 1, 1)
    assert quick["behind_share_low"] == pytest.approx(0.025 ** (1 / 8))
    assert exact["integral"] == pytest.approx(0.2)
    first = told["tests"][0]
    assert (first["measure"], first["budget"], first["pairs"][0]["wins"]) == ("gap", "0.5 s", 8)
    assert first["pairs"][0]["verdict"] == "better"
    assert first["pairs"][0]["p_corrected"] == pytest.approx(2 / 2**8)
    assert first["friedman"]["why"] == "it takes three solvers"
    assert told["remarks"] == []


def test_pairs_for_people(transom: Run, tmp_path: Path) -> None:
    out = transom("bench", "score", stored(tmp_path / "r", *comparison()), "--pairs").out
    line = next(line.split() for line in out.splitlines() if line.split()[:2] == ["exact", "quick"])
    assert line[2:6] == ["8", "8", "0", "0"]
    assert "-25.000" in line
    assert line[-1] == "better"
    assert "Friedman over all: no test: it takes three solvers" in out


def test_markdown_is_one_table(transom: Run, tmp_path: Path) -> None:
    ran = transom("bench", "score", stored(tmp_path / "r", *comparison()), "--markdown")
    lines = ran.out.splitlines()
    assert lines[:4] == [
        "| problem | solver | 0.5 s | 2 s |",
        "|---|---|---:|---:|",
        "| knapsack (8) | `exact` | **0.00** (100) | **0.00** (100) |",
        "| knapsack (8) | `quick` | 25.00 (0) | 25.00 (0) |",
    ]
    for option in ("--json", "--pairs"):
        refused = transom("bench", "score", tmp_path / "r", "--markdown", option)
        assert (refused.status, refused.err) == (2, f"error: {option} does not go with --markdown\n")


def test_one_budget_of_several(transom: Run, tmp_path: Path) -> None:
    stored(tmp_path / "r", *comparison())
    (told,) = transom("bench", "score", tmp_path / "r", "--budget", "2", "--json").lines
    assert {each["budget"] for each in told["comparisons"]} == {"2 s"}
    missing = transom("bench", "score", tmp_path / "r", "--budget", "3")
    assert (missing.status, missing.err) == (2, "error: --budget: no run has 3 s; there are: 0.5, 2\n")


def test_by_set_keeps_sets_apart(transom: Run, tmp_path: Path) -> None:
    rows = [row("a", "i", set="easy", value=1.0), row("a", "j", set="hard"), row("b", "j", set="hard", value=2.0)]
    stored(tmp_path / "r", *rows)
    (told,) = transom("bench", "score", tmp_path / "r", "--by", "set", "--json").lines
    assert [(each["set"], each["solver"], each["gap"]) for each in told["comparisons"]] == [
        ("easy", "a", 0), ("hard", "b", 0), ("hard", "a", 1),
    ]  # fmt: skip


def test_several_stores_count_each_run_once_the_newest(transom: Run, tmp_path: Path) -> None:
    old = stored(tmp_path / "old", row("a", value=5.0, begun=1.0), row("b", value=10.0))
    new = stored(tmp_path / "new", row("a", value=10.0, begun=2.0))
    for order in ((old, new), (new, old)):
        (told,) = transom("bench", "score", *order, "--json").lines
        assert [(each["solver"], each["runs"], each["gap"]) for each in told["comparisons"]] == [
            ("a", 1, 0),
            ("b", 1, 0),
        ]


def test_what_is_wrong_is_reported_first(transom: Run, tmp_path: Path) -> None:
    rows = [
        row("liar", value=99.0, outcome="wrong", cause="too heavy"),
        row("bold", value=5.0, bound=5.0, status="optimal"),
        row("dies", outcome="crash", cause="signal 11"),
        row("shy", outcome="refused", cause="too large"),
        row("good", value=10.0),
        row("good", "j", outcome="timeout", cause="no answer", machine={"host": "other"}),
    ]
    (told,) = transom("bench", "score", stored(tmp_path / "r", *rows), "--json").lines
    assert told["remarks"] == [
        "wrong: 1 run of liar gave an answer that fails verification: i.json: too heavy",
        "wrong: 1 run of bold claimed a bound or proof that a solution contradicts: i.json",
        "crash: 1 run of dies: i.json: signal 11",
        "timeout: 1 run of good: j.json: no answer",
        "refused: 1 run of shy: i.json: too large",
        *(
            f"knapsack, 1 s: {name} ran on 1 of 2 instances in 1 of 2 runs: its means cover only these, and get no star"
            for name in ("bold", "dies", "liar", "shy")
        ),
        "no solution is known of 1 instance: every solver counts 100 % there",
        "the runs are from 2 machines: times are not strictly comparable",
    ]
    wrong = {each["solver"]: (each["wrong"], each["failed"], each["refused"]) for each in told["comparisons"]}
    assert wrong == {"liar": (1, 1, 0), "bold": (1, 0, 0), "dies": (0, 1, 0), "shy": (0, 0, 1), "good": (0, 1, 0)}
    assert [each["solver"] for each in told["comparisons"] if each["best"]] == ["good"]
    people = transom("bench", "score", tmp_path / "r").out
    assert all(remark in people for remark in told["remarks"])


def test_sequences_have_tables_of_their_own(transom: Run, tmp_path: Path) -> None:
    rows = [*comparison(), *replays()]
    (told,) = transom("bench", "score", stored(tmp_path / "r", *rows), "--json").lines
    assert {each["problem"] for each in told["comparisons"]} == {"knapsack"}
    wait = [each for each in told["sequences"] if each["metric"] == "mean_wait"]
    assert [(each["set"], each["policy"], each["runs"], each["mean"] / 3600) for each in wait] == [
        ("lublin", "fcfs", 2, 1.5), ("lublin", "sjf", 2, 1.5), ("theta", "fcfs", 2, 5.5), ("theta", "sjf", 2, 5.5),
    ]  # fmt: skip
    assert (wait[0]["least"], wait[0]["most"], wait[0]["median_low"]) == (3600, 7200, None)
    out = transom("bench", "score", tmp_path / "r").out
    assert "lublin: a sequence of windows" in out
    assert "theta: a sequence of windows" in out
    assert "90.00 (60.00 to 120.00)" in out
    alone = stored(tmp_path / "alone", *replays())
    assert transom("bench", "score", alone).status == 0
    refused = transom("bench", "score", alone, "--markdown")
    assert (refused.status, "replays alone" in refused.err) == (2, True)


def test_a_library_is_one_more_run(transom: Run, tmp_path: Path, root: Path) -> None:
    from transom.bench.best_known.library import read_library
    from transom.io import read_documents

    label, problem = next(iter(read_documents(root / "instances" / "classes" / "pisinger_50.jsonl")))
    digest = problem.digest()
    best = read_library(root / "instances").best(digest)
    assert best is not None
    assert best.value is not None
    store = stored(tmp_path / "r", row("a", digest, label=label, value=best.value / 2))
    (without,) = transom("bench", "score", store, "--json").lines
    (within,) = transom("bench", "score", store, "--json", "--library", root / "instances").lines
    assert [each["comparisons"][0]["gap"] for each in (without, within)] == [0, 0.5]


@pytest.mark.parametrize("command", ["score", "compare"])
def test_what_is_no_store_is_refused_in_a_line(transom: Run, tmp_path: Path, command: str) -> None:
    more = [tmp_path] if command == "compare" else []
    ran = transom("bench", command, tmp_path / "nothing", *more)
    assert ran.status == 2
    assert ran.err.startswith(f"error: {tmp_path / 'nothing'}")
    assert len(ran.err.splitlines()) == 1


def test_an_empty_store_has_nothing_to_score(transom: Run, tmp_path: Path) -> None:
    ran = transom("bench", "score", stored(tmp_path / "r"))
    assert (ran.status, ran.err) == (2, f"error: {tmp_path / 'r'}: there is no run in it yet\n")


def test_compare_is_0_where_nothing_became_worse(transom: Run, tmp_path: Path) -> None:
    before = stored(tmp_path / "a", *comparison())
    after = stored(tmp_path / "b", *comparison(code="new")[1:])
    ran = transom("bench", "compare", before, after)
    assert ran.status == 0
    assert ran.out.startswith("differs: code of Transom:  before, new after\n31 runs in both\nmissing: 1 of exact")
    assert ran.out.splitlines()[-1] == "nothing became wrong, worse or failed"


def test_compare_is_1_where_something_did(transom: Run, tmp_path: Path) -> None:
    before = stored(tmp_path / "a", row("x", value=10.0), row("y", value=10.0))
    after = stored(tmp_path / "b", row("x", value=9.0), row("y", outcome="crash", cause="signal 11"))
    ran = transom("bench", "compare", before, after)
    assert ran.status == 1
    assert "crash: signal 11" in ran.out
    assert "value worse" in ran.out
    told = transom("bench", "compare", before, after, "--json")
    assert told.status == 1
    assert [event["kind"] for event in told.lines[0]["events"]] == ["failing", "value worse"]
    assert told.lines[0]["regressed"]


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert [percent(share, 2) for share in (-1e-6, 0.0, -0.001, None)] == ["0.00", "0.00", "-0.10", "-"]


def test_scenarios_of_aslib_are_written(transom: Run, tmp_path: Path) -> None:
    ran = transom("bench", "score", stored(tmp_path / "r", *comparison()), "--aslib", tmp_path / "a")
    assert (ran.status, ran.err.count("scenario: ")) == (0, 2)
    assert (tmp_path / "a" / "knapsack-0.5s" / "description.txt").exists()
    alone = stored(tmp_path / "s", row("exact", stop=Stop(iterations=5), value=1.0))
    ran = transom("bench", "score", alone, "--aslib", tmp_path / "b")
    assert (ran.status, ran.err) == (2, "error: --aslib: no run has a budget in seconds\n")
