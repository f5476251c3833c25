"""Replays of tasks on machines for ``transom simulate --machines``: policies side by side, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom._system.wording import counted
from transom.cli.options.tasks import read_chunks
from transom.cli.output.console import check_recording, note, number, print_json, print_table
from transom.cli.output.learned_policies import TASK_RULES, card_lines, print_cards, references
from transom.cli.output.side_by_side import Comparison, drawing, side_by_side

if TYPE_CHECKING:
    from transom.simulation.placement.schedule import TaskSchedule
    from transom.simulation.runs import Run


def simulate_machines(
    asked: Comparison,
    traces: Sequence[Path],
    machines: list[str],
    chunks: int | None,
    rules: str,
    start: int = 0,
    jobs: int | None = None,
) -> None:
    """Replay a trace of tasks chunk by chunk under one or more policies.

    Parameters
    ----------
    asked : the policies, and what is kept and shown.
    traces : the trace; of several files all are refused.
    machines, chunks, start, jobs : the machines, and which jobs are replayed at a time
        (:func:`~transom.cli.options.tasks.read_chunks`).
    rules : the event rules.

    Raises
    ------
    SpecError : there are several files or no policies, or one of these options is not valid.
    """
    from transom.errors import SpecError
    from transom.simulation.placement.bounds import makespan_bound
    from transom.simulation.placement.event_rules import task_rules
    from transom.simulation.placement.replay import make_task_policy
    from transom.simulation.placement.runs import replay_tasks
    from transom.simulation.runs import parse_runs

    ruled, (trace, *others), out = task_rules(rules), traces, asked.out
    if others:
        raise SpecError(f"--machines takes one trace of tasks, got {len(traces)} files")
    if not asked.policies:
        raise SpecError("Missing option '--policy'")
    runs = [replace(run, rules=ruled.replayed) for run in parse_runs(asked.policies, asked.seed, make_task_policy)]
    labelled = {run.label for run, text in zip(runs, asked.policies, strict=True) if text != run.spec}
    cards = card_lines((run.label, run.policy) for run in runs)
    beside = references(runs, TASK_RULES, make_task_policy) if cards and asked.reference and not asked.json else []
    cut = {"machines": machines, "chunks": chunks, "start": start, "jobs": jobs}
    work = read_chunks(trace, machines, chunks, start, jobs)
    if out:
        for run in runs:
            check_recording(out / run.label)
    instances = sum(int(each.instances.sum()) for each in work)
    counts = (sum(len(each.job_ids) for each in work), "job"), (sum(map(len, work)), "task"), (instances, "instance")
    note(f"{work[0].name}: {', '.join(counted(*each) for each in counts)}")
    for reason, count in work[0].repairs.items():
        note(f"  left out: {reason}: {counted(count, 'task')}")
    bounds = [makespan_bound(each) for each in work]

    def one(run: Run, report: Callable[[int], None]) -> tuple[list[TaskSchedule], bool]:
        details = {"trace": str(trace), "tasks": cut}
        found, kept = replay_tasks(work, run, None if run in beside else out, details, asked.force, report)
        for k, (schedule, bound) in enumerate(zip(found, bounds, strict=True)) if asked.json else ():
            print_json(
                {"chunk": k, "policy": run.label if run.label in labelled else run.spec} | _line(run, schedule, bound)
            )
        return found, kept

    compared = [*runs, *beside]
    schedules = dict(zip((run.label for run in compared), side_by_side(compared, instances, one), strict=True))
    drawn: list[Path] = []
    if asked.pictures:
        from transom.plot.tasks import save_task_figures

        own = {run.label: schedules[run.label] for run in runs}
        with drawing():
            drawn = save_task_figures(own, bounds, asked.pictures, asked.formats)
    print_cards(cards, asked.json)
    if not asked.json:
        _print_figures(f"{work[0].name} under {ruled.stated} events", schedules, bounds)
    if out:
        note(f"jobs, instances and decisions: {out}/LABEL/jobs.parquet, instances.parquet, decisions.parquet")
    for path in drawn:
        note(f"figure: {path}")


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
