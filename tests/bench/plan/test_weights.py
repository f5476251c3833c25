"""A file of weights that changes under its path: what was done with the old ones is not done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.bench.in_process import InProcess
from tests.learned.dras.checkpoint_cases import compact, drawn
from tests.learned.repair.made import window, write_nsa_cost
from transom import registry
from transom.bench.plan.plan import InstanceSet, Plan, TraceSet
from transom.bench.plan.task import Row, Task, check_weights
from transom.bench.plan.tasks import dry_run, expand_plan
from transom.bench.run.execution import run_task
from transom.bench.run.running import run_plan, states
from transom.bench.score.diagnostics import diagnostics
from transom.bench.score.score import references, scored
from transom.bench.store.store import Store, read_results
from transom.io import write_documents
from transom.learned.checkpoints import save
from transom.learned.dras.process.process import AgentConfig
from transom.registry import SOLVERS

TRACE = "instances/workloads/lublin_5000.swf.gz"


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A learned solver and one that is not, on one window."""
    write_documents(tmp_path / "one.json", [window()])
    model = write_nsa_cost(tmp_path)
    solvers = (f"learned=nsa-cost:steps=5,restarts=no,model={model}", "sequential")
    return Plan(instances=(InstanceSet(files=(str(tmp_path / "one.json"),)),), solvers=solvers)


def retrained(folder: Path) -> None:
    """Other weights where the first ones lay."""
    Path(write_nsa_cost(folder, seed=1)).rename(folder / "made-cost-0.safetensors")
    (folder / "made-cost-1.json").rename(folder / "made-cost-0.json")


class Instant(InProcess):
    """Says of every run that it is done."""

    def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
        for task in tasks:
            self.given.append(task)
            yield Row(
                key=task.key(), set=task.set, label=task.label, instance=task.instance, problem=task.problem,
                name=task.name, spec=task.spec, stop=task.stop, seed=task.seed, threads=task.threads, sense="min",
                size=5, outcome="ok", weights=task.weights, value=900.0, status="feasible",
            )  # fmt: skip


def test_rows_of_other_weights_are_replaced(tmp_path: Path, plan: Plan) -> None:
    store, first, second, third = tmp_path / "r", Instant(), Instant(), Instant()
    run_plan(plan, store, first)
    assert {task.name: bool(task.weights) for task in first.given} == {"learned": True, "sequential": False}
    run_plan(plan, store, second)
    assert second.given == []

    retrained(tmp_path)
    with Store(store) as kept:
        assert dry_run(plan, states(kept)).runs("open") == 1
    run_plan(plan, store, third)
    assert [task.name for task in third.given] == ["learned"]
    found = read_results(store)  # by now out of a Parquet file
    assert dict(found.select("name", "weights").iter_rows()) == {
        "learned": third.given[0].weights, "sequential": "",
    }  # fmt: skip
    assert found.filter(name="learned")["attempt"].to_list() == [2]
    run_plan(plan, store, last := Instant())
    assert last.given == []


def test_a_table_of_several_weights_is_reported(tmp_path: Path, plan: Plan) -> None:
    run_plan(plan, tmp_path / "r", Instant())
    more = msgspec.structs.replace(plan, seeds=(1,))
    retrained(tmp_path)
    run_plan(more, tmp_path / "r", Instant())
    told = "learned has 2 sets of weights: a file changed between its runs"
    rows = read_results(tmp_path / "r")
    assert told in diagnostics(scored(rows, references(rows)))


def test_a_run_with_other_weights_than_the_plan_saw_fails(tmp_path: Path, plan: Plan) -> None:
    task = next(each for each in expand_plan(plan) if each.name == "learned")
    retrained(tmp_path)
    row = run_task(task)
    assert row.outcome == "error"
    assert f"the task is about {task.weights}" in str(row.cause)
    check_weights(next(each for each in expand_plan(plan) if each.name == "learned"), registry.make(SOLVERS, task.spec))


def test_policies_have_weights_too(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "agent.safetensors"
    scheme = AgentConfig(2, 50, 0, 1, 86_400)
    trace = TraceSet(file=str(root / TRACE), jobs=60, policies=(f"dras-pg:model={path}", "fcfs-easy"))

    def replays(seed: int) -> dict[str, Task]:
        save(path, compact(drawn(seed), scheme, 512))
        return {task.name: task for task in expand_plan(Plan(traces=(trace,)))}

    before, after = replays(0), replays(1)
    assert before["dras-pg"].weights != after["dras-pg"].weights
    assert before["fcfs-easy"].weights == after["fcfs-easy"].weights == ""
    assert "the task is about" in str(run_task(before["dras-pg"]).cause)
    row = run_task(after["dras-pg"])
    assert (row.outcome, row.weights) == ("ok", after["dras-pg"].weights), row.cause
