"""Options that say what the bench runs: a plan, or what stands instead of it or of parts of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from transom._system.wording import digits
from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.digits import DURATION

if TYPE_CHECKING:
    from transom.bench.plan.plan import Plan


Clock = Literal["wall", "cpu"]
"""What the seconds of budgets are read from."""


Source = Annotated[
    str | None,
    typer.Argument(metavar="[PLAN]", help="Plan (PLAN.toml), or suite such as smoke.", show_default=False),
]

_POSED = ("problem", "objective", "objectives", "cost_model", "wrap")  # what becomes of windows
_MOST_SEEDS = 1_000_000
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")


class Flags(NamedTuple):
    """What stands instead of a plan or of parts of it, each None where it is not given."""

    instances: Annotated[
        list[Path] | None,
        typer.Option("--instances", metavar="FILE", help="Instances instead of those of the plan. Repeat for several."),
    ] = None
    solver: Annotated[
        list[str] | None,
        typer.Option(
            "--solver",
            autocompletion=completion.solvers,
            help="Solver, [LABEL=]SPEC, instead of those of the plan. Repeat to compare.",
        ),
    ] = None
    seed: Annotated[
        list[str] | None,
        typer.Option(
            "--seed",
            metavar="N|A-B",
            help="Seed, or range such as 0-4, instead of those of the plan. Repeat for several.",
        ),
    ] = None
    seconds: Annotated[
        list[float] | None,
        typer.Option(
            "--seconds", metavar=DURATION, help="Time budget, instead of those of the plan. Repeat for several."
        ),
    ] = None
    iterations: Annotated[
        list[int] | None,
        typer.Option("--iterations", help="Iteration budget, instead of the budgets of the plan. Repeat for several."),
    ] = None
    threads: Annotated[
        list[int] | None,
        typer.Option("--threads", min=1, help="Threads of a run, instead of those of the plan. Repeat for several."),
    ] = None
    memory: Annotated[int | None, typer.Option("--memory", min=1, help="Memory limit of a run.")] = None
    grace: Annotated[
        float | None,
        typer.Option("--grace", metavar=DURATION, help="Time after the budget at which a run is killed."),
    ] = None
    clock: Annotated[
        Clock | None,
        typer.Option("--clock", help="What budgets count: wall time, or CPU time on busy machines."),
    ] = None
    take: Annotated[
        int | None, typer.Option("--take", min=1, help="Take at most N instances of each set, evenly spread.")
    ] = None
    problem: Annotated[
        str | None,
        typer.Option(
            "--problem",
            autocompletion=completion.problems,
            help="Type of problem for --instances, as for `transom solve`.",
        ),
    ] = None
    trust: Annotated[
        bool, typer.Option("--trust", help="Run files of policies and solvers (./mine.py:Class) that the plan names.")
    ] = False
    objective: options.Objective = None
    objectives: options.Objectives = None
    cost_model: options.CostModel = None
    wrap: options.Wrap = None


def chosen_plan(source: str | None, flags: Flags) -> Plan:
    """The plan of that name with what the flags put in the place of its parts; without a name, a plan of flags alone.

    Raises
    ------
    DocumentError, SpecError : the plan does not stand, or a flag does not go with it.
    """
    from msgspec.structs import replace

    from transom.bench.plan.plan import Plan, check_plan, read_plan
    from transom.errors import SpecError

    if source is None and not flags.instances:
        raise SpecError("a plan, the name of a suite or --instances FILE is needed")
    if source is None and flags.trust:
        raise SpecError("--trust is for a plan; what the command line names is run anyway")
    plan = Plan() if source is None else read_plan(source, flags.trust)
    posed = {name: getattr(flags, name) for name in _POSED}
    changes: dict[str, Any] = {}
    if flags.instances:
        changes["instances"], changes["traces"] = tuple(_sets(flags.instances, posed)), ()
    else:
        given = {f"--{name.replace('_', '-')}": value for name, value in posed.items()}
        options.refuse(given, "a plan, which says what its windows become; give --instances")
    if flags.seed:
        changes["seeds"] = tuple(seed for text in flags.seed for seed in _seeds(text))
    if flags.seconds or flags.iterations:
        changes["seconds"], changes["budgets"] = (), tuple(_stops(flags))
    options.check_positive("--grace", flags.grace)
    for name in ("threads", "memory", "grace", "clock"):
        if (value := getattr(flags, name)) is not None:
            changes[name] = tuple(value) if isinstance(value, list) else value
    sets = changes.get("instances", plan.instances)
    if flags.take is not None:
        sets = tuple(replace(each, take=min(each.take or flags.take, flags.take)) for each in sets)
    if flags.solver is not None:
        changes["solvers"] = tuple(flags.solver)
        sets = tuple(replace(each, solvers=()) for each in sets)  # else a set would keep its own
    plan = replace(plan, **changes | {"instances": sets})
    check_plan(plan, source or "--instances")
    return plan


def _sets(given: list[Path], posed: dict[str, Any]) -> list[Any]:
    """A set for each file, called by its name, or by its path where two have one name."""
    from transom.bench.plan.plan import InstanceSet, set_name

    files = [str(path.absolute()) for path in dict.fromkeys(given)]
    names = [set_name(InstanceSet(files=(file,))) for file in files]
    return [
        InstanceSet(name=name if names.count(name) == 1 else file, files=(file,), **posed)
        for name, file in zip(names, files, strict=True)
    ]


def _stops(flags: Flags) -> list[Any]:
    from transom.stop import Stop

    times = [Stop(seconds=seconds) for seconds in flags.seconds or ()]
    return times + [Stop(iterations=iterations) for iterations in flags.iterations or ()]


def _seeds(text: str) -> range:
    from transom.errors import SpecError

    if found := _RANGE.fullmatch(text):
        first, last = int(found[1]), int(found[2])
        if last < first:
            raise SpecError(f"--seed {text}: the range is empty")
        if last - first >= _MOST_SEEDS:
            raise SpecError(f"--seed {text}: more than {_MOST_SEEDS:,} seeds")
        return range(first, last + 1)
    if not digits(text):
        raise SpecError(f"--seed {text}: expected a number >= 0 or a range such as 0-4")
    return range(int(text), int(text) + 1)
