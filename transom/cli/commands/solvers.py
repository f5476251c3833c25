"""``transom solvers``: everything that can be asked for by name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer

from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.output.console import print_json

_WIDTH = 17  # of a name


def command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            autocompletion=completion.problems,
            help="Only the solvers of these problems, such as knapsack, or only policies, objectives, ...",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """List solvers, policies, objectives, priority rules, predictors, cost models and decision rules.

    Each entry has its parameters. Solvers are listed by the problems that they take. One name can stand for solvers
    of several problems; the one that fits the problem is used.

    A specification is NAME or NAME:KEY=VALUE,KEY=VALUE. A value that contains a comma or another specification goes
    into brackets: window:solver=[sa:steps=1000],size=20.
    """
    from transom import registry
    from transom.problems import documents

    groups = {
        "solvers": registry.SOLVERS,
        "policies": registry.POLICIES,
        "objectives": registry.OBJECTIVES,
        "priority rules": registry.PRIORITY_RULES,
        "predictors": registry.PREDICTORS,
        "cost models": registry.COST_MODELS,
        "decision rules": registry.DECISION_RULES,
    }
    listed = {
        title: [
            each
            for name in registry.names(group)
            for entry in registry.entries(group, name)
            for each in _described(group, name, entry)
        ]
        for title, group in groups.items()
    }
    listed["policies"] = _families() + listed["policies"]
    if kind is not None:
        listed = _only(listed, kind)
    if json:
        print_json({title.replace(" ", "_"): entries for title, entries in listed.items()})
        return
    types = {name: f"of {each.about}" for name, each in documents().items()} | {None: "of other problems, or not known"}
    solvers = listed.get("solvers", [])
    shown = [("Solvers " + about, [each for each in solvers if each["type"] == of]) for of, about in types.items()]
    shown += [(heading, listed.get(title, [])) for title, heading in _HEADINGS.items()]
    for i, (heading, entries) in enumerate((heading, entries) for heading, entries in shown if entries):
        print(("\n" if i else "") + heading)
        for entry in entries:
            _print_entry(entry)


def _only(listed: dict[str, list[dict[str, Any]]], kind: str) -> dict[str, list[dict[str, Any]]]:
    """The solvers of one kind of problems, or one group."""
    from transom.registry import unknown

    kinds = {name for each in listed["solvers"] for name in (each["type"], *each["problems"]) if name}
    if (title := kind.lower().replace("-", " ")) in listed:
        return {title: listed[title]}
    if kind.lower() not in kinds:
        raise unknown("problem or group", kind, (*kinds, *(each.replace(" ", "-") for each in listed)))
    return {"solvers": [each for each in listed["solvers"] if kind.lower() in (each["type"], *each["problems"])]}


_HEADINGS = {
    "policies": "Policies (RULE is a priority rule)",
    "objectives": "Objectives: what a job of a window is worth",
    "priority rules": "Priority rules: lowest first (s submission, r walltime, n nodes, w wait)",
    "predictors": "Predictors of runtimes (RULE:predict=NAME)",
    "cost models": "Cost models: what hops between the nodes of a job cost",
    "decision rules": "Decision rules: which point of a selection's front to take",
}


def _print_entry(entry: dict[str, Any]) -> None:
    from shutil import get_terminal_size
    from textwrap import fill

    from transom.problems import problem_types

    indent = " " * (_WIDTH + 4)
    width = max(get_terminal_size((120, 24)).columns, 60)
    about = entry["about"] if entry["missing"] is None else f"missing: {entry['missing']}"
    if entry.get("problems") and sum(each.document == entry["type"] for each in problem_types()) > 1:
        about = f"{', '.join(entry['problems'])}: {about}"
    print(fill(about, width, initial_indent=f"  {entry['name']:<{_WIDTH}}  ", subsequent_indent=indent))
    if entry["parameters"]:
        # What is an empty text by default has a default of its own, which its description says.
        settings = ", ".join(
            name if value == "" else f"{name}={_spelled(value)}" for name, value in entry["parameters"].items()
        )
        print(fill(settings, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))


def _described(group: str, name: str, registered: str) -> list[dict[str, Any]]:
    """What stands behind an entry; a solver of several types of problems stands there once for each."""
    from transom import registry
    from transom.errors import SpecError

    entry: dict[str, Any] = {"name": name, "about": "", "parameters": {}, "missing": None}
    solver: dict[str, Any] = {"type": None, "problems": []} if group == registry.SOLVERS else {}
    try:
        # The plain entry is loaded by its name alone; others by what they are registered under.
        factory = registry.load(group, registered)
    except SpecError as error:
        return [{**entry, **solver, "missing": str(error).partition(f"{name!r} ")[2] or str(error)}]
    parameters = inspect.signature(factory).parameters.values()
    defaults = {p.name: None if p.default is p.empty else p.default for p in parameters}
    entry.update(about=_first_line(factory), parameters=defaults)
    taken = _problems(factory) if solver else {}
    return [{**entry, "type": kind, "problems": kinds} for kind, kinds in taken.items()] or [{**entry, **solver}]


def _problems(factory: Any) -> dict[str, list[str]]:
    """The kinds of problem that a solver takes, by their document; it is asked with small ones where there are any."""
    from transom.problems import problem_types

    taken: dict[str, list[str]] = {}
    for each in problem_types():
        if not issubclass(each.model, getattr(factory, "solves", ())):
            continue
        examples = each.part("examples")
        small = [] if examples is None else [problem for problem in _made(examples) if problem.kind == each.kind]
        kinds = taken.setdefault(each.document, [])
        if not small or any(factory().supports(problem) is None for problem in small):
            kinds.append(each.kind)
    return taken


@cache
def _made(examples: Callable[[], list[Any]]) -> list[Any]:
    return examples()


def _families() -> list[dict[str, Any]]:
    about = {
        "RULE": "Start jobs in the order of a priority rule, up to the first that does not fit; "
        "max_wait=7d lets those go first that have waited longer.",
        "RULE-easy": "The same, with EASY backfilling around a reservation for the first job that waits.",
        "RULE-conservative": "The same, with a reservation for every job, in queue order, or for the first depth=N.",
    }
    return [{"name": name, "about": text, "parameters": {}, "missing": None} for name, text in about.items()]


def _spelled(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _first_line(factory: Any) -> str:
    """The first paragraph of the docstring, without markup."""
    text = inspect.cleandoc(factory.__doc__ or "").split("\n\n")[0]
    text = re.sub(r":[a-z]+:`~?([^`]*)`", r"\1", " ".join(text.split())).replace("`", "")
    for tex, plain in (("\\cdot", "*"), ("\\,", ""), ("\\log_2", "log2"), ("\\log_{10}", "log10")):
        text = text.replace(tex, plain)
    text = re.sub(r"\\sqrt\{(\w+)\}", r"sqrt(\1)", text)
    text = re.sub(r"([\^_])\{(-?\w+)\}", r"\1\2", text)
    text = re.sub(r"\^\{([^}]*)\}", r"^(\1)", text).replace("\\", "")
    return " ".join(text.split())
