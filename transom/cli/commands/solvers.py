"""``transom solvers``: everything that can be asked for by name."""

from __future__ import annotations

import inspect
import re
from typing import Any

from transom.cli.options import common as options
from transom.cli.output.console import print_json

_WIDTH = 17  # of a name


def command(json: options.Json = False) -> None:
    """List solvers, policies, objectives, priority rules, cost models and decision rules with their parameters.

    Behind a solver stand the problems that it takes. One name may stand for solvers of several problems;
    the one that fits the problem at hand is taken.

    A specification is NAME or NAME:KEY=VALUE,KEY=VALUE; a value that holds a comma or a specification
    of its own goes into brackets: window:solver=[sa:steps=1000],size=20.
    """
    from transom import registry

    groups = {
        "solvers": registry.SOLVERS,
        "policies": registry.POLICIES,
        "objectives": registry.OBJECTIVES,
        "priority rules": registry.PRIORITY_RULES,
        "cost models": registry.COST_MODELS,
        "decision rules": registry.DECISION_RULES,
    }
    listed = {
        title: [
            _described(group, name, entry) for name in registry.names(group) for entry in registry.entries(group, name)
        ]
        for title, group in groups.items()
    }
    listed["policies"] = _families() + listed["policies"]
    if json:
        print_json({title.replace(" ", "_"): entries for title, entries in listed.items()})
        return
    shown = [
        ("Solvers " + about, [e for e in listed["solvers"] if e["type"] == kind]) for kind, about in _TYPES.items()
    ]
    shown += [(heading, listed[title]) for title, heading in _HEADINGS.items()]
    for i, (heading, entries) in enumerate((heading, entries) for heading, entries in shown if entries):
        print(("\n" if i else "") + heading)
        for entry in entries:
            _print_entry(entry)


_TYPES = {
    "knapsack": "of knapsacks",
    "selection": "of selections (several resources), for their fronts",
    "allocation": "of allocations: scas (static), dcas (dynamic), free",
    "csp": "of constrained shortest paths: csp",
    None: "of other problems, or not known",
}

_HEADINGS = {
    "policies": "Policies (RULE is a priority rule)",
    "objectives": "Objectives: what a job of a window is worth",
    "priority rules": "Priority rules: lowest first (s submission, r walltime, n nodes, w wait)",
    "cost models": "Cost models: what hops between the nodes of a job cost",
    "decision rules": "Decision rules: which point of a selection's front to take",
}


def _print_entry(entry: dict[str, Any]) -> None:
    from shutil import get_terminal_size
    from textwrap import fill

    indent = " " * (_WIDTH + 4)
    width = max(get_terminal_size((120, 24)).columns, 60)
    about = entry["about"] if entry["missing"] is None else f"missing: {entry['missing']}"
    if entry.get("type") == "allocation" and entry["problems"]:
        about = f"{', '.join(entry['problems'])}: {about}"
    print(fill(about, width, initial_indent=f"  {entry['name']:<{_WIDTH}}  ", subsequent_indent=indent))
    if entry["parameters"]:
        # What is an empty text by default has a default of its own, which its description says.
        settings = ", ".join(
            name if value == "" else f"{name}={_told(value)}" for name, value in entry["parameters"].items()
        )
        print(fill(settings, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))


def _described(group: str, name: str, registered: str) -> dict[str, Any]:
    from transom import registry
    from transom.errors import SpecError

    solver = group == registry.SOLVERS
    entry: dict[str, Any] = {"name": name, "about": "", "parameters": {}, "missing": None}
    if solver:
        entry.update(type=None, problems=[])
    try:
        # The plain entry is loaded by its name alone; others by what they are registered under.
        factory = registry.load(group, registered)
    except SpecError as error:
        return {**entry, "missing": str(error).partition(f"{name!r} ")[2] or str(error)}
    if solver:
        entry.update(_problems(factory))
    parameters = inspect.signature(factory).parameters.values()
    defaults = {p.name: None if p.default is p.empty else p.default for p in parameters}
    return {**entry, "about": _first_line(factory), "parameters": defaults}


def _problems(factory: Any) -> dict[str, Any]:
    """The type of problem that a solver takes, and under which names: it is asked with a small one of each."""
    from transom.models import Allocation, ConstrainedPath, FatTree, Knapsack, Selection
    from transom.models.allocation import KINDS

    solves = getattr(factory, "solves", object)
    if solves is Knapsack:
        return {"type": "knapsack", "problems": [Knapsack.kind]}
    if solves is Selection:
        return {"type": "selection", "problems": [Selection.kind]}
    if solves is ConstrainedPath:
        return {"type": "csp", "problems": [ConstrainedPath.kind]}
    if solves is not Allocation:
        return {}
    solver, tree = factory(), FatTree.uniform(8, 2, 4)
    taken = [
        kind
        for rule, kind in KINDS.items()
        if any(solver.supports(Allocation(tree, range(8), [3, 2], rule, wrap)) is None for wrap in (True, False))  # type: ignore[arg-type]
    ]
    return {"type": "allocation", "problems": taken}


def _families() -> list[dict[str, Any]]:
    about = {
        "RULE": "Start jobs in the order of a priority rule, up to the first that does not fit.",
        "RULE-easy": "The same, with EASY backfilling around a reservation for the first job that waits.",
        "RULE-conservative": "The same, with a reservation for every job, in queue order.",
    }
    return [{"name": name, "about": text, "parameters": {}, "missing": None} for name, text in about.items()]


def _told(value: Any) -> str:
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
