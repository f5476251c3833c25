"""Runs that come to no end keep the best answer and the curve that they had handed over, and nothing of others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.bench.faulty import dearest, knapsack, task
from transom.bench.plan.task import Row
from transom.bench.run import incumbents
from transom.bench.run.incumbents import Incumbents, handed_over
from transom.bench.run.isolation import run_isolated
from transom.bench.run.recovery import recovered
from transom.bench.score.score import references, scored
from transom.bench.store.frame import to_frame
from transom.models import Allocation, ConstrainedPath, FatTree, Selection
from transom.solving import solve
from transom.stop import Stop

pytestmark = pytest.mark.usefixtures("faulty_solvers", "ends_spinning")

ENDS = {
    "spin": "timeout",
    "spin-compiled": "timeout",
    "ignore-signals": "timeout",
    "memory": "memory",
    "child-memory": "memory",
    "segfault": "crash",
    "exit": "crash",
    "exit-well": "crash",
    "kill": "crash",
    "raise": "error",
    "leave": "error",
    "interrupt": "error",
}


def ended(spec: str, **changes: Any) -> Row:
    """A run that has as long as it takes."""
    return run_isolated(task(spec, memory=400, **{"seconds": 300.0, **changes}))


@pytest.mark.parametrize("how", ENDS)
def test_what_was_handed_over_counts_however_the_run_ended(how: str) -> None:
    problem = knapsack()
    row = ended(f"faulty:how={how},first=answers", problem=problem)
    best = dearest(problem)
    assert (row.outcome, row.value, row.status) == (ENDS[how], best, "feasible"), row.cause
    assert row.bound == problem.values.sum()
    values = [value for _, value, _ in row.curve if value is not None]
    assert len(set(values)) > 2
    assert values == sorted(values)
    assert [seconds for seconds, _, _ in row.curve] == sorted(seconds for seconds, _, _ in row.curve)
    assert row.curve[0][1:] == (None, problem.values.sum() + 1)
    assert row.curve[-1][1:] == (best, problem.values.sum())


def test_where_nothing_was_handed_over_there_is_no_answer() -> None:
    row = ended("faulty:how=kill")
    assert (row.outcome, row.value, row.curve, row.status) == ("crash", None, (), "unknown")


def test_an_answer_that_the_judge_refuses_is_a_wrong_one() -> None:
    row = ended("faulty:how=spin,first=dearer")
    assert (row.outcome, row.value, row.curve) == ("wrong", None, ())
    assert "did not stand: the solution is worth" in str(row.cause)


def test_a_proof_that_there_is_no_solution_is_kept() -> None:
    row = ended("faulty:how=kill,first=infeasible")
    assert (row.outcome, row.status, row.value) == ("crash", "infeasible", None)


def test_what_comes_too_fast_to_be_written_at_once_is_written_soon() -> None:
    problem = knapsack()
    row = ended("faulty:how=spin,first=many", problem=problem)
    assert (row.outcome, row.value) == ("timeout", dearest(problem))
    assert row.bound == 10.0**9 - 19_999


def test_scores_count_what_came_in_time() -> None:
    problem = knapsack()
    whole = run_isolated(task("dp", problem, seconds=300.0))
    late = msgspec.structs.replace(ended("faulty:how=spin,first=answers", problem=problem), wall=330.0)
    frame = to_frame([whole, late])
    of = {row["name"]: row for row in scored(frame, references(frame)).iter_rows(named=True)}
    assert whole.value is not None
    gap = 1 - dearest(problem) / whole.value
    assert (of["faulty"]["solved"], of["faulty"]["primal_gap"]) == (True, pytest.approx(gap))
    assert gap <= of["faulty"]["primal_integral"] < 1
    assert of["faulty"]["time"] == 300.0


def problems() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    tree = FatTree.k_ary(4)
    made = [
        knapsack(12),
        Selection(rng.integers(1, 9, (8, 2)), np.array([20, 20])),
        Allocation(tree, np.arange(12), np.array([3, 4, 2])),
        ConstrainedPath.from_allocation(Allocation(tree, np.arange(12), np.array([3, 4]), wrap=False)),
    ]
    return {each.kind: each for each in made}


@pytest.mark.parametrize("kind", ["knapsack", "selection", "scas", "csp"])
def test_answers_of_all_kinds_come_across(kind: str, tmp_path: Path) -> None:
    problem = problems()[kind]
    result = solve(problem, "auto", Stop(seconds=60.0), 0, report=Incumbents(tmp_path).report)
    assert result.status == "optimal"
    answer, curve = handed_over(tmp_path)
    assert answer is not None
    assert (answer.value, curve) == (result.value, result.curve)
    assert problem.value(answer.solution()) == result.value
    run = task("auto", problem)
    blank = Row(
        key=run.key(), set="", label="", instance=run.instance, problem=run.problem, name="auto", spec="auto",
        stop=run.stop, seed=0, threads=1, sense=problem.sense, size=1, outcome="crash", cause="it died",
    )  # fmt: skip
    row = recovered(blank, run, tmp_path)
    assert (row.outcome, row.status, row.value, row.bound) == ("crash", "optimal", result.value, result.bound)


def test_an_answer_that_was_not_written_whole_is_none(tmp_path: Path) -> None:
    problem, handing = knapsack(), Incumbents(tmp_path)
    budget = Stop().start(problem, report=handing.report)
    fits = np.flatnonzero(problem.weights <= problem.capacity)
    items = fits[np.argsort(problem.values[fits])]
    for chosen in (np.zeros(8, bool), np.arange(8) == items[0], np.arange(8) == items[-1]):
        budget.found(chosen)
    answer, curve = handed_over(tmp_path)
    assert answer is not None
    assert (answer.value, len(curve)) == (dearest(problem), 3)
    newest = tmp_path / "answer-1"
    os.truncate(newest, newest.stat().st_size - 1)
    (tmp_path / "curve").write_bytes((tmp_path / "curve").read_bytes()[:-1])
    answer, curve = handed_over(tmp_path)
    assert answer is not None
    assert (answer.value, len(curve)) == (problem.values[items[0]], 2)


def test_handing_over_takes_its_share_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock takes 10 ms: of a run of 100 s no more than 2 s are for handing over."""
    now = [0.0]

    def clock() -> float:
        now[0] += 0.01
        return now[0]

    monkeypatch.setattr(incumbents, "thread_time", clock)
    monkeypatch.setattr(incumbents, "_PAUSE", 1e6)  # the thread comes too late
    handing = Incumbents(tmp_path)
    budget = Stop().start(knapsack(), clock=clock, report=handing.report)
    written = 0
    while now[0] < 100:
        budget.prove(1e9 - len(budget.curve))
        written = max(written, handing._steps)
    assert handing._spent <= incumbents.FREE + incumbents.SHARE * now[0] + 0.02
    assert written > 1000  # all of them, some at a time
