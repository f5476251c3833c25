"""``transom slurm play``: a trace played through a Slurm."""

from __future__ import annotations

from typing import Annotated

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options.reading import read_workload
from transom.cli.output.console import describe, note, print_json, progress, remark


def command(
    trace: options.Trace,
    faster: Annotated[float, typer.Option("--faster", help="Divide all times of the trace by X.")] = 1.0,
    smaller: Annotated[float, typer.Option("--smaller", help="Divide sizes of jobs by X, and round up.")] = 1.0,
    held: Annotated[bool, typer.Option("--held", help="Submit held jobs, for `transom slurm run`.")] = False,
    at_once: Annotated[
        bool,
        typer.Option("--at-once", help="Submit all jobs at once, with the times of their arrivals as begin times."),
    ] = False,
    clock: Annotated[
        float, typer.Option("--clock", help="Seconds of Slurm's clock in one of ours, for emulated Slurms.")
    ] = 1.0,
    option: Annotated[
        list[str] | None,
        typer.Option("--sbatch", metavar="OPTION", help="A further option of sbatch, such as --sbatch=-ptest. Repeat."),
    ] = None,
    start: options.Start = 0,
    jobs: options.Jobs = None,
    nodes: options.Nodes = None,
    json: options.Json = False,
) -> None:
    """Submit the jobs of a trace to the Slurm of this machine, each when it arrived in the trace.

    A job sleeps for its runtime on its number of nodes, with its walltime as limit. Its name is transom-ID. The
    command ends when all are submitted; Ctrl-C submits no more. `transom slurm record` writes what happened.
    """
    from transom.slurm.playing import Manner, play

    manner = Manner(faster, smaller, held, at_once, clock, tuple(option or ()))
    workload = read_workload(trace, nodes, start, jobs)
    for line in describe(workload):
        note(line)
    with progress() as bars:
        task = bars.add_task("play", total=len(workload))
        numbers = list(play(workload, manner, lambda count: bars.update(task, completed=count)))
    if json:
        print_json({"trace": str(trace), "jobs": numbers})
    else:
        remark(f"{counted(len(numbers), 'job')} submitted" + (f": {numbers[0]} to {numbers[-1]}" if numbers else ""))
