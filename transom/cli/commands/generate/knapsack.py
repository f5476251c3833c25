"""``transom generate knapsack``: classes of hard knapsacks, and windows of a workload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable, describe, note
from transom.cli.output.instances import write_and_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transom.models import Knapsack


def command(
    out: options.DocumentsOut,
    klass: Annotated[str, typer.Option("--class", help="One of the classes above, all, or windows.")],
    items: Annotated[
        int | None,
        typer.Option("--items", min=1, help="Number of items. By default 100, for windows 50, with --capacity 10000."),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of knapsacks of each class.")] = 1,
    value_range: Annotated[int | None, typer.Option("--range", help="Classes: the range R. By default 1000.")] = None,
    ratio: Annotated[
        float | None, typer.Option("--ratio", help="Classes: the capacity as a share of the total weight.")
    ] = None,
    series: Annotated[
        str | None, typer.Option("--series", metavar="h/H", help="Classes: capacity h/(H+1) of the total weight.")
    ] = None,
    capacity: Annotated[
        int | None, typer.Option("--capacity", help="Classes: hard ones with this capacity, such as 100000000.")
    ] = None,
    objective: options.Objective = None,
    like: Annotated[
        Path | None, typer.Option("--like", help="windows: take them from this trace instead of a generated one.")
    ] = (None),
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="windows: number of nodes.")] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate 0-1 knapsacks: Pisinger's classes, or windows of a workload.

    The classes: uncorrelated, weakly-correlated, strongly-correlated, inverse-strongly-correlated,
    almost-strongly-correlated, subset-sum, similar-weights, spanner-uncorrelated, spanner-weakly-correlated,
    spanner-strongly-correlated, multiple-strongly-correlated, profit-ceiling, circle. By default, number i of N has
    the capacity i/(N+1) of its total weight, as in Pisinger's series; --ratio, --series and --capacity change that.

    Windows are consecutive jobs of a workload on a random number of free nodes. The workload is the trace of
    --like, or 5000 jobs of the model of Lublin and Feitelson on --nodes (by default 512). For the windows of a
    replay, see `transom snapshot`.
    """

    check_writable(out, ".jsonl", ".json")
    if klass == "windows":
        options.refuse(
            {"--range": value_range, "--ratio": ratio, "--series": series, "--capacity": capacity}, "windows"
        )
        made = _window_knapsacks(items, count, objective, like, nodes, seed)
    else:
        options.refuse({"--objective": objective, "--like": like, "--nodes": nodes}, f"--class {klass}")
        if capacity is not None:
            options.refuse({"--range": value_range, "--ratio": ratio, "--series": series}, "--capacity")
        shape = {"items": items, "range": value_range, "ratio": ratio, "series": series, "capacity": capacity}
        made = _class_knapsacks(klass, count, {name: value for name, value in shape.items() if value is not None}, seed)
    write_and_report(out, made, "knapsack", json)


def _window_knapsacks(
    items: int | None, count: int, objective: str | None, like: Path | None, nodes: int | None, seed: int
) -> Iterator[Knapsack]:
    from transom.generate.recipes import recipe
    from transom.generate.workload.workload_recipe import WorkloadRecipe

    workload = {"model": "lublin" if like is None else "trace", "like": like and str(like), "nodes": nodes}
    stated: dict[str, Any] = {name: value for name, value in workload.items() if value is not None}
    if like is not None:
        for line in describe(WorkloadRecipe(**stated).trace()):
            note(line)
    chosen = {"items": items, "objective": objective}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    return recipe("knapsack", {"class": "windows", "windows": count, "workload": stated, **chosen}).make(seed, count)


def _class_knapsacks(klass: str, count: int, shape: dict[str, Any], seed: int) -> Iterator[Knapsack]:
    from itertools import chain

    from transom.errors import SpecError
    from transom.generate import CLASSES
    from transom.generate.recipes import recipe

    if "ratio" in shape and "series" in shape:
        raise SpecError("--ratio does not go with --series")
    if not shape.keys() & {"ratio", "series", "capacity"}:
        shape["length"] = count
    made = [recipe("knapsack", {"class": each, **shape}) for each in (CLASSES if klass == "all" else (klass,))]
    return chain.from_iterable(each.make(seed, count) for each in made)
