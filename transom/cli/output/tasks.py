"""Replays of tasks on machines for ``transom simulate --machines``: policies side by side, chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from transom._system.wording import counted
from transom.cli.options.events import given, spelt
from transom.cli.options.tasks import SUITED, read_chunks
from transom.cli.output.console import check_recording, note, number, print_json, print_table, progress
from transom.cli.output.learned_policies import TASK_RULES, card_lines, print_cards, references

if TYPE_CHECKING:
    from transom.cli.output.progress_lines import ProgressLines
    from transom.simulation.placement.schedule import TaskSchedule
    from transom.simulation.runs import Run


def simulate_machines(context: typer.Context) -> None:
    """Replay a trace of tasks chunk by chunk under one or more policies; the options are the command's."""
    from transom.cli.options.common import refuse
    from transom.errors import SpecError
    from transom.simulation.placement.bounds import makespan_bound
    from transom.simulation.placement.event_rules import task_rules
    from transom.simulation.placement.replay import make_task_policy
    from transom.simulation.placement.runs import replay_tasks
    from transom.simulation.runs import parse_runs

    asked, options = given(context), context.params
    refuse(spelt(asked, *(name for name in asked if name not in SUITED)), "--machines")
    (trace, *others), out, rules = options["traces"], options["out"], task_rules(options["rules"])
    if others:
        raise SpecError(f"--machines takes one trace of tasks, got {1 + len(others)} files")
    if not options["policy"]:
        raise SpecError("Missing option '--policy'")
    runs = [
        replace(run, rules=rules.replayed) for run in parse_runs(options["policy"], options["seed"], make_task_policy)
    ]
    cards = card_lines((run.label, run.policy) for run in runs)
    referred = cards and options["reference"] and not options["json"]
    beside = references(runs, TASK_RULES, make_task_policy) if referred else []
    cut = {name: options[name] for name in ("machines", "chunks", "start", "jobs")}
    chunks = read_chunks(trace, **cut)
    if out:
        for run in runs:
            check_recording(out / run.label)
    work = chunks[0]
    instances = sum(int(each.instances.sum()) for each in chunks)
    jobs = sum(len(each.job_ids) for each in chunks)
    many = f"{counted(jobs, 'job')}, {counted(sum(map(len, chunks)), 'task')}, {counted(instances, 'instance')}"
    note(f"{work.name}: {many}")
    for reason, count in work.repairs.items():
        note(f"  left out: {reason}: {counted(count, 'task')}")
    bounds = [makespan_bound(each) for each in chunks]
    schedules: dict[str, list[TaskSchedule]] = {}
    with progress() as bars:
        tasks = {run.label: bars.add_task(run.label, total=instances, start=False) for run in [*runs, *beside]}
        for run, stated in zip([*runs, *beside], [*options["policy"], *(run.spec for run in beside)], strict=True):
            task = tasks[run.label]
            bars.start_task(task)
            details = {"trace": str(trace), "tasks": cut}
            folder = None if run in beside else out
            schedules[run.label], kept = replay_tasks(
                chunks, run, folder, details, options["force"], partial(_advance, bars, task)
            )
            bars.update(task, completed=instances, description=f"{run.label} (kept)" if kept else run.label)
            if options["json"]:
                for k, (schedule, bound) in enumerate(zip(schedules[run.label], bounds, strict=True)):
                    print_json(
                        {"chunk": k, "policy": run.spec if stated == run.spec else run.label}
                        | _line(run, schedule, bound)
                    )
    drawn: list[Path] = []
    if out and options["figures"]:
        from transom.plot.tasks import save_task_figures

        kinds = [each.value for each in options["formats"] or ()] or ["png"]
        asked = {run.label: schedules[run.label] for run in runs}
        drawn = save_task_figures(asked, bounds, out / "figures", kinds)
    print_cards(cards, options["json"])
    if not options["json"]:
        _print_figures(f"{work.name} under {rules.stated} events", schedules, bounds)
    if out:
        note(f"jobs, instances and decisions: {out}/LABEL/jobs.parquet, instances.parquet, decisions.parquet")
    for path in drawn:
        note(f"figure: {path}")


def _advance(bars: ProgressLines, task: int, started: int) -> None:
    bars.update(task, completed=started)


def _line(run: Run, schedule: TaskSchedule, bound: int) -> dict[str, Any]:
    return {
        "spec": run.spec,
        "seed": run.seed,
        "rules": schedule.rules,
        "makespan": schedule.makespan,
        "bound": bound,
        "jobs": len(schedule.workload.job_ids),
        "instances": int(schedule.workload.instances.sum()),
        "metrics": schedule.summary(),
    }


_COLUMNS: dict[str, tuple[str, float, int]] = {
    "makespan [s]": ("makespan", 1, 1),
    "mean completion [s]": ("mean_completion", 1, 1),
    "median completion [s]": ("median_completion", 1, 1),
    "max completion [s]": ("max_completion", 1, 1),
    "mean wait [s]": ("mean_wait", 1, 1),
}


def _print_figures(title: str, schedules: dict[str, list[TaskSchedule]], bounds: Sequence[int]) -> None:
    """One row per policy: means over chunks, and how far makespans lie above their lower bounds in the mean."""
    from statistics import fmean

    columns: dict[str, tuple[str, float, int]] = dict(_COLUMNS)
    for name in next(iter(schedules.values()))[0].workload.resources:
        columns[f"{name} used [%]"] = (f"utilisation_{name}", 0.01, 1)
    rows = []
    for label, chunks in schedules.items():
        figures = [each.summary() for each in chunks]
        cells = [number(fmean(one[key] for one in figures) / unit, digits) for key, unit, digits in columns.values()]
        above = fmean(each.makespan / bound for each, bound in zip(chunks, bounds, strict=True)) - 1
        rows.append([label, cells[0], number(100 * above, 2), *cells[1:]])
    first, *others = columns
    over = f"; means over {len(bounds):,} chunks" if len(bounds) > 1 else ""
    print_table(title + over, ["policy", first, "above bound [%]", *others], rows)
