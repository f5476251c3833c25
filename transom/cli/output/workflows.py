"""Replays of workflows for ``transom simulate``: policies side by side, figures by task and by workflow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options.nodes import NodeOptions, chosen_runs
from transom.cli.options.workflows import read_stream
from transom.cli.output.console import check_writable, describe, note, number, print_json, print_table, remarked
from transom.cli.output.learned_policies import card_lines, print_cards, references
from transom.cli.output.schedule_tables import TIME, note_diagnostics, sized
from transom.cli.output.side_by_side import Comparison, drawing, side_by_side

if TYPE_CHECKING:
    from transom.simulation import Schedule
    from transom.simulation.runs import Run
    from transom.simulation.workflows.stream import WorkflowStream

_COLUMNS: dict[str, tuple[str, float, int]] = {
    "makespan [s]": ("makespan", 1, 0),
    "mean makespan of a workflow [s]": ("mean_makespan", 1, 0),
    "mean stretch": ("mean_stretch", 1, 3),
    "max stretch": ("max_stretch", 1, 3),
    "mean wait of a task": ("mean_wait", TIME, 2),
    "mean slowdown": ("mean_slowdown", 1, 2),
    "mean bounded slowdown": ("mean_bounded_slowdown", 1, 2),
    "mean slowdown per processor": ("mean_per_processor_slowdown", 1, 2),
    "utilisation [%]": ("utilisation", 0.01, 1),
}


def simulate_workflows(
    asked: Comparison,
    files: Sequence[Path],
    nodes: int | None,
    period: int | None,
    gap: float | None,
    combine: bool,
    tau: float,
) -> None:
    """Replay workflows under one or more policies.

    Parameters
    ----------
    asked : the policies, and what is kept and shown.
    files, nodes, gap : the workflows, the size of the machine, and seconds between their submissions
        (:func:`~transom.cli.options.workflows.read_stream`).
    period : of a policy that stands for all others [s].
    combine : whether compatible tasks are combined before the replay.
    tau : bound of the bounded slowdown [s].

    Raises
    ------
    TransomError : a file cannot be read, or one of these options is not valid.
    """
    from transom.learned.mars.classes import chosen_policy, classes_of
    from transom.simulation.output.verification import check_schedule
    from transom.simulation.policies.by_name import deciding
    from transom.simulation.runs import replay, stand
    from transom.simulation.workflows.combination import combined_stream
    from transom.simulation.workflows.figures import workflow_summary
    from transom.simulation.workflows.recording import write_workflows

    out = asked.out
    options.check_positive("--tau", tau)
    stream = read_stream(files, nodes, gap, asked.seed)
    policies = [chosen_policy(text, stream.workflows) for text in asked.policies]
    runs = chosen_runs(policies, period, asked.seed, NodeOptions())
    combination = combined_stream(stream) if combine else None
    workload = stream.workload if combination is None else combination.replayed.workload
    deciders = ((run.label, deciding(run.policy)) for run in runs)
    cards = card_lines(deciders, workload.cluster.num_nodes, classes_of(stream.workflows))
    beside = references(runs) if cards and asked.reference and not asked.json else []
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
    read = {"nodes": nodes, "gap": gap, "seed": asked.seed}
    details: dict[str, Any] = {"files": [str(path) for path in files], "workflows": read}
    details |= {} if combination is None else {"combined": stream.workload.digest()}

    def one(run: Run, report: Callable[[int], None]) -> tuple[Schedule, bool]:
        folder = None if run in beside else out
        schedule, kept = replay(workload, run, folder, details, asked.force, report)
        if folder:
            write_workflows(stream, schedule, folder / run.label, tau, combination)
        return schedule, kept

    own = len(runs)
    runs += beside
    schedules = side_by_side(runs, len(workload), one)
    note_diagnostics(workload, runs, schedules)
    drawn: list[Path] = []
    if asked.pictures:
        from transom.plot.all_figures import save_workflow_figures

        names = [each.name for each in stream.workflows]
        with drawing():
            drawn = save_workflow_figures(schedules[:own], asked.pictures, asked.formats, names)
    if combination is not None:  # what was drawn are the jobs; figures are those of their tasks
        schedules = [combination.expanded(schedule) for schedule in schedules]
        for schedule in schedules:
            stand(check_schedule(stream.workload, schedule))
    figures = [workflow_summary(stream, schedule, tau) for schedule in schedules]
    print_cards(cards, asked.json)
    if asked.json:
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
    stated = (sized(head, *column, [each[column[0]] for each in figures]) for head, column in _COLUMNS.items())
    columns = dict(stated)
    rows = [
        [run.label, *(number(figure[name] / unit, digits) for name, unit, digits in columns.values())]
        for run, figure in zip(runs, figures, strict=True)
    ]
    many = f"{counted(len(stream.workflows), 'workflow')} on {counted(workload.cluster.num_nodes, 'node')}"
    title = f"{workload.name}: {many}"
    title += "" if combination is None else ", tasks combined"
    print_table(remarked(title, workload), ["policy", *columns], rows)
    if out:
        note(f"tasks and workflows: {out}/LABEL/tasks.parquet, workflows.parquet, beside jobs and decisions")
    for path in drawn:
        note(f"figure: {path}")


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
