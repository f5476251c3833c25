"""``transom calibrate``: how close is a replay to what the cluster did?"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.durations import column_unit, times
from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.outages import OnFailureOption, OutagesOption, with_outages
from transom.cli.options.reading import Reading, read_workload
from transom.cli.options.structs import with_structs
from transom.cli.output.console import describe, note, number, print_json, print_table, progress, remark, which_machine
from transom.cli.output.schedule_tables import limits_line

if TYPE_CHECKING:
    from transom.cli.output.progress_lines import ProgressLines
    from transom.simulation.output.calibration import Calibration


@with_structs
def command(
    context: typer.Context,
    trace: options.Trace,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            autocompletion=completion.policies,
            help="Policy that stands for the cluster's scheduler: [LABEL=]SPEC. By default, slurm-backfill. Repeat to "
            "see which comes closest.",
        ),
    ] = None,
    outages: OutagesOption = None,
    on_failure: OnFailureOption = "requeue",
    start: options.Start = 0,
    jobs: options.Jobs = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    nodes: options.Nodes = None,
    *,
    reading: Reading,
) -> None:
    """Compare the starts of a replay with those that the log states.

    The trace must state when its jobs started: `transom import` keeps it, and SWF has the wait in field 3. The
    table says, for all jobs and each partition, how far replayed and logged starts lie apart, how many pairs of jobs
    that waited together start in the logged order, and how the waits compare. Differences between policies that are
    smaller than the error of this model say nothing about the cluster. Results are kept in TRACE.calibration.json, or
    in the user's cache where that cannot be.
    """
    from transom.simulation.calibrated import Calibrated, calibrated
    from transom.simulation.output.calibration import start_after_end
    from transom.simulation.runs import parse_runs

    runs = parse_runs(policy or ["slurm-backfill"], seed)
    workload = read_workload(trace, nodes, start, jobs, seed=seed, reading=reading)
    for line in describe(workload):
        note(line)
    runs, broken = with_outages(runs, outages, on_failure, workload, context)
    for line in broken.notes:
        note(line)
    found: dict[str, Calibrated] = {}
    with progress() as bars:
        for run in runs:
            task = bars.add_task(run.label, total=len(workload))
            found[run.label] = calibrated(workload, run, progress=partial(_report, bars, task))
            bars.update(task, completed=len(workload))
    if json:
        rows = [
            {"policy": run.label, "spec": run.spec, "groups": _documents(each.groups), **_limits(each.limits)}
            for run, each in zip(runs, found.values(), strict=True)
        ]
        print_json(
            {
                "trace": str(trace),
                "workload": workload.digest(),
                "jobs": len(workload),
                **broken.document(),
                **workload.facts,
                "start_after_end": start_after_end(workload),
                "policies": rows,
            }
        )
        return
    for line in (*which_machine(workload), *broken.unasked):
        remark(line)
    every = [one for each in found.values() for one in each.groups.values()]
    sign, unit = column_unit((each for one in every for each in (one.logged_wait, one.replayed_wait)), 2)
    columns = ("median error", "90 % within", "order kept", f"logged wait [{sign}]", f"replayed [{sign}]", "distance")
    print_table(
        f"{workload.name}: starts of the replay beside those of the log",
        ["policy", "jobs of", "jobs", *columns],
        [
            [label, name, str(one.jobs), *_cells(one, unit)]
            for label, each in found.items()
            for name, one in each.groups.items()
        ],
        left=2,
    )
    for run, each in zip(runs, found.values(), strict=True):
        if limited := limits_line(run.label, each.limits, each.decisions):
            note(limited)
    if (after := start_after_end(workload)) is not None:
        remark(f"by the log, jobs that waited start {times(after)[0]} after the end of another, on average")
    for label, each in found.items():
        remark(f"{label}: {sentence(next(iter(each.groups.values())))}")


def _report(bars: ProgressLines, task: Any, started: int) -> None:
    bars.update(task, completed=started)


def sentence(one: Calibration) -> str:
    """How far the replay can be trusted, in words."""
    near = (
        f"half of the jobs start within {times(one.error_median)[0]} of the log, 90 % within {times(one.error_p90)[0]}"
    )
    order = one.order_agreement_queued
    kept = "" if math.isnan(order) else f"; {100 * order:.0f} % of the pairs that waited together keep their order"
    ratio = one.wait_ratio
    if math.isnan(ratio):
        return f"{near}{kept}. Nobody waited by the log: the trace cannot tell policies apart."
    of_mean, error = 100 * abs(ratio - 1), 100 * one.wait_error
    missed = "less than 1" if 0 < of_mean < 0.5 else f"{of_mean:.0f}"
    wait = (
        f"the mean wait is {missed} % {'above' if ratio > 1 else 'below'} the log's"
        if of_mean
        else "the mean wait is that of the log"
    )
    by_day = f", and {error:.0f} % off on single days" if f"{error:.0f}" != f"{of_mean:.0f}" else ""
    trust = f"differences in mean wait below {max(error, 1):.0f} % say nothing about this cluster"
    return f"{near}{kept}; {wait}{by_day}: {trust}."


def _cells(one: Calibration, unit: float) -> list[str]:
    return [
        times(one.error_median)[0],
        times(one.error_p90)[0],
        number(100 * one.order_agreement_queued, 1) + " %",
        number(one.logged_wait / unit, 2),
        number(one.replayed_wait / unit, 2),
        number(one.wait_distance, 3),
    ]


def _documents(groups: dict[str, Calibration]) -> list[dict[str, object]]:
    return [
        {"group": name, **one._asdict(), "wait_ratio": one.wait_ratio, "wait_error": one.wait_error}
        for name, one in groups.items()
    ]


def _limits(held: dict[str, int]) -> dict[str, object]:
    return {"limits": held} if held else {}
