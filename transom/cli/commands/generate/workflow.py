"""``transom generate workflow``: random workflows, alone or as a stream."""

from __future__ import annotations

from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable
from transom.cli.output.instances import write_and_report


def command(
    out: options.DocumentsOut,
    family: Annotated[
        str, typer.Option("--family", help="layered, chain, fork-join, out-tree, in-tree, or all in turn.")
    ] = "layered",
    count: Annotated[int, typer.Option("--count", min=1, help="Number of workflows.")] = 1,
    tasks: Annotated[int, typer.Option("--tasks", help="Number of tasks. With --fewest, the maximum.")] = 30,
    fewest: Annotated[int | None, typer.Option("--fewest", help="Minimum number of tasks.")] = None,
    width: Annotated[int, typer.Option("--width", help="layered, fork-join: maximum number of parallel tasks.")] = 8,
    law: Annotated[
        str, typer.Option("--law", help="Distribution of runtimes: lognormal, weibull, gamma or uniform.")
    ] = "lognormal",
    median: Annotated[float, typer.Option("--median", help="Median runtime, in seconds.")] = 60.0,
    spread: Annotated[float, typer.Option("--spread", help="Spread of the runtimes of different programs.")] = 1.2,
    largest: Annotated[int, typer.Option("--largest", help="Largest task, in nodes.")] = 1,
    memory: Annotated[bool, typer.Option("--memory", help="Tasks also request memory.")] = False,
    nodes: Annotated[
        int | None, typer.Option("--nodes", help="Nodes of the machine. By default, no machine is stated.")
    ] = None,
    bytes_: Annotated[
        int | None, typer.Option("--bytes", help="memory: bytes of the machine. By default enough for all tasks.")
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option("--gap", help="Generate a stream, with this mean time between submissions, in seconds."),
    ] = None,
    together: Annotated[
        int,
        typer.Option(
            "--together", min=1, help="Combine every N workflows into one problem, each released at its submission."
        ),
    ] = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate workflows: tasks with dependencies, in layers, chains, forks and joins, or trees.

    Tasks of one program have similar runtimes; runtimes of different programs differ a lot. With --gap, the workflows
    are a stream of Poisson arrivals.
    """
    from transom.generate.recipes import recipe

    check_writable(out, ".jsonl", ".json")
    stated = {
        "family": family, "tasks": tasks, "fewest": fewest, "width": width, "law": law, "median": median,
        "spread": spread, "largest": largest, "memory": memory, "nodes": nodes, "bytes": bytes_, "gap": gap,
        "together": together,
    }  # fmt: skip
    given = {name: value for name, value in stated.items() if value is not None}
    write_and_report(out, recipe("workflow", given).make(seed, count), "workflow", json)
