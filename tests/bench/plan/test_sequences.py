"""Traces replayed as runs of the bench."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.bench.in_process import InProcess
from tests.traces.test_swf import line
from transom.bench.plan.plan import Plan, TraceSet
from transom.bench.plan.sequences import replay_tasks
from transom.bench.plan.tasks import expand_plan
from transom.bench.run.execution import run_task
from transom.bench.score.replays import replay_summaries
from transom.bench.store.frame import to_frame
from transom.bench.store.parquet import write_part
from transom.cli import run
from transom.errors import SpecError
from transom.report.sequences import replayed, table_of

TRACE = "instances/workloads/lublin_5000.swf.gz"


def trace_set(root: Path, **changes: object) -> TraceSet:
    each = TraceSet(name="l", file=str(root / TRACE), jobs=150, policies=("fcfs-easy", "r=random"))
    return msgspec.structs.replace(each, **changes)


def test_replays_agree_with_simulate(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(traces=(trace_set(root, jitter=60),), seeds=(0, 3))
    rows = {(row.name, row.seed): row for row in InProcess().run(expand_plan(plan))}
    assert set(rows) == {("fcfs-easy", 0), ("fcfs-easy", 3), ("r", 0), ("r", 3)}
    for (name, seed), row in rows.items():
        capsys.readouterr()
        options = ["--jobs", "150", "--seed", str(seed), "--jitter", "60", "--repeats", "1", "--json", "--no-figures"]
        assert run(["simulate", str(root / TRACE), "--policy", row.spec, *options]) == 0
        told = json.loads(capsys.readouterr().out)["policies"][0]["jittered"]
        assert row.outcome == "ok", row.cause
        assert {metric: told[metric]["mean"] for metric in row.metrics} == pytest.approx(row.metrics)
        assert (row.value, row.sense, row.size) == (row.metrics["mean_bounded_slowdown"], "min", 150)
        assert (row.set, row.problem, row.status) == ("l", "sequence", "feasible"), name
    assert rows["fcfs-easy", 0].metrics != rows["fcfs-easy", 3].metrics


def test_the_instance_is_all_that_policies_share(root: Path) -> None:
    def instances(**changes: object) -> set[str]:
        return {each.instance for each in replay_tasks(Plan(seeds=(0, 1)), trace_set(root, **changes))}

    base = instances()
    assert len(base) == 1
    assert instances(name="other", policies=("sjf",)) == base
    for change in ({"jobs": 151}, {"start": 1}, {"jitter": 5}, {"rules": "cqsim", "policies": ("sjf",)}):
        assert not instances(**change) & base, change


def test_a_generated_workload(root: Path) -> None:
    each = TraceSet(generate="workload", parameters={"jobs": 60}, workload_seed=2, policies=("sjf-easy",), jobs=40)
    row = run_task(next(iter(expand_plan(Plan(traces=(each,))))))
    assert (row.outcome, row.size, row.set) == ("ok", 40, "workload"), row.cause


def test_rows_say_that_estimates_are_perfect(root: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.swf"
    bare.write_text("; MaxProcs: 9\n" + "".join(line(f1=i, f2=i, f9=-1 if i % 4 else 99) for i in range(1, 41)))
    row = run_task(next(iter(replay_tasks(Plan(), TraceSet(file=str(bare), policies=("fcfs-easy",))))))
    assert row.metrics["perfect_estimates"] == 0.75
    parameters = {"model": "trace", "like": str(bare), "walltimes": "factor:2"}
    modelled = TraceSet(generate="workload", parameters=parameters, policies=("fcfs-easy",))
    assert "perfect_estimates" not in run_task(next(iter(replay_tasks(Plan(), modelled)))).metrics


def test_one_sequence_of_the_locked_environment(root: Path) -> None:
    with pytest.raises(SpecError, match="start and jobs say which"):
        list(replay_tasks(Plan(), trace_set(root, rules="rlscheduler", policies=("sjf",), jobs=None)))
    each = trace_set(root, rules="rlscheduler", policies=("sjf-easy",), start=10)
    row = run_task(next(iter(replay_tasks(Plan(), each))))
    assert (row.outcome, row.size) == ("ok", 150), row.cause


def test_rows_and_tables_say_where_the_clock_of_f1_to_f4_begins(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    each = trace_set(root, start=40, policies=("f4", "own=f4:clock=sequence", "sjf"))
    rows = [run_task(task) for task in replay_tasks(Plan(), each)]
    assert [row.parameters.get("clock") for row in rows] == ["trace", "sequence", None]
    assert rows[0].value != rows[1].value
    summed = replay_summaries(to_frame(rows))
    assert summed.select("policy", "clock").unique(maintain_order=True).rows() == [
        ("f4", "trace"), ("own", "sequence"), ("sjf", None),
    ]  # fmt: skip
    said = (
        "f4: submission times on the trace's clock (clock=trace)",
        "own: submission times on a clock that starts with the jobs that are replayed (clock=sequence)",
    )
    (table,) = map(table_of, replayed(to_frame(rows)))
    assert all(f" {line}." in table.note for line in said)
    write_part(tmp_path / "rows.parquet", to_frame(rows))
    assert run(["bench", "score", str(tmp_path / "rows.parquet")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert all(line in shown for line in said), shown


def test_faults_become_rows(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fine = next(iter(replay_tasks(Plan(), trace_set(root))))
    moved = run_task(msgspec.structs.replace(fine, instance="0" * 32))
    assert moved.outcome == "error"
    assert "the task is about 0000" in str(moved.cause)
    with monkeypatch.context() as patch:
        patch.setattr("transom.simulation.output.verification.check_schedule", lambda *_: ["job 7: starts early"])
        wrong = run_task(fine)
    assert (wrong.outcome, wrong.cause, wrong.value) == ("wrong", "job 7: starts early", None)
    with monkeypatch.context() as patch:
        patch.setattr("transom.simulation.output.metrics.summary", lambda *_: 1 / 0)
        raised = run_task(fine)
    assert raised.outcome == "error"
    assert "ZeroDivisionError" in str(raised.cause)
    assert run_task(fine).outcome == "ok"
