"""Fronts of selections, for people and machines: their points, and what decision rules take of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.cli.output.console import number, print_table, remark
from transom.io.solution_words import jobs_of_point

if TYPE_CHECKING:
    from transom.io.instances import Instance
    from transom.models import ParetoFront, Selection
    from transom.models.decision_rules import DecisionRule
    from transom.result import Result

DEFAULT_RULE = "trade-off"
_POINTS = 20  # of a front that a table shows, beside those that are taken
_WIDTH = 48  # of a list of jobs [characters]
_LARGE = 100.0  # values from which two decimals say enough


def named_rules(specs: Sequence[str]) -> dict[str, DecisionRule]:
    """Decision rules by their specifications.

    Raises
    ------
    SpecError : a name or a parameter is unknown.
    """
    from transom import registry

    return {spec: registry.make(registry.DECISION_RULES, spec) for spec in specs}


def try_rules(instance: Instance, rules: Mapping[str, DecisionRule]) -> None:
    """Fail early if a rule does not fit the objectives of a selection.

    Raises
    ------
    SpecError : it has other weights or names than there are objectives.
    """
    from transom.errors import SpecError
    from transom.models import ParetoFront

    problem: Any = instance.problem
    for spec, rule in rules.items():
        try:
            rule(ParetoFront([problem.ceiling], [[False] * len(problem)]), problem)
        except SpecError as error:
            raise SpecError(f"{instance.label}: decision rule {spec!r}: {error}") from None


def front_document(instance: Instance, result: Result, rules: Mapping[str, DecisionRule]) -> dict[str, Any]:
    """What a line of JSON says about a front: complete or not, its size, the point that each rule takes."""
    front: Any = result.solution
    problem = instance.problem
    document: dict[str, Any] = {
        "front": result.parameters.get("front"),
        "points": 0 if front is None else len(front),
        "chosen": {},
    }
    used = [] if front is None else _utilisation(problem, front)
    for spec, point in taken(instance, result, rules).items():
        document["chosen"][spec] = {
            "point": point,
            "values": dict(zip(problem.terms, front.values[point].tolist(), strict=True)),
            "utilisation": dict(zip(problem.resources, used[point], strict=True)),
            "jobs": jobs_of_point(instance.jobs, front, point),
        }
    return document


def print_fronts(rows: Sequence[tuple[Instance, Result]], rules: Mapping[str, DecisionRule]) -> None:
    """The points of one front, or what the rules take of several."""
    known = [(instance, result) for instance, result in rows if result.solution is not None]
    if len(rows) == 1 and known:
        _print_points(*known[0], rules)
        return
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for instance, result in known:
        front: Any = result.solution
        cells = _cells(instance.problem, front)
        of_kind = tables.setdefault(tuple(_columns(instance.problem)), [])
        for spec, point in taken(instance, result, rules).items():
            jobs = _shown_jobs(jobs_of_point(instance.jobs, front, point))
            of_kind.append([Path(instance.label).name, spec, str(point), jobs, *cells[point]])
    for columns, table in tables.items():
        print()
        print_table("Points that decision rules take", ["instance", "rule", "point", "jobs", *columns], table, left=4)


def _print_points(instance: Instance, result: Result, rules: Mapping[str, DecisionRule]) -> None:
    front: Any = result.solution
    takers: dict[int, list[str]] = {}
    for spec, point in taken(instance, result, rules).items():
        takers.setdefault(point, []).append(spec)
    shown = sorted({*range(min(len(front), _POINTS)), *takers})
    cells = _cells(instance.problem, front)
    table = [
        [
            str(point),
            ", ".join(takers.get(point, ())),
            _shown_jobs(jobs_of_point(instance.jobs, front, point)),
            *cells[point],
        ]
        for point in shown
    ]
    jobs = "jobs" if instance.jobs is not None else "jobs, from 0"
    print()
    print_table("Points of the front", ["point", "taken by", jobs, *_columns(instance.problem)], table, left=3)
    if more := len(front) - len(shown):
        remark(f"and {more} more; --json --solutions prints all of them")


def taken(instance: Instance, result: Result, rules: Mapping[str, DecisionRule]) -> dict[str, int]:
    """Which point of a front each rule takes; none where there is no front."""
    front, problem = result.solution, instance.problem
    return {} if front is None else {spec: int(rule(front, problem)) for spec, rule in rules.items()}


def _shown_jobs(jobs: Sequence[int]) -> str:
    text = " ".join(map(str, jobs)) or "none"
    if len(text) <= _WIDTH:
        return text
    return f"{text[:_WIDTH].rpartition(' ')[0]} ... ({len(jobs)})"


def _columns(problem: Selection) -> list[str]:
    """Objectives in their order, resources as utilisation; then the resources that are no objective."""
    terms = [f"{term} [%]" if term in problem.resources else term for term in problem.terms]
    return terms + [f"{name} [%]" for name in problem.resources if name not in problem.terms]


def _cells(problem: Selection, front: ParetoFront) -> list[list[str]]:
    utilisation, shown = _utilisation(problem, front), problem.in_display_units(front.values).tolist()
    others = [r for r, name in enumerate(problem.resources) if name not in problem.terms]
    rows = []
    for used, values in zip(utilisation, shown, strict=True):
        row = [
            number(100 * value, 2) if term in problem.resources else _in_display_units(value, scale)
            for term, value, scale in zip(problem.terms, values, problem.scales, strict=True)
        ]
        rows.append(row + [number(100 * used[r], 2) for r in others])
    return rows


def _in_display_units(value: float, scale: int) -> str:
    if scale == 1:
        return f"{int(value):,}"
    return number(value, 2 if value >= _LARGE else len(str(scale)) - 1)


def _utilisation(problem: Selection, front: ParetoFront) -> list[list[float]]:
    totals = problem.totals.clip(1)
    shares: list[list[float]] = (problem.used(front.selections) / totals).tolist()
    return shares
