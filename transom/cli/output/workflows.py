"""Replays of workflows for ``transom simulate``: policies side by side, figures by task and by workflow."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from transom._system.wording import counted
from transom.cli.options.events import given, spelt
from transom.cli.options.nodes import NodeOptions, chosen_runs
from transom.cli.options.workflows import SUITED, read_stream
from transom.cli.output.console import (
    check_writable,
    describe,
    note,
    number,
    print_json,
    print_table,
    progress,
    remarked,
)
from transom.cli.output.learned_policies import card_lines, print_cards, references

if TYPE_CHECKING:
    from transom.cli.output.progress_lines import ProgressLines
    from transom.simulation import Schedule
    from transom.simulation.runs import Run
    from transom.simulation.workflows.stream import WorkflowStream

_COLUMNS: dict[str, tuple[str, float, int]] = {
    "makespan [s]": ("makespan", 1, 0),
    "mean makespan of a workflow [s]": ("mean_makespan", 1, 0),
    "mean stretch": ("mean_stretch", 1, 3),
    "max stretch": ("max_stretch", 1, 3),
    "mean wait of a task [s]": ("mean_wait", 1, 1),
    "mean slowdown": ("mean_slowdown", 1, 2),
    "mean bounded slowdown": ("mean_bounded_slowdown", 1, 2),
    "mean slowdown per processor": ("mean_per_processor_slowdown", 1, 2),
    "utilisation [%]": ("utilisation", 0.01, 1),
}


def simulate_workflows(context: typer.Context) -> None:
    """Replay workflows under one or more policies; the options are the command's."""
    from transom.cli.options.common import refuse
    from transom.errors import SpecError
    from transom.learned.mars.classes import chosen_policy, classes_of
    from transom.simulation.output.verification import check_schedule
    from transom.simulation.policies.by_name import deciding
    from transom.simulation.runs import replay, stand
    from transom.simulation.workflows.combination import combined_stream
    from transom.simulation.workflows.figures import workflow_summary
    from transom.simulation.workflows.recording import write_workflows

    asked, options = given(context), context.params
    refuse(spelt(asked, *(name for name in asked if name not in SUITED)), "workflows")
    out, tau = options["out"], options["tau"]
    if not 0 < tau < float("inf"):
        raise SpecError(f"--tau must be > 0 and finite, got {tau}")
    nowhere = NodeOptions(None, (), None, "window", 1.0, None)
    read = {name: options[name] for name in ("nodes", "gap", "seed")}
    stream = read_stream(options["traces"], **read)
    policies = [chosen_policy(text, stream.workflows) for text in options["policy"] or ()]
    runs = chosen_runs(policies, options["period"], options["seed"], nowhere)
    combination = combined_stream(stream) if options["combine"] else None
    workload = stream.workload if combination is None else combination.replayed.workload
    deciders = ((run.label, deciding(run.policy)) for run in runs)
    cards = card_lines(deciders, workload.cluster.num_nodes, classes_of(stream.workflows))
    beside = references(runs) if cards and options["reference"] and not options["json"] else []
    if out:
        for run in runs:
            check_writable(out / run.label / "jobs.parquet", ".parquet")
    for line in describe(workload):
        note(line)
    note(f"  workflows: {len(stream.workflows):,}")
    if not workload.cluster.resources and any(flow.resources for flow in stream.workflows):
        note("  further resources of tasks are not scarce: the workflows state no machine")
    if combination is not None:
        note(f"  combined: {counted(len(stream.workload), 'task')} into {counted(len(workload), 'job')}")
    details = {"files": [str(path) for path in options["traces"]], "workflows": read}
    details |= {} if combination is None else {"combined": stream.workload.digest()}
    schedules: list[Schedule] = []
    with progress() as bars:
        runs += beside
        tasks = [bars.add_task(run.label, total=len(workload), start=False) for run in runs]
        for run, task in zip(runs, tasks, strict=True):
            bars.start_task(task)
            folder = None if run in beside else out
            schedule, kept = replay(workload, run, folder, details, options["force"], partial(_advance, bars, task))
            bars.update(task, completed=len(workload), description=f"{run.label} (kept)" if kept else run.label)
            if folder:
                write_workflows(stream, schedule, folder / run.label, tau, combination)
            schedules.append(schedule)
    kinds = [each.value for each in options["formats"] or ()] or ["png"]
    drawn = (
        _draw(stream, schedules[: len(runs) - len(beside)], out / "figures", kinds)
        if out and options["figures"]
        else []
    )
    if combination is not None:  # what was drawn are the jobs; figures are those of their tasks
        schedules = [combination.expanded(schedule) for schedule in schedules]
        for schedule in schedules:
            stand(check_schedule(stream.workload, schedule))
    figures = [workflow_summary(stream, schedule, tau) for schedule in schedules]
    print_cards(cards, options["json"])
    if options["json"]:
        print_json(
            {
                "workflows": len(stream.workflows),
                "tasks": len(stream.workload),
                **({} if combination is None else {"jobs": len(workload)}),
                "workload": workload.digest(),
                "nodes": workload.cluster.num_nodes,
                "rules": "textbook",
                **workload.facts,
                "repairs": dict(workload.repairs),
                "policies": [
                    _document(stream, run, schedule, figure, tau, out)
                    for run, schedule, figure in zip(runs, schedules, figures, strict=True)
                ],
                "figures": [str(path) for path in drawn],
            }
        )
        return
    rows = [
        [run.label, *(number(figure[name] / unit, digits) for name, unit, digits in _COLUMNS.values())]
        for run, figure in zip(runs, figures, strict=True)
    ]
    many = f"{counted(len(stream.workflows), 'workflow')} on {counted(workload.cluster.num_nodes, 'node')}"
    title = f"{workload.name}: {many}"
    title += "" if combination is None else ", tasks combined"
    print_table(remarked(title, workload), ["policy", *_COLUMNS], rows)
    if out:
        note(f"tasks and workflows: {out}/LABEL/tasks.parquet, workflows.parquet, beside jobs and decisions")
    for path in drawn:
        note(f"figure: {path}")


def _advance(bars: ProgressLines, task: int, started: int) -> None:
    bars.update(task, completed=started)


def _draw(stream: WorkflowStream, schedules: list[Schedule], folder: Path, formats: list[str]) -> list[Path]:
    from transom.plot.all_figures import save_workflow_figures

    return save_workflow_figures(schedules, folder, formats, [each.name for each in stream.workflows])


def _document(
    stream: WorkflowStream, run: Run, schedule: Schedule, figures: dict[str, float], tau: float, out: Path | None
) -> dict[str, Any]:
    from transom.simulation.workflows.figures import workflow_figures

    flows = workflow_figures(stream, schedule, tau)
    rows = zip(*(column.tolist() for column in flows), strict=True)
    return {
        "policy": run.label,
        "spec": run.spec,
        "seed": run.seed,
        "folder": str(out / run.label) if out else None,
        "metrics": figures,
        "workflows": [
            {"name": flow.name, "tasks": len(flow), **dict(zip(flows._fields, row, strict=True))}
            for flow, row in zip(stream.workflows, rows, strict=True)
        ],
    }
