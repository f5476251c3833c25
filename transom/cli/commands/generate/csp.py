"""``transom generate csp``: constrained shortest paths, with random costs or from windows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options.recipe import with_recipes
from transom.cli.output.console import check_writable
from transom.cli.output.instances import write_and_report
from transom.generate.instances.csp_recipes import RandomPaths
from transom.generate.recipes import recipe

if TYPE_CHECKING:
    from transom.models import ConstrainedPath


@with_recipes({"random costs": RandomPaths})
def command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    like: Annotated[
        Path | None, typer.Option("--like", help="Convert these allocations or windows to paths, without wrap-around.")
    ] = None,
    count: options.SomeCount = None,
    cost_model: options.CostModel = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate constrained shortest paths.

    Without --like, arcs have random integer costs, and a feasible path exists. With --like FILE, the paths are the
    static allocations of that file on a line; --cost-model sets the hop costs where the file holds windows.
    """
    check_writable(out, ".jsonl", ".json")
    if like is not None:
        options.refuse({f"--{name}": value for name, value in given.items()}, "--like")
        made = _like(like, count, cost_model)
    else:
        options.refuse({"--cost-model": cost_model}, "random costs")
        made = recipe("csp", given).make(seed, count or 1)
    write_and_report(out, made, "path", json)


def _like(like: Path, count: int | None, cost_model: str | None) -> Iterator[ConstrainedPath]:
    from transom.io.instances import ReadOptions, read_instances

    return (problem for _, problem in islice(read_instances([like], ReadOptions("csp", cost_model=cost_model)), count))
