"""``transom generate workflow``: random workflows, alone or as a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable, print_json


def command(
    out: Annotated[Path, typer.Option("--out", help="Where to write them: .jsonl or .jsonl.gz, or .json for one.")],
    family: Annotated[
        str, typer.Option("--family", help="layered, chain, fork-join, out-tree, in-tree, or all in turn.")
    ] = "layered",
    count: Annotated[int, typer.Option("--count", min=1, help="How many.")] = 1,
    tasks: Annotated[int, typer.Option("--tasks", help="Tasks of each; with --fewest the most.")] = 30,
    fewest: Annotated[int | None, typer.Option("--fewest", help="Least number of tasks.")] = None,
    width: Annotated[int, typer.Option("--width", help="layered, fork-join: most tasks side by side.")] = 8,
    law: Annotated[
        str, typer.Option("--law", help="Of the programs' runtimes: lognormal, weibull, gamma or uniform.")
    ] = "lognormal",
    median: Annotated[float, typer.Option("--median", help="Of that law [s].")] = 60.0,
    spread: Annotated[float, typer.Option("--spread", help="Of that law: how much programs differ.")] = 1.2,
    largest: Annotated[int, typer.Option("--largest", help="Most nodes of a task.")] = 1,
    memory: Annotated[bool, typer.Option("--memory", help="Tasks need memory, too.")] = False,
    nodes: Annotated[
        int | None, typer.Option("--nodes", help="Nodes of the machine that each states; none by default.")
    ] = None,
    bytes_: Annotated[int | None, typer.Option("--bytes", help="--memory: bytes of the machine, else enough.")] = None,
    gap: Annotated[
        float | None, typer.Option("--gap", help="Mean time between submissions [s]: a stream of workflows.")
    ] = None,
    together: Annotated[
        int,
        typer.Option("--together", min=1, help="Make one problem of so many workflows, each released when submitted."),
    ] = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate workflows: tasks that wait for one another, in layers, chains, forks and joins, or trees.

    Runtimes follow a law by program: tasks of one program are alike, programs differ a lot. With --gap the
    workflows are a stream, submitted in a Poisson process.
    """
    from transom.generate.recipes import recipe
    from transom.io import write_documents

    check_writable(out, ".jsonl", ".json")
    stated = {
        "family": family, "tasks": tasks, "fewest": fewest, "width": width, "law": law, "median": median,
        "spread": spread, "largest": largest, "memory": memory, "nodes": nodes, "bytes": bytes_, "gap": gap,
        "together": together,
    }  # fmt: skip
    given = {name: value for name, value in stated.items() if value is not None}
    written = write_documents(out, recipe("workflow", given).make(seed, count))
    if json:
        print_json({"out": str(out), "workflows": written})
    else:
        print(f"{out}: {written} workflows" if written > 1 else f"{out}: 1 workflow")
