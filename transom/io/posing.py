"""The problems that windows, lines of a stream and allocations pose; parameters are the options that apply."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from transom import registry
from transom._system.wording import digits
from transom.errors import SpecError
from transom.io.nsa_windows import PeriodWindow
from transom.io.objective_names import named_terms
from transom.models import Allocation, ConstrainedPath, FatTree, Joint, Knapsack, Placement, Selection, Window, Workflow
from transom.models.allocation import RULES
from transom.models.placement import OBJECTIVES as PLACED

Jobs = list[int] | None
"""Ids of the jobs that a problem is about; None where nothing states any."""


def knapsack(window: Window, objective: str = "nodes") -> tuple[Knapsack, Jobs]:
    """Which jobs of the queue to start, on nodes alone."""
    return Knapsack.from_window(window, _made(registry.OBJECTIVES, objective)), window.queue.id.tolist()


def knapsack_of_line(line: PeriodWindow, objective: str = "nodes") -> tuple[Knapsack, Jobs]:
    """Which of the jobs fit.

    Raises
    ------
    SpecError : an objective other than ``nodes``: these jobs state no times.
    """
    if objective != "nodes":
        raise SpecError("its jobs state neither submission nor walltime; --objective can be nodes")
    return line.knapsack(), line.ids.tolist()


def selection(window: Window, objectives: str = "") -> tuple[Selection, Jobs]:
    """Which jobs of the queue use nodes and further resources best."""
    return Selection.from_window(window, named_terms(objectives, window.cluster)), window.queue.id.tolist()


def joint(window: Window, objective: str = "nodes", cost_model: str = "paper") -> tuple[Joint, Jobs]:
    """Which jobs of the queue to start, and on which nodes."""
    weights, cost = _made(registry.OBJECTIVES, objective), _made(registry.COST_MODELS, cost_model)
    posed = Joint.from_window(window, weights, cost=cost)
    return posed, window.queue.id.tolist()


def placement(window: Window, objective: str = "nodes") -> tuple[Placement, Jobs]:
    """Which jobs of the queue to start, on nodes and further resources, as on one machine."""
    if objective in PLACED:
        return Placement.from_window(window).with_objective(objective), window.queue.id.tolist()
    return Placement.from_window(window, _made(registry.OBJECTIVES, objective)), window.queue.id.tolist()


def placement_as_stated(stated: Placement, objective: str | None = None) -> tuple[Placement, Jobs]:
    """A placement with the values that are wanted.

    Raises
    ------
    SpecError : the objective is none of a placement.
    """
    if objective is None:
        return stated, None
    if objective not in PLACED:
        raise SpecError(f"--objective of a placement is {', '.join(PLACED[:-1])} or {PLACED[-1]}, got {objective!r}")
    return stated.with_objective(objective), None


def placement_of_knapsack(stated: Knapsack) -> tuple[Placement, Jobs]:
    """A knapsack as one machine with one resource."""
    return Placement.from_knapsack(stated), None


def workflow_on_machine(
    stated: Workflow, nodes: int | None = None, amounts: str | None = None
) -> tuple[Workflow, Jobs]:
    """A workflow on the machine that is wanted, or on the one that it states.

    Raises
    ------
    SpecError : no machine is stated, or ``amounts`` cannot be read or comes without ``nodes``.
    """
    if nodes is None:
        if amounts is not None:
            raise SpecError("--amounts goes with --nodes")
        if stated.machine is None:
            raise SpecError("the workflow states no machine; --nodes says how many nodes it has")
        return stated, None
    given = {}
    for each in (amounts or "").split(","):
        name, sign, amount = each.partition("=")
        if sign and digits(amount):
            given[name] = int(amount)
        elif each:
            raise SpecError(f"--amounts: expected NAME=AMOUNT,..., got {amounts!r}")
    return stated.on(nodes, given), None


def allocation(window: Window, problem: str, cost_model: str = "paper", wrap: bool = True) -> tuple[Allocation, Jobs]:
    """The nodes of the jobs at the head of the queue that fit."""
    posed = Allocation.from_window(window, RULES[problem], wrap, _made(registry.COST_MODELS, cost_model))
    fits = window.queue.nodes.cumsum() <= len(posed.idle)
    return posed, window.queue.id[fits & (window.queue.nodes > 1)].tolist()


def allocation_of_line(
    line: PeriodWindow, problem: str, cost_model: str = "paper", wrap: bool = True
) -> tuple[Allocation, Jobs]:
    """The nodes of its jobs, which are selected already."""
    return line.allocation(RULES[problem], wrap, _made(registry.COST_MODELS, cost_model)), line.allocated.tolist()


def allocation_as_stated(
    stated: Allocation, problem: str, cost_model: str | None = None, wrap: bool | None = None
) -> tuple[Allocation, Jobs]:
    """An allocation under the rule and with the wrap-around that are wanted."""
    _same_cost(stated, cost_model)
    rule, around = RULES[problem], stated.wrap if wrap is None else wrap
    if (rule, around) == (stated.rule, stated.wrap):
        return stated, None
    return replace(stated, rule=rule, wrap=around), None


def path(window: Window, cost_model: str = "paper", wrap: bool = False) -> tuple[ConstrainedPath, Jobs]:
    """The path that the static allocation of the window is."""
    posed, jobs = allocation(window, "scas", cost_model, _not_around(wrap))
    return ConstrainedPath.from_allocation(posed), jobs


def path_of_line(line: PeriodWindow, cost_model: str = "paper", wrap: bool = False) -> tuple[ConstrainedPath, Jobs]:
    """The path that its static allocation is."""
    posed, jobs = allocation_of_line(line, "scas", cost_model, _not_around(wrap))
    return ConstrainedPath.from_allocation(posed), jobs


def path_of_allocation(
    stated: Allocation, cost_model: str | None = None, wrap: bool = False
) -> tuple[ConstrainedPath, Jobs]:
    """The path that an allocation is under the static rule."""
    _same_cost(stated, cost_model)
    posed, jobs = allocation_as_stated(stated, "scas", wrap=_not_around(wrap))
    return ConstrainedPath.from_allocation(posed), jobs


def small_allocations() -> list[Allocation]:
    """One under each rule, with wrap-around and without."""
    tree = FatTree.uniform(8, 2, 4)
    return [Allocation(tree, range(8), [3, 2], rule, wrap) for rule in RULES.values() for wrap in (True, False)]


def _not_around(wrap: bool) -> bool:
    if wrap:
        raise SpecError("a constrained path has no wrap-around; --wrap does not go with it")
    return False


def _same_cost(stated: Allocation, cost_model: str | None) -> None:
    if cost_model is not None and _made(registry.COST_MODELS, cost_model) != stated.cost:
        raise SpecError("an allocation states what hops cost; --cost-model is another")


@cache
def _made(group: str, spec: str) -> Any:
    return registry.make(group, spec)
