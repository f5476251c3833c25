"""``transom simulate WORKFLOWS...`` and ``transom check`` of its recordings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom.io import write_documents
from transom.models import Workflow

Transom = Callable[..., Ran]

EXAMPLES = Path(__file__).parents[3] / "examples"
PLAIN = ("--nodes", 2, "--no-figures")


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "stream.jsonl"
    diamond = Workflow("diamond", ("a", "b", "c", "d"), (2, 3, 4, 1), ((0, 1), (0, 2), (1, 3), (2, 3)), submit=10)
    write_documents(path, [diamond, Workflow("chain", ("x", "y"), (5, 5), ((0, 1),), nodes=(2, 1), submit=11)])
    return path


def failure(ran: Ran, status: int = 2) -> str:
    """What a command says that fails, in one line."""
    said = ran.err or ran.out
    assert ran.status == status
    assert status == 1 or len(said.strip().splitlines()) == 1
    return said


def test_figures_by_policy_and_by_workflow(transom: Transom, stream: Path) -> None:
    (told,) = transom("simulate", stream, *PLAIN, "--policy", "fcfs", "--policy", "s=sjf", "--json").lines
    assert (told["workflows"], told["tasks"], told["nodes"]) == (2, 6, 2)
    assert [each["policy"] for each in told["policies"]] == ["fcfs", "s"]
    fcfs = told["policies"][0]
    assert [each["name"] for each in fcfs["workflows"]] == ["diamond", "chain"]
    assert [each["makespan"] for each in fcfs["workflows"]] == [7, 16]
    assert fcfs["metrics"]["mean_stretch"] == 1.3


def test_the_table_and_the_notes(transom: Transom, stream: Path) -> None:
    ran = transom("simulate", stream, *PLAIN, "--policy", "fcfs")
    assert "stream.jsonl: 2 workflows on 2 nodes" in ran.out
    assert "mean stretch" in ran.out
    assert "1.300" in ran.out


def test_several_files_of_every_format_are_one_stream(transom: Transom, stream: Path) -> None:
    files = [EXAMPLES / "diamond.dax", EXAMPLES / "wfformat.json", stream]
    (told,) = transom("simulate", *files, *PLAIN, "--policy", "fcfs", "--json").lines
    assert [each["submit"] for each in told["policies"][0]["workflows"]] == [0, 0, 10, 11]
    drawn = ("simulate", *files[:2], *PLAIN, "--policy", "fcfs", "--gap", 500, "--json")
    (told,) = transom(*drawn, "--seed", 4).lines
    assert told["policies"][0]["workflows"][1]["submit"] > 0
    assert transom(*drawn, "--seed", 4).lines[0]["workload"] == told["workload"]
    assert transom(*drawn, "--seed", 5).lines[0]["workload"] != told["workload"]


def test_a_recording_is_kept_checked_and_altered_tables_are_found(
    transom: Transom, stream: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = ("simulate", EXAMPLES / "diamond.dax", EXAMPLES / "wfformat.json", "--nodes", 2, "--gap", 60)
    command += ("--policy", "fcfs-easy", "--out", out, "--no-figures", "--json")
    first = transom(*command).lines
    begun = (out / "fcfs-easy" / "jobs.parquet").stat().st_mtime_ns
    (out / "fcfs-easy" / "workflows.parquet").unlink()
    assert transom(*command).lines == first
    assert (out / "fcfs-easy" / "jobs.parquet").stat().st_mtime_ns == begun
    tasks = pl.read_parquet(out / "fcfs-easy" / "tasks.parquet")
    assert {"workflow", "task", "job_id", "ready", "wait", "bounded_slowdown"} <= set(tasks.columns)

    check = ("check", EXAMPLES / "diamond.dax", EXAMPLES / "wfformat.json", out)
    assert "all sound: 1 x schedule of" in transom(*check).out
    assert "replay of other workflows" in failure(transom("check", EXAMPLES / "diamond.dax", out))
    path = out / "fcfs-easy" / "workflows.parquet"
    card = {"transom": pl.read_parquet_metadata(path)["transom"]}
    flows = pl.read_parquet(path)
    flows.with_columns(makespan=pl.col("makespan") + 1).write_parquet(path, metadata=card)
    assert "workflows.parquet: row 1: makespan is" in failure(transom(*check), 1)
    path.unlink()
    assert "workflows.parquet" in failure(transom(*check[:-1], out / "fcfs-easy"))


def test_a_recording_of_combined_tasks_is_checked_by_job_and_by_task(
    transom: Transom, stream: Path, tmp_path: Path
) -> None:
    fork = Workflow("fork", ("s", "a", "b", "c"), (1, 5, 6, 7), ((0, 1), (0, 2), (0, 3)), programs=("s", *"xxx"))
    flows = tmp_path / "fork.json"
    write_documents(flows, [fork])
    out = tmp_path / "out"
    command = ("simulate", flows, stream, "--nodes", 4, "--policy", "fcfs", "--no-figures", "--out", out, "--json")
    (plain,) = transom(*command).lines
    (told,) = transom(*command, "--combine").lines
    assert "jobs" not in plain
    assert (told["tasks"], told["jobs"], plain["tasks"]) == (10, 8, 10)
    assert told["policies"][0]["metrics"] == plain["policies"][0]["metrics"]  # there is room for all
    tasks = pl.read_parquet(out / "fcfs" / "tasks.parquet")
    assert tasks["job_id"].to_list() == [1, 2, 2, 2, 3, 4, 5, 6, 7, 8]
    assert "all sound: 1 x schedule of 10 tasks of 3 workflows" in transom("check", flows, stream, out).out
    assert "replay of other workflows" in failure(transom("check", stream, flows, out))
    path = out / "fcfs" / "tasks.parquet"
    card = {"transom": pl.read_parquet_metadata(path)["transom"]}
    tasks.with_columns(job_id=pl.Series([1, 1, 2, 2, *tasks["job_id"].to_list()[4:]])).write_parquet(
        path, metadata=card
    )
    said = failure(transom("check", flows, stream, out), 1)
    assert "starts before a job it depends on has ended" in said
    assert "--combine does not go with" in failure(
        transom("simulate", trace_of(tmp_path), "--combine", "--policy", "fcfs")
    )


def test_workflows_are_solved_together_and_checked(transom: Transom, stream: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    solve = ("solve", stream, EXAMPLES / "diamond.dax", "--together", "--nodes", 2, "--out", out)
    picture = tmp_path / "window.png"
    (told,) = transom(*solve, "--json", "--solutions", "--picture", picture).lines
    starts = {name: start for name, start, _ in told["schedule"]}
    assert {"diamond/a", "chain/x", "chain/y"} <= starts.keys()
    assert len(starts) == 10
    # The clock starts with diamond.dax, at 0 s.
    assert starts["diamond/a"] >= 10
    assert starts["chain/x"] >= 11
    assert picture.stat().st_size > 0
    check = ("check", stream, EXAMPLES / "diamond.dax", out, "--together", "--nodes", 2)
    assert "all sound: 1 x optimal workflow" in transom(*check).out
    assert "holds no replay of workflows" in failure(transom("check", stream, EXAMPLES / "diamond.dax", out))
    assert "which" in failure(transom("check", stream, out, "--together", "--nodes", 2))
    knapsack = tmp_path / "k.kp"
    knapsack.write_text("\n2\n5\n\n3 4\n4 5\n")
    assert "--together is for workflows" in failure(transom("solve", stream, knapsack, "--together", "--nodes", 2))


def trace_of(folder: Path) -> Path:
    trace = folder / "trace.swf"
    trace.write_text("1 0 0 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1\n")
    return trace


def test_figures_are_a_timeline_and_a_gantt_chart_by_policy(transom: Transom, stream: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    transom("simulate", stream, "--nodes", 2, "--policy", "fcfs", "--out", out, "--format", "svg")
    assert sorted(path.name for path in (out / "figures").iterdir()) == ["gantt_fcfs.svg", "timeline.svg"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--nodes", 1, "--policy", "fcfs"), "stream.jsonl: workflow 'chain': task 'x' needs 2 nodes"),
        (("--policy", "fcfs"), "they state no machine; --nodes"),
        (("--nodes", 2, "--policy", "fcfs", "--by", "size"), "--by does not go with workflows"),
        (("--nodes", 2, "--policy", "fcfs", "--gap", 5), "'diamond' states when it is submitted"),
        (("--nodes", 2, "--policy", "fcfs", "--tau", 0), "--tau must be > 0"),
    ],
)
def test_what_does_not_go_is_said_in_one_line(
    transom: Transom, stream: Path, options: tuple[object, ...], says: str
) -> None:
    assert says in failure(transom("simulate", stream, *options))


def test_malformed_workflows_and_traces_among_them(transom: Transom, stream: Path, tmp_path: Path) -> None:
    tasks = [{"name": "a", "runtime": 1, "parents": ["b"]}, {"name": "b", "runtime": 1, "parents": ["a"]}]
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"format": "transom/workflow/1", "name": "w", "tasks": tasks}))
    error = failure(transom("simulate", stream, bad, *PLAIN, "--policy", "fcfs"))
    assert f"{bad}: workflow: tasks wait for each other in a cycle: a -> b -> a" in error or "b -> a -> b" in error
    trace = trace_of(tmp_path)
    error = failure(transom("simulate", stream, trace, *PLAIN, "--policy", "fcfs"))
    assert f"{trace}: holds no workflows" in error
    assert "--gap does not go with" in failure(transom("simulate", trace, "--gap", 5, "--policy", "fcfs"))
    assert "is checked against one file" in failure(transom("check", trace, trace, bad))


def test_policies_of_one_name_are_told_apart(transom: Callable[..., Ran], tmp_path: Path) -> None:
    """The command that docs/workflows.md shows."""
    policies = "mars", "mars:min=16,median=64,large=saf-easy", "sjf-easy"
    asked = [each for policy in policies for each in ("--policy", policy)]
    ran = transom(
        "simulate", "examples/diamond.dax", "--nodes", 64, *asked, "--out", tmp_path, "--no-figures", "--json"
    )
    labels = ["mars", "mars-min-16-median-64-large-saf-easy", "sjf-easy"]
    assert [each["policy"] for each in ran.lines[0]["policies"]] == labels
    assert [each["spec"] for each in ran.lines[0]["policies"]] == list(policies)
    assert sorted(path.name for path in tmp_path.iterdir()) == labels
