"""``transom generate placement``: instances of tasks on machines, random or out of replays of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable
from transom.cli.output.instances import write_and_report


def command(
    out: options.DocumentsOut,
    family: Annotated[str | None, typer.Option("--family", help="uniform (default) or alibaba.")] = None,
    like: Annotated[
        Path | None, typer.Option("--like", help="Take windows from replays of this file of tasks, chunk by chunk.")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of placements.")] = 1,
    tasks: Annotated[int | None, typer.Option("--tasks", help="Number of waiting tasks. By default 20.")] = None,
    machines: Annotated[int | None, typer.Option("--machines", help="Number of machines. By default 5.")] = None,
    number: Annotated[int | None, typer.Option("--number", help="uniform: number of resources. By default 2.")] = None,
    largest: Annotated[
        int | None, typer.Option("--largest", help="uniform: the largest demand. By default 100.")
    ] = None,
    tightness: Annotated[
        float | None,
        typer.Option("--tightness", help="uniform: capacity as a share of the total demand. By default 0.5."),
    ] = None,
    kinds: Annotated[
        int | None, typer.Option("--kinds", help="uniform: number of machine sizes. By default 2.")
    ] = None,
    busy: Annotated[
        float | None,
        typer.Option(
            "--busy", help="alibaba: probability that a batch of tasks on full machines still runs. By default 0.9."
        ),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="like: the machines. By default count=5,cpu=64,memory=1.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", help="like: number of jobs in a chunk. By default 10.")] = None,
    skip: Annotated[int | None, typer.Option("--skip", help="like: number of chunks to skip at the beginning.")] = None,
    solver: Annotated[
        str | None,
        typer.Option("--solver", help="like: solver that places the tasks in the replay. By default first-fit."),
    ] = None,
    every: Annotated[
        int | None, typer.Option("--every", help="like: minimum time between two windows, in seconds. By default 60.")
    ] = None,
    minimum: Annotated[
        int | None, typer.Option("--minimum", help="like: skip windows with fewer than N waiting tasks. By default 2.")
    ] = None,
    objective: Annotated[
        str, typer.Option("--objective", help="Value of a placed instance: count, area or area-duration.")
    ] = "area",
    maximal: Annotated[
        bool, typer.Option("--maximal", help="Require that no instance that still fits is left out.")
    ] = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate placements: instances of tasks on machines with several capacities.

    The family alibaba resembles windows of Alibaba's trace of 2017. With --like FILE, windows are taken from
    replays of a file of tasks, with the machines as busy as they were.
    """
    from transom.generate.recipes import recipe

    check_writable(out, ".jsonl", ".json")
    drawn = {
        "family": family, "tasks": tasks, "machines": machines, "number": number, "largest": largest,
        "tightness": tightness, "kinds": kinds, "busy": busy,
    }  # fmt: skip
    met = {"cluster": cluster, "jobs": jobs, "skip": skip, "solver": solver, "every": every, "minimum": minimum}
    if like is not None:
        options.refuse({f"--{name}": value for name, value in drawn.items()}, "--like")
        drawn = {"like": str(like)}
    else:
        options.refuse({f"--{name}": value for name, value in met.items()}, "a family")
    stated = {name: value for name, value in {**drawn, **met}.items() if value is not None}
    made = recipe("placement", {**stated, "objective": objective, "maximal": maximal}).make(seed, count)
    write_and_report(out, made, "placement", json)
