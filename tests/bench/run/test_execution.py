"""One run in this process: what its row says."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.bench.faulty import knapsack, task
from transom._system.source_digest import source_digest
from transom.bench.plan.failures import LONGEST_CAUSE, failed
from transom.bench.plan.task import Row
from transom.bench.run.curves import LONGEST_CURVE
from transom.bench.run.execution import execute, run_task
from transom.bench.store.frame import to_frame
from transom.solving import solve
from transom.stop import Stop

pytestmark = pytest.mark.usefixtures("faulty_solvers")


def test_a_row_says_what_solve_found() -> None:
    problem = knapsack(30)
    run = task("sa", problem, stop=Stop(iterations=2000), seed=3)
    row = run_task(run)
    result = solve(problem, "sa", Stop(iterations=2000), 3)
    assert row.outcome == "ok"
    assert row.cause is None
    assert (row.status, row.reason, row.value, row.bound) == (
        result.status,
        result.reason,
        result.value,
        result.bound,
    )
    assert [point[1:] for point in row.curve] == [point[1:] for point in result.curve]
    assert row.key == run.key()
    assert (row.sense, row.size) == ("max", 30)
    assert row.code == source_digest()
    assert row.versions["numpy"] == np.__version__
    assert row.machine["cores"] >= 1
    assert row.memory is not None
    assert 20 < row.memory < 4000
    assert row.wall is not None
    assert row.seconds is not None
    assert row.wall >= row.seconds > 0
    assert row.parameters["steps"] == result.parameters["steps"]
    assert len(to_frame([row])) == 1


def test_warm_up_is_outside_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    import faulty_solvers

    ends: list[float] = []

    def warm_up(self: Any) -> None:
        if not ends:
            time.sleep(0.2)
            ends.append(time.monotonic())

    monkeypatch.setattr(faulty_solvers.Steady, "warm_up", warm_up, raising=False)
    stages: list[str] = []
    row = run_task(task("steady:iterations=8"), stages.append)
    assert row.cold is not None
    assert row.cold >= 0.2
    assert row.wall is not None
    assert row.wall <= time.monotonic() - ends[0]
    assert stages == ["warm-up", "run", "judging"]


def test_bytes_in_and_bytes_out_are_the_same_run() -> None:
    run = task("steady", stop=Stop(iterations=20))
    row = msgspec.json.decode(execute(msgspec.json.encode(run)), type=Row)
    assert row.value == run_task(run).value
    assert row.stop == run.stop


@pytest.mark.parametrize(
    ("how", "outcome", "cause"),
    [
        ("refuse", "refused", "it is in a bad mood"),
        ("raise", "error", "RuntimeError: deliberate"),
        ("leave", "error", "SystemExit: 3"),
        ("raise-warm", "error", "before the run: RuntimeError: cannot get warm"),
        ("raise-supports", "error", "before the run: RuntimeError: no idea what that is"),
        ("infeasible", "wrong", "infeasible answer: weight"),
        ("shape", "wrong", "infeasible answer: a solution has shape (8,), got (9,)"),
        ("wrong-bound", "wrong", "the value 0 is better than the proved bound -5.0"),
        ("wrong-value", "wrong", "the solution is worth 0, not 1000000000"),
        ("change-problem", "wrong", "the result is for instance"),
    ],
)
def test_what_a_solver_does_wrong_is_in_the_row(how: str, outcome: str, cause: str) -> None:
    row = run_task(task(f"faulty:how={how}"))
    assert row.outcome == outcome
    assert row.cause is not None
    assert cause in row.cause
    assert "\n" not in row.cause
    # and the next run of the same instance is not touched by it
    after = run_task(task("steady"))
    assert after.outcome == "ok"
    assert after.value is not None


def test_a_type_that_the_solver_does_not_take_is_refused() -> None:
    row = run_task(task("scas-dp"))
    assert row.outcome == "refused"
    assert row.cause == "it solves Allocation problems"


@pytest.mark.parametrize("spec", ["no-such-solver", "steady:speed=3", "steady:iterations=many"])
def test_a_specification_that_does_not_fit_is_an_error_of_the_row(spec: str) -> None:
    row = run_task(task(spec))
    assert row.outcome == "error"
    assert row.cause is not None
    assert row.cause.startswith("before the run: ")


def test_a_document_that_is_not_the_instance_is_an_error_of_the_row() -> None:
    other = run_task(task("steady", instance="0" * 32))
    assert other.outcome == "error"
    assert "the task is about 000000" in str(other.cause)
    broken = run_task(task("steady", document=msgspec.Raw(b'{"format": "transom/knapsack/1"}')))
    assert broken.outcome == "error"
    assert "tests:1" in str(broken.cause)


def test_a_very_long_curve_is_thinned_and_keeps_its_ends() -> None:
    row = run_task(task("faulty:how=curve"))
    assert row.outcome == "ok"
    assert row.parameters["curve_points"] == 100_001
    assert 2 < len(row.curve) <= LONGEST_CURVE
    assert row.curve[0][2] == 10**9
    assert row.curve[-1] == (row.curve[-1][0], 0.0, 10**9 - 99_999)
    assert [point[0] for point in row.curve] == sorted(point[0] for point in row.curve)


def test_odd_notes_become_plain() -> None:
    row = run_task(task("faulty:how=notes"))
    assert row.parameters["odd"] == {"1": None, "set": "{3}", "many": [0, 1, 2]}
    assert row.parameters["(1, 2)"] == "half ?"
    assert msgspec.json.decode(msgspec.json.encode(row), type=Row) == row


def test_failed_tells_the_instance_and_one_short_line() -> None:
    row = failed(task("steady"), "crash", "\n  first " + "x" * 10_000 + "\nsecond", 1.5)
    assert (row.sense, row.size, row.outcome, row.wall) == ("max", 8, "crash", 1.5)
    assert msgspec.json.encode(failed(task("steady"), "error", "half \udc80"))
    assert row.cause is not None
    assert row.cause.startswith("first x")
    assert len(row.cause) == LONGEST_CAUSE
    unread = failed(task("steady", document=msgspec.Raw(b"{}")), "error", "broken")
    assert unread.size == 0


def test_a_replay_goes_to_its_own_place(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    place: Any = types.ModuleType("transom.bench.plan.sequences")
    place.replay_task = lambda run, announce: failed(run, "wrong", "replayed")
    monkeypatch.setitem(sys.modules, "transom.bench.plan.sequences", place)
    assert run_task(task("fcfs", what="replay")).cause == "replayed"
    place.replay_task = lambda run, announce: {}["nothing"]
    row = run_task(task("fcfs", what="replay"))
    assert (row.outcome, row.cause) == ("error", "KeyError: 'nothing'")
