"""``transom generate selection``: which jobs of a window to start, seen from several resources at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options.recipe import chosen_recipe, with_recipes
from transom.cli.options.resources import Equipped, Resources
from transom.cli.output.console import check_writable, describe, note, progress
from transom.cli.output.instances import write_and_report
from transom.errors import SpecError
from transom.generate.instances.selection_recipes import FamilySelections, ReplayedSelections
from transom.generate.instances.selections import FAMILIES
from transom.models import Selection

_RECIPES = {"random families": FamilySelections, "--like": ReplayedSelections}


@with_recipes(_RECIPES)
def command(
    out: options.DocumentsOut,
    given: dict[str, Any],
    like: Annotated[
        Path | None, typer.Option("--like", help="Take windows from a replay of this trace, instead of random ones.")
    ] = None,
    resources: Resources = None,
    start: Annotated[int | None, typer.Option("--start", min=0, help="like: position of the first job.")] = None,
    replay: Annotated[int | None, typer.Option("--replay", min=1, help="like: number of jobs to replay.")] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="like: number of nodes.")] = None,
    count: options.SomeCount = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate selections: windows of jobs that ask for several resources.

    Families are random. uniform: independent demands. correlated: large jobs ask for much of everything. inverse: a
    job that asks for much of one resource asks for little of the others. ties: demands from 1 to 3. heavy:
    heavy-tailed demands. sparse: many demands are 0. Number i of a family does not depend on how many are
    generated.

    With --like TRACE, windows are taken from a replay: the head of the queue and what was free at that time.
    --resources adds demands for further resources. Every job has a waiting time, a walltime and a priority, which
    --objectives can name.
    """
    check_writable(out, ".jsonl", ".json")
    replayed = {"nodes": nodes, "start": start, "jobs": replay}
    if like is None:
        stated = {"--resources": resources, "--nodes": nodes, "--start": start, "--replay": replay}
        options.refuse(stated, "random families; it needs --like")
        made = _families(given, count or 1, seed)
    else:
        trace = {"model": "trace", "like": str(like), **replayed}
        workload = {name: value for name, value in trace.items() if value is not None}
        made = _replayed({**given, "workload": workload, "resources": resources}, count, seed)
    write_and_report(out, made, "selection", json)


def _families(given: dict[str, Any], count: int, seed: int) -> Iterator[Selection]:
    names = tuple(FAMILIES) if given.get("family") == "all" else (given.get("family", "uniform"),)
    made = [chosen_recipe(_RECIPES, "random families", "selection", {**given, "family": each}) for each in names]
    return chain.from_iterable(each.make(seed, count) for each in made)


def _replayed(given: dict[str, Any], count: int | None, seed: int) -> Iterator[Selection]:
    recipe = chosen_recipe(_RECIPES, "--like", "selection", given)
    assert isinstance(recipe, ReplayedSelections)
    workload, provisions = recipe.equipped(seed, 1)
    for line in describe(workload) + Equipped(workload, provisions, {}).lines:
        note(line)
    with progress() as bars:
        task = bars.add_task(recipe.policy, total=len(workload))
        schedule = recipe.replay(workload, seed, lambda done: bars.update(task, completed=done))
    found = recipe.cut(schedule)
    first = next(found, None)
    if first is None:
        raise SpecError(f"{recipe.workload.like}: no window of the replay leaves {recipe.minimum} jobs to choose among")
    return islice(_with(first, found), count)


def _with(first: Selection, others: Iterator[Selection]) -> Iterator[Selection]:
    yield first
    yield from others
