"""The commands, put together: of a line of words only what it needs, as each command costs time to set up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from transom.cli.options.digits import with_digits
from transom.cli.options.output import with_output_options
from transom.cli.output.help import explain
from transom.errors import SpecError

_MODULES = {
    "demo": "demo", "simulate": "simulate", "when": "when", "solve": "solve", "check": "check", "snapshot": "snapshot",
    "calibrate": "calibrate", "tune": "tune", "conform": "conform", "report": "report", "solvers": "solvers",
    "models": "models", "schema": "schema", "compile": "compile", "generate workload": "generate.workload",
    **dict.fromkeys(
        (f"generate {each}" for each in ("knapsack", "selection", "tjap", "csp", "placement", "workflow", "joint")),
        "generate.instances",
    ),
    "generate dataset": "generate.dataset",
    **dict.fromkeys((f"import {each}" for each in ("slurm", "pbs", "lsf", "swf", "batsim")), "imports"),
    "bench run": "bench_run", "bench plan": "bench_plan", "bench score": "bench_score",
    "bench compare": "bench_compare",
    **dict.fromkeys((f"library {each}" for each in ("list", "add", "remove", "update", "verify")), "library"),
    "train nsa": "train.repair", "train nsa-cost": "train.repair", "train dras": "train.dras",
    "train kernel": "train.queues", "train learned-priority": "train.tasks", "train deepjs": "train.tasks",
    "train mars": "train.queues", "protocol rlscheduler": "protocol_rlscheduler",
    "slurm window": "slurm_windows", "slurm advise": "slurm_windows", "slurm score": "slurm_windows",
    "slurm run": "slurm_actions", "slurm release": "slurm_actions", "slurm replay": "slurm_actions",
    "slurm play": "slurm_windows", "slurm record": "slurm_windows", "serve batsim": "serve",
    "adapters raps": "adapters",
}  # fmt: skip
"""Commands in the order of the help, and where each stands: as ``command``, or as ``NAME_command`` beside others."""

_GROUPS = {
    "generate": "Generate workloads, knapsacks, selections, allocations, paths, placements, workflows, joint choices.",
    "import": "Make a trace of the accounting data of a resource manager, or of another trace.",
    "bench": "Compare solvers on the same instances within the same time, and policies on the same traces.",
    "library": "Keep and check the best known results of instances.",
    "protocol": "Compare policies by the published protocol of another program.",
    "slurm": "See what a running Slurm does as windows, and what a policy would do with them.",
    "adapters": "Write what makes a policy decide in somebody else's simulator.",
    "serve": "Serve a policy to somebody else's simulator.",
    "train": "Train a learned component. An interrupted training resumes where it stopped.",
}
_GONE = {
    "bench portfolio": "auto needs no training, and `transom bench score` compares it with other solvers",
}
"""Commands of earlier versions, and what to use instead."""

_PLAIN: dict[str, Any] = {"no_args_is_help": True, "rich_markup_mode": None}


def command_line(arguments: Sequence[str] | None = None) -> Any:
    """What parses and runs a line: the command that it names, all of its group, or an outline where it names none.

    Without a line, every command.
    """
    return _put_together(tuple(_MODULES) if arguments is None else tuple(_named(arguments)))


@cache
def _put_together(names: tuple[str, ...]) -> Any:
    app = typer.Typer(
        help="Solve the scheduling windows of HPC clusters, replay traces, compare policies.",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        **_PLAIN,
    )
    app.callback()(_options)
    groups: dict[str, typer.Typer] = {}
    for name in names:
        if name in _GROUPS:  # of which only the name is asked for
            app.add_typer(typer.Typer(help=_GROUPS[name], **_PLAIN), name=name)
            continue
        group, _, inner = name.rpartition(" ")
        place = import_module(f"transom.cli.commands.{_MODULES[name]}")
        if not group:
            app.command(name)(place.command)
            continue
        if group not in groups:
            groups[group] = typer.Typer(help=_GROUPS[group], **_PLAIN)
            app.add_typer(groups[group], name=group)
        word = inner.replace("-", "_")
        command = getattr(place, f"{word}_command", None) or place.command
        groups[group].command(inner, cls=getattr(place, f"{word}_parser", None))(command)
    return explain(with_output_options(with_digits(get_command(app))))


def _named(arguments: Sequence[str]) -> Sequence[str]:
    # No option before a command takes a value: the first words are its name.
    words = [word for word in arguments if not word.startswith("-")]
    if (gone := " ".join(words[:2])) in _GONE:
        raise SpecError(f"there is no {gone} any more: {_GONE[gone]}")
    for count in (2, 1):
        name = " ".join(words[:count])
        if found := [each for each in _MODULES if each == name or each.startswith(f"{name} ")]:
            return found
    return (*(each for each in _MODULES if " " not in each), *_GROUPS)


def _version(asked: bool) -> None:
    if asked:
        from transom import __version__

        print(f"transom {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
