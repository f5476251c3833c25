"""Problems out of files: what ``solve``, ``check`` and plans take as instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from transom.io import Document, PeriodWindow
    from transom.models import Allocation, ConstrainedPath, HopCost, Knapsack, Selection, Window
    from transom.models.allocation import Rule

PROBLEMS = ("knapsack", "selection", "scas", "dcas", "free", "csp")
"""The problems that files can be read as."""


class Instance(NamedTuple):
    """A problem out of a file.

    ``label`` is the file, in a set with the line; ``jobs`` the ids of the jobs that it is about, None where the file
    does not state any.
    """

    label: str
    problem: Knapsack | Selection | Allocation | ConstrainedPath
    jobs: list[int] | None


def read_instances(
    files: Sequence[Path],
    problem: str | None = None,
    objective: str | None = None,
    cost_model: str | None = None,
    wrap: bool | None = None,
    objectives: str | None = None,
) -> Iterator[tuple[str, Any]]:
    """Read problems, one at a time, each with its label: the file, in a set with the line.

    Parameters are those of :func:`read_labelled`.
    """
    return (
        (instance.label, instance.problem)
        for instance in read_labelled(files, problem, objective, cost_model, wrap, objectives)
    )


def read_labelled(
    files: Sequence[Path],
    problem: str | None = None,
    objective: str | None = None,
    cost_model: str | None = None,
    wrap: bool | None = None,
    objectives: str | None = None,
) -> Iterator[Instance]:
    """Read problems, one at a time.

    Parameters
    ----------
    files : documents of windows, knapsacks, selections, allocations or paths, knapsacks of kplib, multi-objective
        knapsacks, or lines of a topology-aware stream.
    problem : what to make of them; None takes each as what it is: a window as a knapsack, a line of a stream as
        a static allocation.
    objective : what a job of a window is worth, by default its nodes; None where no file holds a window.
    objectives : what to maximise where a window becomes a selection, names with slashes between; by default the use of
        every resource.
    cost_model : what hops cost, by default as eq. (1) of papers/nsa; allocations state theirs.
    wrap : whether blocks wrap around, by default yes; allocations state it, and are changed if it is given.

    Raises
    ------
    SpecError : a name is unknown, or a choice would be ignored.
    DocumentError : a file cannot be read, or holds something else.
    """
    from transom.io import read_documents

    documents = (pair for path in files for pair in read_documents(path))
    return from_documents(documents, problem, objective, cost_model, wrap, objectives)


def from_documents(
    documents: Iterable[tuple[str, Document]],
    problem: str | None = None,
    objective: str | None = None,
    cost_model: str | None = None,
    wrap: bool | None = None,
    objectives: str | None = None,
) -> Iterator[Instance]:
    """Make problems of documents, one at a time.

    Parameters
    ----------
    documents : each with its label.
    problem, objective, cost_model, wrap, objectives : as of :func:`read_labelled`.

    Raises
    ------
    SpecError : a name is unknown, or a choice would be ignored.
    DocumentError : a document holds something else.
    """
    from transom import registry
    from transom.errors import DocumentError, ModelError

    if problem is not None and problem not in PROBLEMS:
        raise registry.unknown("problem", problem, PROBLEMS)
    worth = registry.make(registry.OBJECTIVES, objective or "nodes")
    cost = None if cost_model is None else registry.make(registry.COST_MODELS, cost_model)
    choices = _Choices(problem, objective, worth, cost, wrap, objectives)
    for label, document in documents:
        try:
            yield _instance(label, document, choices)
        except ModelError as error:
            raise DocumentError(f"{label}: {error}") from None


@dataclass(frozen=True)
class _Choices:
    problem: str | None
    objective: str | None
    worth: Any
    cost: HopCost | None
    wrap: bool | None
    objectives: str | None

    def rule(self) -> Rule | None:
        """The rule of the allocation that is wanted, if one is."""
        from transom.models.allocation import RULES

        return RULES.get(self.problem or "")

    def refuse(self, label: str, reason: str, *options: str) -> None:
        """Say no to choices that do not apply, in one line.

        Raises
        ------
        SpecError : one of the options is given.
        """
        from transom.errors import SpecError

        given = {"--objective": self.objective, "--cost-model": self.cost, "--wrap": self.wrap or None}
        given.update({"--no-wrap": self.wrap is False or None, "--objectives": self.objectives})
        for option in options:
            if given[option] is not None:
                raise SpecError(f"{label}: {reason.replace('OPTION', option)}")


def _instance(label: str, document: Document, choices: _Choices) -> Instance:
    from transom.errors import DocumentError
    from transom.io import PeriodWindow
    from transom.models import Allocation, ConstrainedPath, Knapsack, Selection, Window

    allocations = ("--cost-model", "--wrap", "--no-wrap")
    if choices.problem != "selection" and not isinstance(document, Selection):
        choices.refuse(label, "OPTION is for selections of windows (--problem selection)", "--objectives")
    if isinstance(document, Selection):
        if choices.problem not in (None, "selection"):
            raise DocumentError(f"{label}: holds a selection, not a {choices.problem} problem")
        choices.refuse(label, "a selection states its objectives; OPTION is for windows", "--objective", "--objectives")
        choices.refuse(label, "a selection has no hops; OPTION is for allocations", *allocations)
        return Instance(label, document, None)
    if isinstance(document, Knapsack):
        if choices.problem not in (None, "knapsack"):
            raise DocumentError(f"{label}: holds a knapsack, not a {choices.problem} problem")
        choices.refuse(label, "a knapsack states its values; OPTION is for windows", "--objective")
        choices.refuse(label, "a knapsack has no hops; OPTION is for allocations", *allocations)
        return Instance(label, document, None)
    if isinstance(document, ConstrainedPath):
        if choices.problem not in (None, "csp"):
            raise DocumentError(f"{label}: holds a constrained path, not a {choices.problem} problem")
        choices.refuse(label, "a path states its costs; OPTION is for windows", "--objective", *allocations)
        return Instance(label, document, None)
    if isinstance(document, Allocation):
        return Instance(label, _stated_allocation(label, document, choices), None)
    if isinstance(document, Window):
        return _of_window(label, document, choices)
    if isinstance(document, PeriodWindow):
        return _of_period(label, document, choices)
    raise DocumentError(
        f"{label}: holds a result; expected an instance: a window, knapsack, selection, allocation or path"
    )


def _stated_allocation(label: str, stated: Allocation, choices: _Choices) -> Allocation | ConstrainedPath:
    """An allocation under the rule and with the wrap-around that are wanted."""
    from transom.errors import DocumentError, SpecError
    from transom.models import Allocation

    if choices.problem in ("knapsack", "selection"):
        raise DocumentError(f"{label}: holds an allocation, not a {choices.problem} problem")
    choices.refuse(label, "OPTION is for knapsacks of windows", "--objective")
    if choices.cost not in (None, stated.cost):
        raise SpecError(f"{label}: an allocation states what hops cost; --cost-model is another")
    rule = stated.rule if choices.problem in (None, "csp") else choices.rule()
    assert rule is not None
    wrap = stated.wrap if choices.wrap is None else choices.wrap
    if choices.problem == "csp":
        return _path(label, Allocation(stated.tree, stated.idle, stated.sizes, "static", False, stated.cost), choices)
    if (rule, wrap) == (stated.rule, stated.wrap):
        return stated
    return Allocation(stated.tree, stated.idle, stated.sizes, rule, wrap, stated.cost)


def _of_window(label: str, window: Window, choices: _Choices) -> Instance:
    """A window as a knapsack or a selection of its queue, or as the allocation of the jobs at its head that fit."""
    from transom.models import PAPER, Allocation, Knapsack

    if choices.problem == "selection":
        choices.refuse(label, "OPTION is for knapsacks; a selection has --objectives", "--objective")
        choices.refuse(label, "OPTION is for allocations, this is a selection", "--cost-model", "--wrap", "--no-wrap")
        return Instance(label, _selection(label, window, choices), window.queue.id.tolist())
    if choices.problem in (None, "knapsack"):
        choices.refuse(label, "OPTION is for allocations, this is a knapsack", "--cost-model", "--wrap", "--no-wrap")
        return Instance(label, Knapsack.from_window(window, choices.worth), window.queue.id.tolist())
    choices.refuse(label, "OPTION is for knapsacks of windows", "--objective")
    rule, wrap = choices.rule() or "static", choices.problem != "csp" and choices.wrap is not False
    problem = Allocation.from_window(window, rule, wrap, choices.cost or PAPER)
    fits = window.queue.nodes.cumsum() <= len(problem.idle)
    jobs = window.queue.id[fits & (window.queue.nodes > 1)].tolist()
    return Instance(label, _path(label, problem, choices) if choices.problem == "csp" else problem, jobs)


def _selection(label: str, window: Window, choices: _Choices) -> Selection:
    from transom.errors import SpecError
    from transom.io.objective_names import named_terms
    from transom.models import Selection

    try:
        terms = named_terms(choices.objectives or "", window.cluster)
    except SpecError as error:
        raise SpecError(f"{label}: {error}") from None
    return Selection.from_window(window, terms)


def _of_period(label: str, window: PeriodWindow, choices: _Choices) -> Instance:
    """A line of a stream: its jobs are selected already."""
    from transom.errors import DocumentError
    from transom.models import PAPER

    if choices.problem == "selection":
        raise DocumentError(f"{label}: a line of a stream states nodes alone; selections are of several resources")
    if choices.problem == "knapsack":
        choices.refuse(label, "OPTION is for allocations, this is a knapsack", "--cost-model", "--wrap", "--no-wrap")
        if choices.objective not in (None, "nodes"):
            choices.refuse(label, "its jobs state neither submission nor walltime; OPTION can be nodes", "--objective")
        return Instance(label, window.knapsack(), window.ids.tolist())
    choices.refuse(label, "OPTION is for knapsacks of windows", "--objective")
    rule, wrap = choices.rule() or "static", choices.problem != "csp" and choices.wrap is not False
    problem = window.allocation(rule, wrap, choices.cost or PAPER)
    jobs = window.allocated.tolist()
    return Instance(label, _path(label, problem, choices) if choices.problem == "csp" else problem, jobs)


def _path(label: str, problem: Allocation, choices: _Choices) -> ConstrainedPath:
    from transom.models import ConstrainedPath

    choices.refuse(label, "a constrained path has no wrap-around; OPTION does not go with it", "--wrap")
    return ConstrainedPath.from_allocation(problem)
