"""What a type of problem is: everything that the rest of Transom asks about problems of one kind, in one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

Part = str | Callable[..., Any] | object
"""Something that a type brings: the thing itself, or ``"module:attribute"``, imported when it is asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProblemType:
    """A kind of problem, registered under its kind as an entry point of the group ``transom.problems``.

    Only ``kind`` and ``model`` are needed: whoever misses another part says so in one line, or does without.

    Parameters
    ----------
    kind : its name in results and for ``--problem``.
    model : the class of its problems (:class:`~transom.stop.Problem`).
    solver : what ``auto`` calls where it has no schedule for this kind; a specification.
    then : what takes over from it where a fifth of the budget, but at least 10 ms, has brought no proof.
    name, plural, about : in words: ``a knapsack``, ``knapsacks``, and the plural with what a list of solvers adds.
    place : where it stands in lists; those with the same place by kind.
    document : its documents are ``transom/DOCUMENT/1``; by default the kind.
    codec : their :class:`~transom.io.codec.Codec`; by default the fields of the class, a dataclass of plain types.
    solution : :class:`~transom.io.codec.SolutionCodec`; by default whole numbers, or pairs of them, one after another.
    words : ``words(problem, jobs, solution)``, what ``solve --solutions`` prints, by names; by default the document's.
    made_from : by name of another document, such as ``window``, the function that makes the problem of it. It returns
        the problem and the ids of its jobs, or None for these; the options of :mod:`transom.io.instances` that it has
        as parameters are those that apply.
    states : why options do not go with a document of its own, such as ``a knapsack states its values``.
    faults : ``faults(problem, result)``, what is wrong with a result beyond what ``solve`` judges.
    features : :class:`~transom.solvers.auto.features.Features`, facts about an instance with what they mean.
    statistics : ``statistics(problem)``, numbers for the card of a data set, by name.
    capacity : ``capacity(problem)``, what items are packed into, for the list of a library.
    recipes : by name of a recipe, the function that gives its class for some parameters.
    figure : ``figure(problem, solutions)``, a picture of solutions by name; of fronts also ``chosen``, points by rule.
    examples : ``examples()``, small problems, which a solver is asked about that takes only some kinds of its class.
    exact : specifications of solvers that prove optima.
    relaxed : the kind that allows everything that this one allows.
    fronts : whether a solution is a :class:`~transom.models.ParetoFront` and its value a share of hypervolume.
    """

    kind: str
    model: type[Any]
    solver: str | None = None
    name: str = ""
    plural: str = ""
    about: str = ""
    place: int = 100
    document: str = ""
    codec: Part = None
    solution: Part = None
    words: Part = None
    made_from: Mapping[str, Part] = field(default_factory=dict)
    states: str = ""
    faults: Part = None
    features: Part = None
    statistics: Part = None
    capacity: Part = None
    recipes: Mapping[str, Part] = field(default_factory=dict)
    figure: Part = None
    examples: Part = None
    exact: tuple[str, ...] = ()
    relaxed: str | None = None
    then: str | None = None
    fronts: bool = False

    def __post_init__(self) -> None:
        plural = self.plural or f"{self.kind} problems"
        words = {"name": f"a {self.kind} problem", "plural": plural, "about": plural, "document": self.kind}
        for attribute, default in words.items():
            object.__setattr__(self, attribute, getattr(self, attribute) or default)
        object.__setattr__(self, "states", self.states or f"{self.name} is taken as it stands")

    def part(self, name: str) -> Any:
        """A part, imported where it is named; None where the type has none."""
        return found(getattr(self, name))


def found(part: Part) -> Any:
    """The part itself, imported if it is named as ``"module:attribute"``."""
    return _imported(part) if isinstance(part, str) else part


@cache
def _imported(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
