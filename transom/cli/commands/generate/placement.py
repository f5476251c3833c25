"""``transom generate placement``: instances of tasks on machines, random or out of replays of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options.recipe import chosen_recipe, with_recipes
from transom.cli.output.console import check_writable
from transom.cli.output.instances import write_and_report
from transom.generate.instances.placement_recipes import FamilyPlacements, ReplayedPlacements

_RECIPES = {"a family": FamilyPlacements, "--like": ReplayedPlacements}


@with_recipes(_RECIPES)
def command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    like: Annotated[
        Path | None, typer.Option("--like", help="Take windows from replays of this file of tasks, chunk by chunk.")
    ] = None,
    count: options.Count = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate placements: instances of tasks on machines with several capacities.

    The family alibaba resembles windows of Alibaba's trace of 2017. With --like FILE, windows are taken from
    replays of a file of tasks, with the machines as busy as they were.
    """
    check_writable(out, ".jsonl", ".json")
    word, source = ("a family", {}) if like is None else ("--like", {"like": str(like)})
    made = chosen_recipe(_RECIPES, word, "placement", {**source, **given}).make(seed, count)
    write_and_report(out, made, "placement", json)
