"""``transom generate placement``: instances of tasks on machines, random or out of replays of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable, print_json


def command(
    out: Annotated[Path, typer.Option("--out", help="Where to write them: .jsonl or .jsonl.gz, or .json for one.")],
    family: Annotated[str | None, typer.Option("--family", help="uniform (by default) or alibaba.")] = None,
    like: Annotated[
        Path | None, typer.Option("--like", help="The windows of replays of this file of tasks, chunk by chunk.")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="How many.")] = 1,
    tasks: Annotated[int | None, typer.Option("--tasks", help="Waiting tasks; 20 by default.")] = None,
    machines: Annotated[int | None, typer.Option("--machines", help="Machines; 5 by default.")] = None,
    number: Annotated[int | None, typer.Option("--number", help="uniform: resources, 2 by default.")] = None,
    largest: Annotated[int | None, typer.Option("--largest", help="uniform: largest demand, 100 by default.")] = None,
    tightness: Annotated[
        float | None,
        typer.Option("--tightness", help="uniform: capacity per demand of all instances, 0.5 by default."),
    ] = None,
    kinds: Annotated[int | None, typer.Option("--kinds", help="uniform: sizes of machines, 2 by default.")] = None,
    busy: Annotated[
        float | None, typer.Option("--busy", help="alibaba: share of what runs on full machines, 0.9 by default.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="--like: the machines, by default count=5,cpu=64,memory=1.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", help="--like: jobs of a chunk, 10 by default.")] = None,
    skip: Annotated[
        int | None, typer.Option("--skip", help="--like: so many chunks are left out at the beginning.")
    ] = None,
    solver: Annotated[
        str | None, typer.Option("--solver", help="--like: what places in the replay, first-fit by default.")
    ] = None,
    every: Annotated[
        int | None, typer.Option("--every", help="--like: at most a window in so many seconds, 60 by default.")
    ] = None,
    minimum: Annotated[
        int | None, typer.Option("--minimum", help="--like: least number of waiting tasks, 2 by default.")
    ] = None,
    objective: Annotated[
        str, typer.Option("--objective", help="What an instance is worth: count, area or area-duration.")
    ] = "area",
    maximal: Annotated[bool, typer.Option("--maximal", help="Nothing may be left out that still fits.")] = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate placements: instances of tasks on machines with several capacities.

    The family alibaba is like the windows of Alibaba's trace of 2017; with --like FILE the windows are those
    that replays of a file of tasks met, with the machines as busy as they were.
    """
    from transom.generate.recipes import recipe
    from transom.io import write_documents

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
    written = write_documents(out, made)
    if json:
        print_json({"out": str(out), "placements": written})
    else:
        print(f"{out}: {written} placements" if written > 1 else f"{out}: 1 placement")
