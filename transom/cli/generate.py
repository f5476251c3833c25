"""``transom generate``: data sets; here workloads and knapsacks, in modules of their own the others."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom.cli import generate_csp, generate_selection, generate_tjap, options
from transom.cli.output import check_writable, describe, note, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

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


class Model(StrEnum):
    """How a workload is generated."""

    lublin = "lublin"
    weekly = "weekly"


class Walltimes(StrEnum):
    """How users choose walltimes."""

    overestimated = "overestimated"
    exact = "exact"


_NODES = 512
_JOBS = 5000  # of the workload whose windows become knapsacks
_ITEMS = {"windows": 50, "hard": 10_000, "class": 100}


@app.command("workload")
def workload(
    out: Annotated[Path, typer.Option("--out", help="Where to write it: .swf or .swf.gz.")],
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="How many jobs.")],
    model: Annotated[Model, typer.Option("--model", help="Lublin-Feitelson, or a trace's jobs and weekly rhythm.")] = (
        Model.lublin
    ),
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help=f"Nodes of the machine; lublin: {_NODES} by default.")
    ] = None,
    load: Annotated[
        float | None, typer.Option("--load", help="lublin: scale the gaps to this offered load, such as 0.85.")
    ] = None,
    walltimes: Annotated[
        Walltimes | None,
        typer.Option("--walltimes", help="lublin: above the runtimes and round (default), or exact."),
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
    from transom.traces import write_swf

    check_writable(out, ".swf")
    if model is Model.lublin:
        options.refuse({"--like": like, "--rate": rate}, "--model lublin")
        chosen = walltimes or Walltimes.overestimated
        made = _lublin(jobs, nodes or _NODES, load, chosen, seed)
        told: dict[str, Any] = {"nodes": nodes or _NODES, "load": load, "walltimes": chosen.value}
        source = "model of Lublin and Feitelson, JPDC 63(11), 2003"
    else:
        options.refuse({"--load": load, "--walltimes": walltimes}, "--model weekly")
        made = _weekly(jobs, nodes, like, 1.0 if rate is None else rate, seed)
        told = {"nodes": nodes, "like": like and like.name, "rate": rate}
        source = "jobs drawn from a trace, arrivals with its weekly rhythm"
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
        made = _window_knapsacks(items or _ITEMS["windows"], count, objective, like, nodes, seed)
    else:
        options.refuse({"--objective": objective, "--like": like, "--nodes": nodes}, f"--class {klass}")
        if capacity is not None:
            options.refuse({"--range": value_range, "--ratio": ratio, "--series": series}, "--capacity")
        size = items or _ITEMS["class" if capacity is None else "hard"]
        made = _class_knapsacks(klass, size, count, value_range or 1000, ratio, series, capacity, seed)
    number = write_documents(out, made)
    if json:
        print_json({"out": str(out), "knapsacks": number})
    else:
        print(f"{out}: {number} knapsacks" if number > 1 else f"{out}: 1 knapsack")


def _lublin(jobs: int, nodes: int, load: float | None, walltimes: Walltimes, seed: int) -> Workload:
    from transom.generate import generate_lublin
    from transom.rng import stream

    return generate_lublin(jobs, nodes, stream(seed, "workload"), load, walltimes.value)


def _weekly(jobs: int, nodes: int | None, like: Path | None, rate: float, seed: int) -> Workload:
    from transom.errors import SpecError
    from transom.generate import fit_arrivals
    from transom.rng import stream

    if like is None:
        raise SpecError("--model weekly needs --like TRACE")
    given = options.read_workload(like, nodes)
    for line in describe(given):
        note(line)
    return fit_arrivals(given).sample(jobs, stream(seed, "workload"), rate)


def _offered_load(workload: Workload) -> float:
    last = int(workload.jobs.submit[-1])
    return float((workload.jobs.nodes * workload.runtime).sum()) / (workload.cluster.num_nodes * max(last, 1))


def _window_knapsacks(
    items: int, count: int, objective: str | None, like: Path | None, nodes: int | None, seed: int
) -> Iterator[Knapsack]:
    from transom.generate import window_knapsacks
    from transom.rng import stream

    if like is None:
        workload = _lublin(_JOBS, nodes or _NODES, None, Walltimes.overestimated, seed)
    else:
        workload = options.read_workload(like, nodes)
        for line in describe(workload):
            note(line)
    return window_knapsacks(workload, count, items, stream(seed, "windows"), objective or "nodes")


def _class_knapsacks(
    klass: str,
    items: int,
    count: int,
    value_range: int,
    ratio: float | None,
    series: str | None,
    capacity: int | None,
    seed: int,
) -> Iterator[Knapsack]:
    from transom.errors import SpecError
    from transom.generate import CLASSES, generate_knapsack, hard_knapsack
    from transom.registry import unknown
    from transom.rng import stream

    if klass not in (*CLASSES, "all"):
        raise unknown("knapsack class", klass, (*CLASSES, "all", "windows"))
    if ratio is not None and series is not None:
        raise SpecError("--ratio does not go with --series")
    fixed = None if series is None else _series(series)
    for each in CLASSES if klass == "all" else (klass,):
        for i in range(1, count + 1):
            # A stream of its own for each, so that the first of many are those of few.
            rng: np.random.Generator = stream(seed, "knapsack", each, i)
            if capacity is not None:
                yield hard_knapsack(each, rng, items, capacity)
            else:
                yield generate_knapsack(each, items, value_range, rng, ratio, fixed or (i, count))


def _series(text: str) -> tuple[int, int]:
    from transom.errors import SpecError

    number, slash, length = text.partition("/")
    if not slash or not number.isdecimal() or not length.isdecimal():
        raise SpecError(f"--series: expected h/H such as 50/100, got {text!r}")
    return int(number), int(length)
