"""``transom when``: when will a job start?"""

from __future__ import annotations

from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.output.console import print_json, print_table, remarked


def command(
    trace: options.Trace,
    job: Annotated[list[int], typer.Option("--job", help="Id of a job. Repeat for several.")],
    policy: Annotated[
        str, typer.Option("--policy", autocompletion=completion.policies, help="Policy: a priority rule.")
    ] = "fcfs-easy",
    at: Annotated[
        int | None, typer.Option("--at", min=0, help="When to ask, in seconds. By default, as the job is submitted.")
    ] = None,
    nodes: options.Nodes = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Forecast when jobs of a trace start, from what was known when they were submitted.

    Each answer has the walltime plan, which assumes that every job runs to its limit and that no job is submitted, and
    quantiles of the start over sampled futures, calibrated on jobs that started before. With --json, one line per job.
    """
    import numpy as np

    from transom.forecast.questions import ask
    from transom.traces import read_swf
    from transom.traces.swf_columns import read_fields

    workload = read_swf(trace, nodes=nodes)
    name = read_fields(trace, [14], workload.jobs.id)[14].astype(np.int64)
    answers = ask(workload, policy, job, at, name, seed)
    if json:
        for each in answers:
            print_json(each._asdict())
        return
    rows = [[*(f"{value}" for value in each[:6]), str(each.because.get("text", "it has started"))] for each in answers]
    print_table(
        remarked(f"starts under {policy} [s]", workload), ["job", "now", "plan", "p10", "p50", "p90", "because"], rows
    )
