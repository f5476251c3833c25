"""``transom generate``: data sets; here workloads and knapsacks, in modules of their own the others."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli.commands import generate_csp, generate_dataset, generate_selection, generate_tjap
from transom.cli.options import common as options
from transom.cli.output.console import check_writable, describe, note, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transom.models import Knapsack
    from transom.traces import Workload

app = typer.Typer(
    help="Generate data sets: workloads, knapsacks, selections, allocations, constrained paths.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("tjap")(generate_tjap.command)
app.command("csp")(generate_csp.command)
app.command("selection")(generate_selection.command)
app.command("dataset")(generate_dataset.command)


class Model(StrEnum):
    """How a workload is generated."""

    lublin = "lublin"
    weekly = "weekly"


@app.command("workload")
def workload(
    out: Annotated[Path, typer.Option("--out", help="Where to write it: .swf or .swf.gz.")],
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="How many jobs.")],
    model: Annotated[Model, typer.Option("--model", help="Lublin-Feitelson, or a trace's jobs and weekly rhythm.")] = (
        Model.lublin
    ),
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="Nodes of the machine; lublin: 512 by default.")
    ] = None,
    load: Annotated[
        float | None, typer.Option("--load", help="lublin: scale the gaps to this offered load, such as 0.85.")
    ] = None,
    walltimes: Annotated[
        str | None,
        typer.Option(
            "--walltimes",
            metavar="MODEL",
            help="What jobs ask for, as of simulate --estimates; lublin: overestimated by default; weekly: of jobs "
            "that request no time, exact by default.",
        ),
    ] = None,
    like: Annotated[Path | None, typer.Option("--like", help="weekly: the trace to be like.")] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", help="weekly: factor on the arrival rate; 2 doubles the load.")
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate a workload as a trace in the Standard Workload Format.

    lublin is the model of Lublin and Feitelson (2003) for rigid jobs; weekly draws jobs of the trace
    given by --like, in arrivals whose rate in each hour of the week is fitted to it.
    """
    from transom.errors import SpecError
    from transom.generate.workload.workload_recipe import NODES, WorkloadRecipe
    from transom.traces import write_swf

    check_writable(out, ".swf")
    if model is Model.lublin:
        options.refuse({"--like": like, "--rate": rate}, "--model lublin")
        told: dict[str, Any] = {"nodes": nodes or NODES, "load": load, "walltimes": walltimes or "overestimated"}
        source = "model of Lublin and Feitelson, JPDC 63(11), 2003"
    else:
        options.refuse({"--load": load}, "--model weekly")
        if like is None:
            raise SpecError("--model weekly needs --like TRACE")
        told = {"nodes": nodes, "like": like.name, "rate": rate, "walltimes": walltimes}
        source = "jobs drawn from a trace, arrivals with its weekly rhythm"
    given = {**told, "like": None if like is None else str(like), "jobs": jobs, "model": model.value}
    recipe = WorkloadRecipe(**{name: value for name, value in given.items() if value is not None})
    recipe.check()
    if like is not None:
        for line in describe(recipe.trace(seed)):
            note(line)
    made = recipe.workload(seed, 1)
    words = [f"--{name} {value}" for name, value in told.items() if value is not None]
    command = " ".join(["transom generate workload", f"--model {model.value} --jobs {jobs}", *words, f"--seed {seed}"])
    write_swf(made, out, (f"Generated, not logged: {source}", f"Made by: {command}"))
    facts = {
        "jobs": len(made),
        "nodes": made.cluster.num_nodes,
        "days": int(made.jobs.submit[-1]) / 86_400,
        "load": _offered_load(made),
    }
    if json:
        print_json({"out": str(out), "made_by": command, **facts})
    else:
        over = f"{facts['days']:.1f} days, offered load {facts['load']:.3f}"
        print(f"{out}: {len(made):,} jobs on {made.cluster.num_nodes:,} nodes over {over}")


@app.command("knapsack")
def knapsack(
    out: Annotated[Path, typer.Option("--out", help="Where to write them: .jsonl or .jsonl.gz, or .json for one.")],
    klass: Annotated[str, typer.Option("--class", help="A class (below), all of them, or windows.")],
    items: Annotated[
        int | None, typer.Option("--items", min=1, help="Items each; 100 by default, windows: 50, --capacity: 10000.")
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="How many, of each class.")] = 1,
    value_range: Annotated[int | None, typer.Option("--range", help="Classes: the range R, 1000 by default.")] = None,
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
    like: Annotated[Path | None, typer.Option("--like", help="windows: of this trace, instead of a generated one.")] = (
        None
    ),
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="windows: nodes of the machine.")] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate 0-1 knapsacks: Pisinger's classes, or windows of a workload.

    The classes: uncorrelated, weakly-correlated, strongly-correlated, inverse-strongly-correlated,
    almost-strongly-correlated, subset-sum, similar-weights, spanner-uncorrelated,
    spanner-weakly-correlated, spanner-strongly-correlated, multiple-strongly-correlated,
    profit-ceiling, circle. Unless --ratio, --series or --capacity says otherwise, number i of N has
    the capacity i/(N+1) of its total weight, as in Pisinger's series.

    Windows are jobs that follow each other in a workload, on a random number of free nodes; the
    workload is the trace of --like, or one of 5000 jobs by the model of Lublin and Feitelson on
    --nodes (512 by default). For the windows of a replay, see `transom snapshot`.
    """
    from transom.io import write_documents

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
    number = write_documents(out, made)
    if json:
        print_json({"out": str(out), "knapsacks": number})
    else:
        print(f"{out}: {number} knapsacks" if number > 1 else f"{out}: 1 knapsack")


def _offered_load(workload: Workload) -> float:
    last = int(workload.jobs.submit[-1])
    return float((workload.jobs.nodes * workload.runtime).sum()) / (workload.cluster.num_nodes * max(last, 1))


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
