"""``transom generate knapsack``: classes of hard knapsacks, and windows of a workload."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options.recipe import chosen_recipe, with_recipes
from transom.cli.output.console import check_writable, describe, note
from transom.cli.output.instances import write_and_report
from transom.errors import SpecError
from transom.generate.instances.knapsack_recipes import ClassKnapsacks, WindowKnapsacks
from transom.generate.instances.knapsacks import CLASSES
from transom.generate.workload.workload_recipe import WorkloadRecipe
from transom.models import Knapsack

_RECIPES = {"classes": ClassKnapsacks, "windows": WindowKnapsacks}


@with_recipes(_RECIPES)
def command(
    out: options.DocumentsOut,
    klass: Annotated[str, typer.Option("--class", help="One of the classes above, all, or windows.")],
    given: dict[str, Any],
    count: options.Count = 1,
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
        stated = {**given, **({} if objective is None else {"objective": objective})}
        made = _window_knapsacks(stated, count, like, nodes, seed)
    else:
        options.refuse({"--objective": objective, "--like": like, "--nodes": nodes}, f"--class {klass}")
        if "capacity" in given:
            others = {f"--{name}": given.get(name) for name in ("range", "ratio", "series")}
            options.refuse(others, "--capacity")
        made = _class_knapsacks(klass, count, given, seed)
    write_and_report(out, made, "knapsack", json)


def _window_knapsacks(
    given: dict[str, Any], count: int, like: Path | None, nodes: int | None, seed: int
) -> Iterator[Knapsack]:
    workload = {"model": "lublin" if like is None else "trace", "like": like and str(like), "nodes": nodes}
    stated: dict[str, Any] = {name: value for name, value in workload.items() if value is not None}
    recipe = chosen_recipe(_RECIPES, "windows", "knapsack", {**given, "windows": count, "workload": stated})
    if like is not None:
        for line in describe(WorkloadRecipe(**stated).trace()):
            note(line)
    return recipe.make(seed, count)


def _class_knapsacks(klass: str, count: int, given: dict[str, Any], seed: int) -> Iterator[Knapsack]:
    if "ratio" in given and "series" in given:
        raise SpecError("--ratio does not go with --series")
    if not given.keys() & {"ratio", "series", "capacity"}:
        given["length"] = count
    classes = CLASSES if klass == "all" else (klass,)
    made = [chosen_recipe(_RECIPES, "classes", "knapsack", {**given, "class": each}) for each in classes]
    return chain.from_iterable(each.make(seed, count) for each in made)
