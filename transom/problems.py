"""The types of problems by kind: those of every installed package, behind the entry points ``transom.problems``."""

from __future__ import annotations

from functools import cache
from typing import Any

from transom import registry
from transom.errors import SpecError
from transom.models.problem import ProblemType


@cache
def problem_types() -> tuple[ProblemType, ...]:
    """All of them, in their order; one that cannot be loaded is left out until it is asked for by its kind."""
    types = []
    for kind in registry.names(registry.PROBLEMS):
        try:
            types.append(problem_type(kind))
        except SpecError:
            continue
    return tuple(sorted(types, key=lambda each: (each.place, each.kind)))


@cache
def problem_type(kind: str) -> ProblemType:
    """The type of problem of a kind.

    Raises
    ------
    SpecError : the kind is unknown, or what is registered under it is no type of problem of that kind.
    """
    loaded: Any = registry.load(registry.PROBLEMS, kind)
    if not isinstance(loaded, ProblemType) or loaded.kind != kind:
        raise SpecError(f"problem {kind!r}: its entry point is no ProblemType of that kind")
    return loaded


@cache
def known_type(kind: str | None) -> ProblemType | None:
    """The type of problem of a kind; None where there is none, as for results of a package that is not installed."""
    return problem_type(kind) if kind in kinds() else None


def has_fronts(kind: str) -> bool:
    """Whether solutions of problems of a kind are fronts; of an unknown kind, such as in old results, they are not."""
    known = known_type(kind)
    return known is not None and known.fronts


def kinds() -> list[str]:
    """The kinds of all types, in their order."""
    return [each.kind for each in problem_types()]


def types_of(model: type) -> list[ProblemType]:
    """The types whose problems are of a class: several where a class stands for several kinds."""
    return [each for each in problem_types() if issubclass(model, each.model)]


def documents() -> dict[str, ProblemType]:
    """The first type of each name of a document."""
    found: dict[str, ProblemType] = {}
    for each in problem_types():
        found.setdefault(each.document, each)
    return found


def size_of(problem: Any) -> int:
    """How many items, jobs or arcs there are to decide on; 0 where the problem has no length."""
    return len(problem) if hasattr(problem, "__len__") else 0
