"""``transom generate joint``: random joint choices of jobs and nodes."""

from __future__ import annotations

from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.output.console import check_writable
from transom.cli.output.instances import write_and_report


def command(
    out: options.DocumentsOut,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of joint choices.")] = 1,
    nodes: Annotated[int, typer.Option("--nodes", help="Number of nodes.")] = 256,
    leaf_nodes: Annotated[int, typer.Option("--leaf-nodes", help="Nodes of a leaf switch.")] = 16,
    pod_nodes: Annotated[int, typer.Option("--pod-nodes", help="Nodes of a pod.")] = 64,
    idle: Annotated[float, typer.Option("--idle", help="Share of idle nodes.")] = 0.3,
    jobs: Annotated[int, typer.Option("--jobs", help="Number of waiting jobs.")] = 20,
    cap: Annotated[int, typer.Option("--cap", help="Largest job, in nodes.")] = 32,
    cost_weight: Annotated[
        float, typer.Option("--cost-weight", help="Weight of a unit of communication cost, in node-hours.")
    ] = 0.001,
    limited: Annotated[float, typer.Option("--limited", help="Share of jobs with a limit on leaf switches.")] = 0.0,
    mandatory: Annotated[
        int, typer.Option("--mandatory", help="Number of jobs, from the first on, that must start.")
    ] = 0,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Generate joint choices: which jobs start, weighted by node-hours, and on which idle nodes of a tree."""
    from transom.generate.recipes import recipe

    check_writable(out, ".jsonl", ".json")
    given = {
        "nodes": nodes, "leaf_nodes": leaf_nodes, "pod_nodes": pod_nodes, "idle": idle, "jobs": jobs, "cap": cap,
        "cost_weight": cost_weight, "limited": limited, "mandatory": mandatory,
    }  # fmt: skip
    write_and_report(out, recipe("joint", given).make(seed, count), "joint choice", json, "joint")
