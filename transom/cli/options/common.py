"""Options that several commands share, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transom.cli.options import completion

LARGEST = 2**40
"""The most nodes of a machine, as of :class:`~transom.models.Cluster`, which is imported by whoever needs one."""

Trace = Annotated[Path, typer.Argument(help="A trace in the Standard Workload Format, plain or gzip.")]
Nodes = Annotated[
    int | None,
    typer.Option("--nodes", min=1, max=LARGEST, help="Number of nodes, instead of what the header of the trace says."),
]
MachineNodes = Annotated[
    int | None, typer.Option("--nodes", min=1, max=LARGEST, help="Workflows: nodes of the machine.")
]
Amounts = Annotated[
    str | None,
    typer.Option(
        "--amounts",
        metavar="NAME=AMOUNT,...",
        help="Workflows: what the machine has of further resources, such as memory=64000000000. By default, enough.",
    ),
]
Together = Annotated[
    bool,
    typer.Option("--together", help="Workflows: all of the files are one problem, each released when it is submitted."),
]
Start = Annotated[int, typer.Option("--start", min=0, help="Position of the first job, from 0.")]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="Number of jobs, instead of all that follow.")]
Deciding = Annotated[
    str,
    typer.Option(
        "--policy", autocompletion=completion.policies, help="What decides; `transom solvers` lists policies."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")]
Objective = Annotated[
    str | None,
    typer.Option(
        "--objective",
        autocompletion=completion.objectives,
        help="Value of a job in a window, such as wait (by default, its nodes), or of an instance in a placement: "
        "count, area or area-duration.",
    ),
]
Objectives = Annotated[
    str | None,
    typer.Option(
        "--objectives",
        help="Objectives of a selection: resources and objectives, separated by slashes, such "
        "as nodes/gpu/wait. By default, the use of every resource.",
    ),
]
CostModel = Annotated[
    str | None,
    typer.Option(
        "--cost-model",
        autocompletion=completion.cost_models,
        help="Hop costs in windows, such as authors or custom:same_leaf=1,... By default, equation (1) of the paper.",
    ),
]
Wrap = Annotated[
    bool | None,
    typer.Option(
        "--wrap/--no-wrap",
        help="Whether the nodes of a job may wrap around from the last idle node to the first. "
        "By default yes, or as the files say.",
    ),
]
DocumentsOut = Annotated[
    Path, typer.Option("--out", help="Output file: .jsonl or .jsonl.gz, or .json for a single one.")
]
Count = Annotated[int, typer.Option("--count", min=1, help="Number of instances; of a family or class, of each.")]
SomeCount = Annotated[
    int | None,
    typer.Option("--count", min=1, help="Number of instances, of each family. By default 1, with --like all."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def refuse(given: dict[str, Any], where: str) -> None:
    """Say no to options that do not go with something.

    Raises
    ------
    SpecError : one of them is given, that is, not None.
    """
    from transom.errors import SpecError

    for name, value in given.items():
        if value is not None:
            raise SpecError(f"{name} does not go with {where}")


def check_positive(option: str, value: float | None) -> None:
    """Refuse the value of an option, if it has one, that is not > 0 and finite.

    Raises
    ------
    SpecError : it is not.
    """
    from transom.errors import SpecError

    if value is not None and not 0 < value < float("inf"):
        raise SpecError(f"{option} must be > 0 and finite, got {value}")
