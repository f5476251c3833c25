"""OR-Tools' CP-SAT on workflows, part by part, after our own bounds, local search and branch and bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom._system.collector import collector_paused
from transom.models.arrays import IntArray
from transom.models.workflow import Workflow
from transom.solvers.backends.cpsat import Scale, search_cpsat
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solvers.workflow.bounds import (
    Windows,
    energy_bound,
    interval_bound,
    path_bound,
    resource_bound,
    rounded_up,
    step_of,
    windows_of,
)
from transom.solvers.workflow.orders import TASKS, begin, completed, direct, order_of, search
from transom.solvers.workflow.series import series_parts
from transom.solving import TakesAll, presolve
from transom.stop import Budget, Stop

_SHARE = 0.4  # of the time, that local search takes
_STALL = 200  # steps without a better schedule that end the local search, for each task
_BRIEF = 5  # the same before the first exact search
_TREE = 0.8  # of the time, that the tree of orders takes
_CHUNK = 50  # thousands of its nodes between two looks at the clock
_NODES = 1.6e11  # its nodes, times the cube of the number of tasks: of many tasks it is through soon or never
_PER_TASK = 1e-4  # what it takes to build the model, for each task and edge [s]
_PER_PART = 4e-4  # what it takes to cut a workflow into parts, for each task [s]
_PER_SQUARE = 1e-7  # what the bounds by subsets take, per square of the tasks [s]
_PAIRS = 8000  # of tasks and machines, up to which tasks without edges are assigned to machines
_CUBE = 4e6  # of the number of tasks, up to which intervals are looked at
_PER_CUBE = 1e-7  # what that takes, per cube [s]
_PARAMETERS = {"use_precedences_in_disjunctive_constraint": True, "use_strong_propagation_in_disjunctive": True}


@dataclass(frozen=True, slots=True)
class _Ticks(Scale):
    """Objectives in ticks as seconds, exactly; an infinite error says that amounts were rounded.

    Makespans are multiples of ``step``, in ticks (:func:`~.bounds.step_of`).
    """

    ticks: int = 1
    step: int = 1

    def bound(self, objective: int) -> float:
        whole = rounded_up(objective, self.step)
        return whole if self.ticks == 1 else whole / self.ticks


@dataclass(frozen=True, slots=True)
class WorkflowCpSat(TakesAll):
    """Constraint programming with interval variables and cumulative resources; a bound is proved from the beginning on.

    A workflow is cut into parts that follow one another (:func:`~.series.series_parts`), which share the time.
    First come the critical path and the bounds by subsets of tasks; of up to 62 tasks then a brief local search and
    branch and bound over the order of starts (:mod:`.orders`) for millions of nodes; then local search for at most two
    fifths of the time and the bound by intervals of time. What is left is searched by CP-SAT, with the best schedule as
    hint and all of that as limits of the variables. Amounts too large for it are rounded so that everything that fits
    still fits: bounds hold, and answers count as far as they fit in truth. An iteration is a step of the local search,
    a thousand nodes or a conflict.
    """

    name: ClassVar[str] = "cpsat"
    solves: ClassVar[type] = Workflow
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    def warm_up(self) -> None:
        """Import OR-Tools and compile the kernels."""
        import_back_end("ortools.sat.python.cp_model")
        local_search = registry.make(registry.SOLVERS, "local-search", Workflow)
        local_search.warm_up()
        windows, _ = windows_of(Workflow("w", ["a", "b"], [1, 1]).on(1))
        interval_bound(windows, resource_bound(windows), 3)
        search(order_of(windows, np.zeros((2, 2), bool)), begin(2), 1, 10)
        run_deferred()

    def __call__(self, problem: Workflow, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if budget.seconds_left() == 0:  # of a large workflow the digest alone took it all
            registry.make(registry.SOLVERS, "longest-path", Workflow)(problem, budget, rng)
            budget.prove(problem.critical_path())
            return
        if presolve(problem, budget):
            return
        hasty = budget.seconds_left() < _PER_PART * len(problem)  # too short to look for parts
        series = [np.arange(len(problem))] if hasty else series_parts(problem)
        parts = [problem.take(tasks) for tasks in series] if len(series) > 1 else []
        if not parts or any(part.ticks > problem.ticks for part in parts):
            _solve(problem, budget, rng, start)
            return
        joint = _Joint(problem, budget, series, parts)
        while (part := joint.open_part()) is not None and not budget.done():
            own = joint.budget_of(part, budget.seconds_left() / joint.left())
            own.found(joint.starts[part] // joint.factor(part))
            _solve(parts[part], own, rng, None)
            joint.tried.add(part)


class _Joint:
    """What is known of the parts of a workflow: a schedule and a bound of each, in ticks of the whole."""

    def __init__(self, problem: Workflow, budget: Budget, series: list[IntArray], parts: list[Workflow]) -> None:
        self.problem, self.budget, self.series, self.parts = problem, budget, series, parts
        self.starts: list[IntArray] = []
        self.makespans: list[int] = []
        self.bounds: list[int] = []
        self.tried: set[int] = set()
        rule = registry.make(registry.SOLVERS, "longest-path", Workflow)
        for part in parts:
            quick = budget.nested(Stop(), part)
            rule(part, quick, np.random.default_rng(0))
            windows, _ = windows_of(part)
            proved = rounded_up(max(path_bound(windows), resource_bound(windows)), step_of(part))
            self.starts.append(np.asarray(quick.solution) * (problem.ticks // part.ticks))
            self.makespans.append(self.in_ticks(quick.value))
            self.bounds.append(proved * (problem.ticks // part.ticks))
        self.report()

    def in_ticks(self, seconds: float | None) -> int:
        return round((seconds or 0) * self.problem.ticks)

    def open_part(self) -> int | None:
        """The smallest part that is not settled."""
        left = [part for part in range(len(self.parts)) if self.is_open(part)]
        return min(left, key=lambda part: len(self.parts[part]), default=None)

    def is_open(self, part: int) -> bool:
        return part not in self.tried and self.makespans[part] > self.bounds[part]

    def left(self) -> int:
        """How many are not settled."""
        return sum(self.is_open(part) for part in range(len(self.parts)))

    def factor(self, part: int) -> int:
        """Ticks of the whole in one of a part."""
        return self.problem.ticks // self.parts[part].ticks

    def budget_of(self, part: int, seconds: float) -> Budget:
        """A budget for a part, which reports what it gets."""

        def found(starts: IntArray) -> None:
            self.starts[part] = np.asarray(starts) * self.factor(part)
            self.makespans[part] = self.in_ticks(self.parts[part].value(starts))
            self.report()

        def prove(bound: float) -> None:
            if (proved := self.in_ticks(bound)) > self.bounds[part]:
                self.bounds[part] = proved
                self.report()

        return self.budget.part(self.parts[part], seconds=seconds, found=found, prove=prove)

    def report(self) -> None:
        """Hand over the schedule of all parts, one after another, and the sum of their bounds."""
        whole, at = np.zeros(len(self.problem), np.int64), 0
        for tasks, starts, makespan in zip(self.series, self.starts, self.makespans, strict=True):
            whole[tasks] = starts + at
            at += makespan
        self.budget.found(whole)
        proved = sum(self.bounds)
        self.budget.prove(proved if self.problem.ticks == 1 else proved / self.problem.ticks)


def _solve(problem: Workflow, budget: Budget, rng: np.random.Generator, start: Any) -> None:
    """Bounds, local search, then CP-SAT on one part."""
    (windows, exact), ticks, step = windows_of(problem), problem.ticks, step_of(problem)
    scale = _Ticks(1 / ticks, 0.0 if exact else math.inf, False, ticks=ticks, step=step)
    proved = rounded_up(max(path_bound(windows), energy_bound(windows)), step)
    budget.prove(scale.bound(proved))
    if budget.seconds_left() > _PER_SQUARE * len(problem) ** 2:
        proved = rounded_up(max(proved, resource_bound(windows)), step)
        budget.prove(scale.bound(proved))
    building = _PER_TASK * (len(problem) + len(problem.edges))
    short = building > (1 - _SHARE) * budget.seconds_left()  # too short for CP-SAT: local search takes it all
    if exact and 0 < np.count_nonzero(windows.durations) <= TASKS:
        _improve(problem, budget, rng, start, _SHARE, _BRIEF)
        if not budget.done():
            _by_order(problem, windows, budget, step)
        if budget.done():
            return
        start = budget.solution
    _improve(problem, budget, rng, start, 1.0 if short else _SHARE, _STALL)
    makespan = int((np.asarray(budget.solution) + windows.durations).max())
    cube = len(problem) ** 3 * len(windows.capacity)
    if not budget.done() and cube <= _CUBE and budget.seconds_left() > _PER_CUBE * cube:
        proved = rounded_up(interval_bound(windows, proved, makespan), step)
        budget.prove(scale.bound(proved))
    if budget.done() or budget.short(building):
        return
    _search(problem, windows, (proved, makespan), budget, int(rng.integers(2**31)), scale)


def _by_order(problem: Workflow, windows: Windows, budget: Budget, step: int) -> None:
    """Branch and bound over the order of starts, from both ends in turn, until one is through or its share is used."""
    lasting, before = direct(problem)
    forwards = Windows(
        windows.heads[lasting], windows.durations[lasting], windows.tails[lasting], windows.requests[lasting],
        windows.capacity,
    )  # fmt: skip
    searches = [order_of(forwards, before)]
    if not problem.releases.any():  # which would be due dates
        backwards = forwards._replace(heads=forwards.tails, tails=forwards.heads)
        searches.append(order_of(backwards, np.ascontiguousarray(before.T)))
    latest = int((np.asarray(budget.solution) + windows.durations).max()) - step
    places = [begin(latest) for _ in searches]
    until = budget.seconds() + _TREE * budget.seconds_left()
    while sum(place.nodes for place in places) < _NODES / len(lasting) ** 3 and budget.seconds() < until:
        for order, place in zip(searches, places, strict=True):
            left = budget.iterations_left()
            thousands = _CHUNK if left is None else min(_CHUNK, left)
            place.latest = latest
            over = search(order, place, step, 1000 * thousands)
            budget.spend(thousands)
            if place.latest < latest:
                latest = place.latest
                backwards_too = latest + step - order.best - forwards.durations
                budget.found(completed(problem, lasting, order.best if order is searches[0] else backwards_too))
            if over:
                budget.prove(budget.value or 0)
            if budget.done():
                return


def _improve(problem: Workflow, budget: Budget, rng: np.random.Generator, start: Any, share: float, stall: int) -> None:
    """Local search, until it has used up its share of the time, stalls (steps for each task) or meets the bound."""
    part = budget.part(seconds=share * budget.seconds_left(), stall=stall * len(problem))
    registry.make(registry.SOLVERS, "local-search", Workflow).improve(problem, part, rng, start)


def _search(
    problem: Workflow, windows: Windows, limits: tuple[int, int], budget: Budget, seed: int, scale: Scale
) -> None:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables: list[Any] = []
    defer_destructors(model, variables)
    apart = not len(problem.edges) and not problem.releases.any() and _alike(windows)
    with collector_paused():
        if apart and len(problem) * int(windows.capacity[0]) <= _PAIRS:
            starts_of = _machines(model, windows, limits, variables)
        else:
            starts_of = _intervals(model, windows, limits, variables, problem)
            for variable, hint in zip(variables, np.asarray(budget.solution).tolist(), strict=True):
                model.add_hint(variable, hint)

    def read(values: IntArray) -> IntArray | None:
        found = starts_of(values)
        return found if scale.error == 0 or not problem.violations(found) else None

    search_cpsat(model, budget, seed, read, scale, parameters=_PARAMETERS)


def _alike(windows: Windows) -> bool:
    """Whether each task takes one of so many equal parts of a single resource."""
    return windows.requests.shape[1] == 1 and int(windows.requests.min()) == int(windows.requests.max()) == 1


def _intervals(
    model: Any, windows: Windows, limits: tuple[int, int], starts: list[Any], problem: Workflow
) -> Callable[[IntArray], IntArray]:
    """A variable for the start of each task, and a cumulative constraint for each resource."""
    proved, makespan = limits
    durations = windows.durations.tolist()
    latest = (makespan - windows.tails - windows.durations).tolist()
    for head, last in zip(windows.heads.tolist(), latest, strict=True):
        starts.append(model.new_int_var(head, last, ""))
    end = model.new_int_var(proved, makespan, "")
    for parent, child in problem.edges.tolist():
        model.add(starts[child] >= starts[parent] + durations[parent])
    for task in np.flatnonzero(np.diff(problem.children.first) == 0).tolist():
        model.add(end >= starts[task] + durations[task])
    model.add_hint(end, makespan)
    model.minimize(end)
    boxes = [model.new_fixed_size_interval_var(starts[t], each, "") for t, each in enumerate(durations)]
    for requests, capacity in zip(windows.requests.T, windows.capacity.tolist(), strict=True):
        asked = np.flatnonzero((requests > 0) & (windows.durations > 0)).tolist()
        model.add_cumulative([boxes[t] for t in asked], requests[asked].tolist(), capacity)
    return lambda values: values[: len(durations)]


def _machines(
    model: Any, windows: Windows, limits: tuple[int, int], chosen: list[Any]
) -> Callable[[IntArray], IntArray]:
    """Where tasks do not wait for one another: which machine each runs on, the longest ones on the first machines."""
    durations, machines = windows.durations, int(windows.capacity[0])
    pairs: list[tuple[int, int]] = []
    on: list[list[int]] = [[] for _ in range(machines)]
    for rank, task in enumerate(np.argsort(-durations, kind="stable").tolist()):
        mine = range(min(rank + 1, machines))
        for machine in mine:
            on[machine].append(len(pairs))
            pairs.append((task, machine))
            chosen.append(model.new_bool_var(""))
        model.add_exactly_one(chosen[-len(mine) :])
    end = model.new_int_var(*limits, "")
    for rows in on:
        model.add(sum(int(durations[pairs[i][0]]) * chosen[i] for i in rows) <= end)
    model.minimize(end)

    def starts_of(values: IntArray) -> IntArray:
        starts, busy = np.zeros(len(durations), np.int64), [0] * machines
        for (task, machine), value in zip(pairs, values.tolist(), strict=False):
            if value:
                starts[task] = busy[machine]
                busy[machine] += int(durations[task])
        return starts

    return starts_of
