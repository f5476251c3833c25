"""The table by which ``auto`` chooses: read strictly, walked by the features of an instance and the seconds.

``portfolio.json`` lies beside this module and is plain data: for each kind of problem two decision trees, one for
budgets with a limit of time and one for budgets without, whose leaves are schedules of solvers.
``transom bench portfolio`` makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

import msgspec

from transom.errors import DocumentError
from transom.problems import problem_types
from transom.solvers.auto.features import names_for

FORMAT = "transom/portfolio/2"

SECONDS = "seconds"
"""log10 of the seconds of the budget, which a tree may ask for like a feature."""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A solver in a schedule.

    Parameters
    ----------
    solver : its specification.
    share : of the time and of the iterations that are left when it begins, > 0 and at most 1.
    """

    solver: str
    share: float = 1.0


class Leaf(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="leaf", tag_field="node"):
    """A schedule, and what speaks for it.

    Parameters
    ----------
    steps : the solvers in turn; the last one may take all that is left.
    cases : training cases (an instance under a budget) that fell here.
    gap : mean primal gap of the schedule over them [%].
    proved : share of them that it proves.
    chosen : where training did not choose it, how it was chosen, in words: the cases are those of that choice.
    """

    steps: tuple[Step, ...]
    cases: int
    gap: float
    proved: float
    chosen: str | None = None


class Split(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="split", tag_field="node"):
    """A question: ``yes`` if the feature is at most ``at_most``, else ``no``."""

    feature: str
    at_most: float
    yes: Split | Leaf
    no: Split | Leaf


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known about one kind of problem.

    Parameters
    ----------
    timed : the tree for budgets with a limit of seconds.
    untimed : that for all others; proofs count first there.
    otherwise : the solver for what is left where a schedule ends unproved or refuses: of those that take every instance
        the one that proves the most.
    improve : the solver for what is left of a limited budget where that one ends too: it searches as long as it may.
    """

    timed: Split | Leaf
    untimed: Split | Leaf
    otherwise: str
    improve: str


class Making(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a table comes from.

    Parameters
    ----------
    date : of the making, ISO 8601.
    command : what makes it again.
    plans : digests of the plans whose results it was made from, by name.
    code : digests of the sources that these were run with.
    machines : what they were run on, in words.
    budgets : limits of time of the runs [s].
    probe : CPU time of :func:`~transom.solvers.auto.machine_speed.seconds_of_a_probe` where the table was made [s].
    """

    date: str
    command: str
    plans: dict[str, str]
    code: tuple[str, ...]
    machines: tuple[str, ...]
    budgets: tuple[float, ...]
    probe: float


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file: for each kind of problem its trees."""

    format: str
    made: Making
    problems: dict[str, Choice]


def parse_table(data: bytes, where: str) -> Table:
    """A table out of JSON.

    Raises
    ------
    DocumentError : it is not JSON, has a field too many or too few, a feature or a kind of problem that is unknown, a
        share or a threshold out of range, an empty schedule, or no kind of problem at all.
    """
    try:
        table = msgspec.json.decode(data, type=Table)
    except msgspec.DecodeError as error:  # not JSON, or not this
        raise DocumentError(f"{where}: {str(error)[0].lower()}{str(error)[1:]}") from None
    if table.format != FORMAT:
        raise DocumentError(f"{where}: format {table.format!r} is not known; known: {FORMAT}")
    known = sorted(each.kind for each in problem_types() if each.features is not None)
    if not table.problems or not set(table.problems) <= set(known):
        raise DocumentError(f"{where}: problems are {sorted(table.problems)}, expected some of {known}")
    for kind, choice in table.problems.items():
        names = names_for(kind)
        for name, root in (("timed", choice.timed), ("untimed", choice.untimed)):
            _check(root, f"{where}: {kind}.{name}", {*names, *([SECONDS] if name == "timed" else [])})
        _check_spec(choice.otherwise, f"{where}: {kind}.otherwise")
        _check_spec(choice.improve, f"{where}: {kind}.improve")
    if not 0 < table.made.probe < math.inf:
        raise DocumentError(f"{where}: made.probe must be > 0 s and finite, got {table.made.probe}")
    return table


def leaf_of(choice: Choice, facts: Mapping[str, float], seconds: float | None) -> Leaf:
    """The leaf for an instance with these features and a budget of so many seconds, None for no limit of time."""
    node = choice.untimed if seconds is None else choice.timed
    budget = 0.0 if seconds is None else math.log10(seconds)
    while isinstance(node, Split):
        fact = budget if node.feature == SECONDS else facts[node.feature]
        node = node.yes if fact <= node.at_most else node.no
    return node


def leaves(node: Split | Leaf) -> Iterator[Leaf]:
    """All leaves of a tree, from ``yes`` to ``no``."""
    if isinstance(node, Leaf):
        yield node
    else:
        yield from leaves(node.yes)
        yield from leaves(node.no)


def solvers_of(choice: Choice) -> list[str]:
    """Specifications of all solvers that can come up, in the order of their first place."""
    steps = [step.solver for root in (choice.timed, choice.untimed) for leaf in leaves(root) for step in leaf.steps]
    return list(dict.fromkeys([*steps, choice.otherwise, choice.improve]))


@cache
def packaged() -> Table:
    """The table of the package."""
    return parse_table((files("transom.solvers.auto") / "portfolio.json").read_bytes(), "portfolio.json")


def _check(node: Split | Leaf, place: str, known: set[str]) -> None:
    if isinstance(node, Split):
        if node.feature not in known:
            raise DocumentError(f"{place}: feature {node.feature!r} is not known; known: {', '.join(sorted(known))}")
        if not math.isfinite(node.at_most):
            raise DocumentError(f"{place}: at_most must be finite, got {node.at_most}")
        _check(node.yes, f"{place}.yes", known)
        _check(node.no, f"{place}.no", known)
        return
    if not node.steps:
        raise DocumentError(f"{place}: the schedule is empty")
    for i, step in enumerate(node.steps):
        if not 0 < step.share <= 1:
            raise DocumentError(f"{place}.steps[{i}]: share must be > 0 and at most 1, got {step.share}")
        _check_spec(step.solver, f"{place}.steps[{i}]")
    for i, step in enumerate(node.steps[:-1]):
        if step.share == 1:
            raise DocumentError(f"{place}.steps[{i}]: a share of 1 leaves nothing for the next")


def _check_spec(spec: str, place: str) -> None:
    if not spec:
        raise DocumentError(f"{place}: the solver has no name")
    if spec.partition(":")[0].partition(".")[0] == "auto":
        raise DocumentError(f"{place}: auto cannot choose itself")
