"""``transom generate csp``: constrained shortest paths, with random costs or from windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable
from transom.cli.output.instances import write_and_report

if TYPE_CHECKING:
    from transom.models import ConstrainedPath


def command(
    out: options.DocumentsOut,
    like: Annotated[
        Path | None, typer.Option("--like", help="Convert these allocations or windows to paths, without wrap-around.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="Number of paths. By default 1, with --like all.")
    ] = None,
    length: Annotated[int | None, typer.Option("--length", help="Number of entries. By default 100.")] = None,
    sizes: Annotated[
        int | None, typer.Option("--sizes", help="Number of distinct sizes of operation arcs. By default 3.")
    ] = None,
    arcs: Annotated[
        int | None, typer.Option("--arcs", help="Number of operation arcs of a path. By default 6.")
    ] = None,
    longest: Annotated[int | None, typer.Option("--longest", help="Largest size. By default 20.")] = None,
    most: Annotated[int | None, typer.Option("--most", help="Largest cost of an arc. By default 1000.")] = None,
    density: Annotated[
        float | None, typer.Option("--density", help="Share of the possible arcs that exist. By default 1.")
    ] = None,
    load: Annotated[
        float | None,
        typer.Option("--load", help="Largest share of the entries that the arcs of a path span. By default 0.9."),
    ] = None,
    cost_model: options.CostModel = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate constrained shortest paths.

    Without --like, arcs have random integer costs, and a feasible path exists. With --like FILE, the paths are the
    static allocations of that file on a line; --cost-model sets the hop costs where the file holds windows.
    """
    from transom.generate.recipes import recipe

    check_writable(out, ".jsonl", ".json")
    given = {"length": length, "sizes": sizes, "arcs": arcs, "longest": longest}
    shares = {"most": most, "density": density, "load": load}
    if like is not None:
        options.refuse({f"--{name}": value for name, value in {**given, **shares}.items()}, "--like")
        made = _like(like, count, cost_model)
    else:
        options.refuse({"--cost-model": cost_model}, "random costs")
        chosen = {name: value for name, value in {**given, **shares}.items() if value is not None}
        made = recipe("csp", chosen).make(seed, count or 1)
    write_and_report(out, made, "path", json)


def _like(like: Path, count: int | None, cost_model: str | None) -> Iterator[ConstrainedPath]:
    from itertools import islice

    from transom.io.instances import ReadOptions, read_instances

    return (problem for _, problem in islice(read_instances([like], ReadOptions("csp", cost_model=cost_model)), count))
