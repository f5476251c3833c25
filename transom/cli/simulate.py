"""``transom simulate``: what would these policies have done to a trace?"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli import options
from transom.cli.output import check_writable, describe, note, number, print_json, print_table, progress

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from transom.simulation import Schedule
    from transom.simulation.metrics import Trim
    from transom.simulation.runs import Run


class By(StrEnum):
    """How to break the figures down."""

    mode = "mode"
    size = "size"
    week = "week"


class Format(StrEnum):
    """Formats of a figure."""

    png = "png"
    pdf = "pdf"
    svg = "svg"


def command(
    trace: options.Trace,
    policy: Annotated[
        list[str], typer.Option("--policy", help="[LABEL=]SPEC, such as fcfs-easy; give it again to compare.")
    ],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for jobs, decisions and figures.")] = None,
    start: options.Start = 0,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    jitter: Annotated[
        int,
        typer.Option(
            "--jitter", min=0, max=10**9, help="Move submissions by up to so many seconds in each repetition."
        ),
    ] = 0,
    repeats: Annotated[
        int, typer.Option("--repeats", min=0, help="Replay so many more times, jittered and with other seeds.")
    ] = 0,
    tau: Annotated[float, typer.Option("--tau", help="Bound of the bounded slowdown [s].")] = 10.0,
    warm_up: Annotated[
        float, typer.Option("--warm-up", min=0, help="Leave jobs of the first so many seconds out of the figures.")
    ] = 0.0,
    cool_down: Annotated[
        float, typer.Option("--cool-down", min=0, help="Leave jobs of the last so many seconds out of the figures.")
    ] = 0.0,
    by: Annotated[list[By] | None, typer.Option("--by", help="Break the figures down; may be repeated.")] = None,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw into DIR/figures.")] = True,
    formats: Annotated[list[Format] | None, typer.Option("--format", help="Of figures; may be repeated.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replay even what is finished in DIR.")] = False,
    json: options.Json = False,
    nodes: options.Nodes = None,
    size: options.SizeOption = options.Size.requested,
    walltime: options.WalltimeOption = options.Walltime.requested_else_runtime,
    long_runs: options.LongRunsOption = options.LongRuns.cut,
    nonpositive: options.NonpositiveOption = options.Bad.drop,
    oversized: options.OversizedOption = options.Bad.drop,
) -> None:
    """Replay a trace under one or more policies, side by side.

    With --out, DIR/LABEL/jobs.parquet and decisions.parquet hold every job and every decision;
    what is finished there is not computed again. Schedules are chaotic: --jitter 60 --repeats 10
    shows how much of a difference is noise.
    """
    from transom.errors import SpecError
    from transom.simulation.metrics import Trim, summary
    from transom.simulation.runs import parse_runs, repetitions, replay

    if jitter and not repeats:
        raise SpecError("--jitter needs --repeats")
    if not tau > 0:
        raise SpecError(f"--tau must be > 0, got {tau}")
    runs = parse_runs(policy, seed)
    rules = (size, walltime, long_runs, nonpositive, oversized)
    workload = options.read_workload(trace, nodes, start, jobs, *rules)
    names = ("size", "walltime", "long_runs", "nonpositive", "oversized")
    reading: dict[str, Any] = {name: rule.value for name, rule in zip(names, rules, strict=True)}
    details = {"trace": str(trace), "rules": {"nodes": nodes, "start": start, "jobs": jobs, **reading}}
    trim = Trim(head_seconds=warm_up, tail_seconds=cool_down)
    if not trim.counts(workload.jobs.submit).any():
        raise SpecError(f"--warm-up {warm_up:g} and --cool-down {cool_down:g} leave no job of the trace")
    if out:
        # Before the work, not after it.
        for run in runs:
            check_writable(out / run.label / "jobs.parquet", ".parquet")
        if figures:
            check_writable(out / "figures" / "timeline.png", ".png")
    for line in describe(workload):
        note(line)

    schedules: list[Schedule] = []
    summaries: list[dict[str, float]] = []
    repeated: list[list[dict[str, float]]] = []
    with progress() as bars:
        tasks = [bars.add_task(run.label, total=len(workload) + repeats, start=False) for run in runs]
        for run, task in zip(runs, tasks, strict=True):
            bars.start_task(task)
            schedule, read = replay(workload, run, out, details, force, partial(_advance, bars, task))
            bars.update(task, completed=len(workload), description=f"{run.label} (kept)" if read else run.label)
            schedules.append(schedule)
            summaries.append(summary(schedule, tau, trim))
            repeated.append([])
            for each in repetitions(workload, run, jitter, repeats, out, tau, trim, force):
                repeated[-1].append(each)
                bars.advance(task)
    drawn = _draw(schedules, out / "figures", formats or [Format.png], trim) if out and figures else []

    if json:
        breakdowns = [_breakdowns(schedule, trim) for schedule in schedules]
        rows = zip(runs, schedules, summaries, repeated, breakdowns, strict=True)
        print_json(
            {
                "trace": str(trace),
                "workload": workload.digest(),
                "jobs": len(workload),
                "nodes": workload.cluster.num_nodes,
                "repairs": dict(workload.repairs),
                "policies": [_document(*row, out) for row in rows],
                "figures": [str(path) for path in drawn],
            }
        )
        return
    _print_summaries(f"{workload.name} under {schedules[0].rules} events", runs, summaries, repeated)
    for kind in by or []:
        _print_breakdown(kind, runs, schedules, trim)
    if out:
        note(f"jobs and decisions: {out}/LABEL/jobs.parquet, decisions.parquet")
    for path in drawn:
        note(f"figure: {path}")


def _advance(bars: Progress, task: TaskID, started: int) -> None:
    bars.update(task, completed=started)


def _draw(schedules: list[Schedule], folder: Path, formats: list[Format], trim: Trim) -> list[Path]:
    from transom.plot import figures

    return figures(schedules, folder, [each.value for each in formats], trim)


_COLUMNS = {
    "mean wait [h]": ("mean_wait", 3600, 2),
    "median wait [h]": ("median_wait", 3600, 2),
    "max wait [h]": ("max_wait", 3600, 1),
    "mean response [h]": ("mean_response", 3600, 2),
    "mean slowdown": ("mean_slowdown", 1, 1),
    "mean bounded slowdown": ("mean_bounded_slowdown", 1, 2),
    "utilisation [%]": ("utilisation", 0.01, 1),
    "ready [%]": ("job_share_ready", 0.01, 1),
    "reserved [%]": ("job_share_reserved", 0.01, 1),
    "backfilled [%]": ("job_share_backfilled", 0.01, 1),
}


def _print_summaries(
    title: str, runs: list[Run], summaries: list[dict[str, float]], repeated: list[list[dict[str, float]]]
) -> None:
    from transom.simulation.metrics import aggregate

    def cell(name: str, unit: float, digits: int, one: dict[str, float], many: list[dict[str, float]]) -> str:
        if not many:
            return number(one[name] / unit, digits)
        mean, deviation = aggregate(many)[name]
        return f"{number(mean / unit, digits)} ± {number(deviation / unit, digits)}"

    rows = [
        [run.label, *(cell(*column, one, many) for column in _COLUMNS.values())]
        for run, one, many in zip(runs, summaries, repeated, strict=True)
    ]
    over = f"; mean ± deviation over {len(repeated[0])} repetitions" if repeated[0] else ""
    print_table(title + over, ["policy", *_COLUMNS], rows)


def _print_breakdown(kind: By, runs: list[Run], schedules: list[Schedule], trim: Trim) -> None:
    rows = []
    for run, schedule in zip(runs, schedules, strict=True):
        for label, group in _breakdowns(schedule, trim)[kind.value].items():
            shares = [number(100 * group["job_share"], 2), number(100 * group["node_hour_share"], 2)]
            waits = [number(group["mean_wait"] / 3600), number(group["max_wait"] / 3600, 1)]
            rows.append([run.label, label, str(group["jobs"]), *shares, *waits])
    columns = ["policy", str(kind), "jobs", "jobs [%]", "node-hours [%]", "mean wait [h]", "max wait [h]"]
    print_table(f"by {kind}", columns, rows)


def _breakdowns(schedule: Schedule, trim: Trim) -> dict[str, dict[str, dict[str, float]]]:
    from transom.simulation.breakdowns import by_mode, by_size, by_week

    weeks = by_week(schedule, trim)
    return {
        "mode": {label: group._asdict() for label, group in by_mode(schedule, trim).items()},
        "size": {label: group._asdict() for label, group in by_size(schedule, trim=trim).items()},
        "week": {
            str(week.number): {"start": week.start, "utilisation": week.utilisation, **week.group._asdict()}
            for week in weeks
        },
    }


def _document(
    run: Run,
    schedule: Schedule,
    figures: dict[str, float],
    repeated: list[dict[str, float]],
    breakdowns: dict[str, Any],
    out: Path | None,
) -> dict[str, Any]:
    from transom.simulation.metrics import aggregate

    return {
        "policy": run.label,
        "spec": run.spec,
        "seed": run.seed,
        "rules": schedule.rules,
        "folder": str(out / run.label) if out else None,
        "metrics": figures,
        "repeats": len(repeated),
        "jittered": {name: each._asdict() for name, each in aggregate(repeated).items()} if repeated else {},
        "by": breakdowns,
    }
