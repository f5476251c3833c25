"""``transom solvers``: everything that can be asked for by name."""

from __future__ import annotations

import inspect
import re
from typing import Any

from transom.cli import options
from transom.cli.output import print_json

_WIDTH = 17  # of a name


def command(json: options.Json = False) -> None:
    """List solvers, policies, objectives and priority rules with their parameters.

    A specification is NAME or NAME:KEY=VALUE,KEY=VALUE; a value that holds a comma or a specification
    of its own goes into brackets: window:solver=[sa:steps=1000],size=20.
    """
    from transom import registry

    groups = {
        "solvers": registry.SOLVERS,
        "policies": registry.POLICIES,
        "objectives": registry.OBJECTIVES,
        "priority rules": registry.PRIORITY_RULES,
    }
    listed = {title: [_described(group, name) for name in registry.names(group)] for title, group in groups.items()}
    listed["policies"] = _families() + listed["policies"]
    if json:
        print_json({title.replace(" ", "_"): entries for title, entries in listed.items()})
        return
    for i, (title, entries) in enumerate(listed.items()):
        print(("\n" if i else "") + _HEADINGS[title])
        for entry in entries:
            _print_entry(entry)


_HEADINGS = {
    "solvers": "Solvers",
    "policies": "Policies (RULE is a priority rule)",
    "objectives": "Objectives: what a job of a window is worth",
    "priority rules": "Priority rules: lowest first (s submission, r walltime, n nodes, w wait)",
}


def _print_entry(entry: dict[str, Any]) -> None:
    from shutil import get_terminal_size
    from textwrap import fill

    indent = " " * (_WIDTH + 4)
    width = max(get_terminal_size((120, 24)).columns, 60)
    about = entry["about"] if entry["missing"] is None else f"missing: {entry['missing']}"
    print(fill(about, width, initial_indent=f"  {entry['name']:<{_WIDTH}}  ", subsequent_indent=indent))
    if entry["parameters"]:
        settings = ", ".join(f"{name}={_told(value)}" for name, value in entry["parameters"].items())
        print(fill(settings, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))


def _described(group: str, name: str) -> dict[str, Any]:
    from transom import registry
    from transom.errors import SpecError

    entry: dict[str, Any] = {"name": name, "about": "", "parameters": {}, "missing": None}
    try:
        factory = registry.load(group, name)
    except SpecError as error:
        return {**entry, "missing": str(error).partition(f"{name!r} ")[2] or str(error)}
    parameters = inspect.signature(factory).parameters.values()
    defaults = {p.name: None if p.default is p.empty else p.default for p in parameters}
    return {**entry, "about": _first_line(factory), "parameters": defaults}


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
    text = re.sub(r"\^\{(-?\w+)\}", r"^\1", text)
    text = re.sub(r"\^\{([^}]*)\}", r"^(\1)", text).replace("\\", "")
    return " ".join(text.split())
