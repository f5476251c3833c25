"""``transom generate workload``: a trace, by a model or like another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.output.console import check_writable, describe, note, print_json, remark

if TYPE_CHECKING:
    from transom.traces import Workload


Model = Literal["lublin", "weekly"]
"""How a workload is generated."""


def command(
    out: Annotated[Path, typer.Option("--out", help="Output file: .swf or .swf.gz.")],
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Number of jobs.")],
    model: Annotated[
        Model,
        typer.Option("--model", help="lublin: the Lublin-Feitelson model. weekly: jobs and weekly cycle of a trace."),
    ] = "lublin",
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="Number of nodes. lublin: by default 512.")
    ] = None,
    load: Annotated[
        float | None,
        typer.Option("--load", help="lublin: scale interarrival times to this offered load, such as 0.85."),
    ] = None,
    walltimes: Annotated[
        str | None,
        typer.Option(
            "--walltimes",
            metavar="MODEL",
            help="Model of requested walltimes, as for simulate --estimates. lublin: by default "
            "overestimated. weekly: only for jobs that request no time, by default exact.",
        ),
    ] = None,
    like: Annotated[Path | None, typer.Option("--like", help="weekly: the trace to imitate.")] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", help="weekly: factor on the arrival rate. 2 doubles the load.")
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate a workload as a trace in the Standard Workload Format.

    lublin is the model of Lublin and Feitelson (2003) for rigid jobs. weekly draws jobs from the trace given by
    --like; its arrival rate in each hour of the week is fitted to that trace.
    """
    from transom.errors import SpecError
    from transom.generate.workload.workload_recipe import NODES, WorkloadRecipe
    from transom.traces import write_swf

    check_writable(out, ".swf")
    if model == "lublin":
        options.refuse({"--like": like, "--rate": rate}, "--model lublin")
        parameters: dict[str, Any] = {"nodes": nodes or NODES, "load": load, "walltimes": walltimes or "overestimated"}
        source = "model of Lublin and Feitelson, JPDC 63(11), 2003"
    else:
        options.refuse({"--load": load}, "--model weekly")
        if like is None:
            raise SpecError("--model weekly needs --like TRACE")
        parameters = {"nodes": nodes, "like": like.name, "rate": rate, "walltimes": walltimes}
        source = "jobs drawn from a trace, arrivals with its weekly rhythm"
    given = {**parameters, "like": None if like is None else str(like), "jobs": jobs, "model": model}
    recipe = WorkloadRecipe(**{name: value for name, value in given.items() if value is not None})
    recipe.check()
    if like is not None:
        for line in describe(recipe.trace(seed)):
            note(line)
    made = recipe.workload(seed, 1)
    words = [f"--{name} {value}" for name, value in parameters.items() if value is not None]
    command = " ".join(["transom generate workload", f"--model {model} --jobs {jobs}", *words, f"--seed {seed}"])
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
        remark(f"{out}: {counted(len(made), 'job')} on {counted(made.cluster.num_nodes, 'node')} over {over}")


def _offered_load(workload: Workload) -> float:
    last = int(workload.jobs.submit[-1])
    return float((workload.jobs.nodes * workload.runtime).sum()) / (workload.cluster.num_nodes * max(last, 1))
