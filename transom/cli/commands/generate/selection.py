"""``transom generate selection``: which jobs of a window to start, seen from several resources at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options.resources import Resources
from transom.cli.output.console import check_writable, describe, note, progress
from transom.cli.output.instances import write_and_report

if TYPE_CHECKING:
    from transom.models import Selection

_RANDOM = ("family", "jobs", "number", "largest", "tightness", "forced", "excluded", "requires")
_CUT = ("resources", "policy", "every", "minimum", "start", "replay", "nodes")


def command(
    out: options.DocumentsOut,
    family: Annotated[
        str | None,
        typer.Option("--family", help="uniform (default), correlated, inverse, ties, heavy, sparse, or all."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=0, help="Number of jobs of a window. By default 20. With --like, the maximum."),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option("--number", min=1, help="families: number of resources, including nodes. By default 3."),
    ] = None,
    largest: Annotated[
        int | None, typer.Option("--largest", min=1, help="families: the largest demand. By default 100.")
    ] = None,
    tightness: Annotated[
        float | None,
        typer.Option("--tightness", help="families: capacity as a share of the total demand. By default 0.5."),
    ] = None,
    forced: Annotated[
        float | None, typer.Option("--forced", help="families: share of jobs that must be chosen. By default 0.")
    ] = None,
    excluded: Annotated[
        float | None, typer.Option("--excluded", help="families: share of jobs that must not be chosen. By default 0.")
    ] = None,
    requires: Annotated[
        float | None,
        typer.Option("--requires", help="families: share of jobs that require an earlier one. By default 0."),
    ] = None,
    objectives: Annotated[
        str | None,
        typer.Option("--objectives", help="Objectives, such as nodes/r1/waited/priority. By default, every resource."),
    ] = None,
    like: Annotated[
        Path | None, typer.Option("--like", help="Take windows from a replay of this trace, instead of random ones.")
    ] = None,
    resources: Resources = None,
    policy: Annotated[
        str | None, typer.Option("--policy", help="like: policy of the replay. By default fcfs-easy.")
    ] = None,
    every: Annotated[
        int | None, typer.Option("--every", min=1, help="like: time between two windows, in seconds. By default 3600.")
    ] = None,
    minimum: Annotated[
        int | None,
        typer.Option("--minimum", min=0, help="like: skip windows with fewer than N undecided jobs. By default 2."),
    ] = None,
    start: Annotated[int | None, typer.Option("--start", min=0, help="like: position of the first job.")] = (None),
    replay: Annotated[int | None, typer.Option("--replay", min=1, help="like: number of jobs to replay.")] = (None),
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="like: number of nodes.")] = None,
    count: Annotated[
        int | None,
        typer.Option("--count", min=1, help="Number of selections of each family. By default 1, with --like all."),
    ] = None,
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
    given = dict(locals())
    if like is None:
        options.refuse({f"--{name}": given[name] for name in _CUT}, "random families; it needs --like")
        chosen = {name: given[name] for name in (*_RANDOM, "objectives") if given[name] is not None}
        made = _families(chosen, count or 1, seed)
    else:
        options.refuse({f"--{name}": given[name] for name in _RANDOM if name != "jobs"}, "--like")
        names = ("resources", "policy", "every", "minimum", "jobs", "objectives")
        chosen = {name: given[name] for name in names if given[name] is not None}
        trace = {"model": "trace", "like": str(like), "nodes": nodes, "start": start, "jobs": replay}
        chosen["workload"] = {name: value for name, value in trace.items() if value is not None}
        made = _replayed(like, chosen, count, seed)
    _write(out, made, json)


def _write(out: Path, made: Iterator[Selection], json: bool) -> None:

    write_and_report(out, made, "selection", json)


def _families(chosen: dict[str, Any], count: int, seed: int) -> Iterator[Selection]:
    from itertools import chain

    from transom.generate import FAMILIES
    from transom.generate.recipes import recipe

    names = tuple(FAMILIES) if chosen.get("family") == "all" else (chosen.get("family", "uniform"),)
    made = [recipe("selection", {**chosen, "family": each}) for each in names]
    return chain.from_iterable(each.make(seed, count) for each in made)


def _replayed(like: Path, chosen: dict[str, Any], count: int | None, seed: int) -> Iterator[Selection]:
    from itertools import islice

    from transom.cli.options.resources import Equipped
    from transom.errors import SpecError
    from transom.generate.instance_generator import read_parameters
    from transom.generate.instances.selection_recipes import ReplayedSelections

    recipe = read_parameters(ReplayedSelections, "selection", chosen)
    recipe.check()
    workload, provisions = recipe.equipped(seed, 1)
    for line in describe(workload) + Equipped(workload, provisions, {}).lines:
        note(line)
    with progress() as bars:
        task = bars.add_task(recipe.policy, total=len(workload))
        schedule = recipe.replay(workload, seed, lambda done: bars.update(task, completed=done))
    found = recipe.cut(schedule)
    first = next(found, None)
    if first is None:
        raise SpecError(f"{like}: no window of the replay leaves {recipe.minimum} jobs to choose among")
    return islice(_with(first, found), count)


def _with(first: Selection, others: Iterator[Selection]) -> Iterator[Selection]:
    yield first
    yield from others
