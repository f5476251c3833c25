"""``transom when``: when will a job start?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.reading import Reading, read_workload
from transom.cli.options.structs import with_structs
from transom.cli.output.console import print_json, print_table, remarked


@with_structs
def command(
    trace: Annotated[
        Path, typer.Argument(help="A trace: SWF, plain or gzip, or Parquet. With --history, a snapshot of a queue.")
    ],
    job: Annotated[list[int] | None, typer.Option("--job", help="Id of a job. Repeat for several.")] = None,
    policy: Annotated[
        str, typer.Option("--policy", autocompletion=completion.policies, help="Policy: a priority rule.")
    ] = "fcfs-easy",
    at: Annotated[
        int | None, typer.Option("--at", min=0, help="When to ask, in seconds. By default, as the job is submitted.")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option("--history", help="Trace of jobs that ran before the snapshot. All queued jobs by default."),
    ] = None,
    nodes: options.Nodes = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    *,
    reading: Reading,
) -> None:
    """Forecast when jobs start, from what was known when they were submitted.

    Each answer has the walltime plan, which assumes that every job runs to its limit and that no job is submitted, and
    quantiles of the start over sampled futures, calibrated on jobs that started before. What the calibration needs is
    kept in the user's cache. With --history, the first file holds snapshots as `transom snapshot` writes them. With
    --json, one line per job.
    """
    from transom.errors import SpecError
    from transom.forecast.questions import ask
    from transom.forecast.snapshot import History
    from transom.io import read_windows
    from transom.traces.applications import read_applications

    workload = read_workload(history or trace, nodes, seed=seed, reading=reading)
    name = read_applications(history or trace, workload.jobs.id)
    if history is not None:
        options.refuse({"--at": at}, "--history")
        asked = History(workload, policy, name, seed, keep=True)
        answers = [answer for window in read_windows(trace) for answer in asked.ask(window, job)]
    elif not job:
        raise SpecError(f"{trace}: say with --job which job to ask about")
    else:
        answers = ask(workload, policy, job, at, name, seed, keep=True)
    if json:
        for each in answers:
            print_json(each._asdict())
        return
    rows = [[*(f"{value}" for value in each[:6]), each.because["text"]] for each in answers]
    print_table(
        remarked(f"starts under {policy} [s]", workload), ["job", "now", "plan", "p10", "p50", "p90", "because"], rows
    )
