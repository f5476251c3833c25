"""OR-Tools' CP-SAT on workflows, after our own bounds and local search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom._system.collector import collector_paused
from transom.models.arrays import IntArray
from transom.models.workflow import Workflow
from transom.solvers.backends.cpsat import Scale, search_cpsat
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solvers.workflow.bounds import Windows, interval_bound, path_bound, resource_bound, windows_of
from transom.solving import presolve
from transom.stop import Budget, Stop

_SHARE = 0.25  # of the time, that local search takes
_STALL = 200  # steps without a better schedule that end the local search, for each task
_PER_TASK = 1e-4  # what it takes to build the model, for each task and edge [s]
_CUBE = 4e6  # of the number of tasks, up to which intervals are looked at


@dataclass(frozen=True, slots=True)
class _Ticks(Scale):
    """Objectives in ticks as seconds, exactly; an infinite error says that amounts were rounded."""

    ticks: int = 1

    def bound(self, objective: float) -> float:
        whole = math.ceil(objective - 1e-6)
        return whole if self.ticks == 1 else whole / self.ticks


@dataclass(frozen=True, slots=True)
class WorkflowCpSat:
    """Constraint programming with interval variables and cumulative resources; a bound is proved from the beginning on.

    First come the critical path and the bounds by subsets of tasks, then local search for at most a quarter of the
    time, then the bound by intervals of time. What is left is searched by CP-SAT, with the best schedule as hint and
    all of that as limits of the variables. Amounts too large for it are rounded so that everything that fits still
    fits: bounds hold, and answers count as far as they fit in truth. An iteration is a step of the local search or a
    conflict.
    """

    name: ClassVar[str] = "cpsat"
    solves: ClassVar[type] = Workflow
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    def supports(self, problem: Workflow, /) -> str | None:
        """Every workflow."""
        return None

    def warm_up(self) -> None:
        """Import OR-Tools and compile the kernels."""
        import_back_end("ortools.sat.python.cp_model")
        local_search = registry.make(registry.SOLVERS, "local-search", Workflow)
        local_search.warm_up()
        windows, _ = windows_of(Workflow("w", ["a", "b"], [1, 1]).on(1))
        interval_bound(windows, resource_bound(windows), 3)
        run_deferred()

    def __call__(self, problem: Workflow, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        (windows, exact), ticks = windows_of(problem), problem.ticks
        scale = _Ticks(1 / ticks, 0.0 if exact else math.inf, False, ticks)
        proved = max(path_bound(windows), resource_bound(windows))
        budget.prove(scale.bound(proved))
        _improve(problem, budget, rng, start)
        makespan = int((np.asarray(budget.solution) + windows.durations).max())
        if not budget.done() and len(problem) ** 3 * len(windows.capacity) <= _CUBE:
            proved = interval_bound(windows, proved, makespan)
            budget.prove(scale.bound(proved))
        if budget.done() or budget.short(_PER_TASK * (len(problem) + len(problem.edges))):
            return
        _search(problem, windows, (proved, makespan), budget, int(rng.integers(2**31)), scale)


def _improve(problem: Workflow, budget: Budget, rng: np.random.Generator, start: Any) -> None:
    """Local search, until it has used up its share or meets the bound."""
    seconds = budget.seconds_left()
    share = None if seconds == math.inf else max(_SHARE * seconds, 1e-9)
    part = budget.nested(Stop(share, budget.iterations_left(), stall=_STALL * len(problem)), problem)
    if budget.bound is not None:
        part.prove(budget.bound)
    registry.make(registry.SOLVERS, "local-search", Workflow).improve(problem, part, rng, start)
    budget.spend(part.iterations)
    budget.found(part.solution)


def _search(
    problem: Workflow, windows: Windows, limits: tuple[int, int], budget: Budget, seed: int, scale: Scale
) -> None:
    from ortools.sat.python import cp_model

    proved, makespan = limits
    model = cp_model.CpModel()
    starts: list[Any] = []
    defer_destructors(model, starts)
    durations = windows.durations.tolist()
    latest = (makespan - windows.tails - windows.durations).tolist()
    with collector_paused():
        for head, last in zip(windows.heads.tolist(), latest, strict=True):
            starts.append(model.new_int_var(head, last, ""))
        end = model.new_int_var(proved, makespan, "")
        for parent, child in problem.edges.tolist():
            model.add(starts[child] >= starts[parent] + durations[parent])
        for task in np.flatnonzero(np.diff(problem.children.first) == 0).tolist():
            model.add(end >= starts[task] + durations[task])
        boxes = [model.new_fixed_size_interval_var(starts[t], each, "") for t, each in enumerate(durations)]
        for requests, capacity in zip(windows.requests.T, windows.capacity.tolist(), strict=True):
            asked = np.flatnonzero((requests > 0) & (windows.durations > 0)).tolist()
            if int(requests[asked].sum()) > capacity:
                model.add_cumulative([boxes[t] for t in asked], requests[asked].tolist(), capacity)
        for variable, hint in zip(starts, np.asarray(budget.solution).tolist(), strict=True):
            model.add_hint(variable, hint)
        model.add_hint(end, makespan)
    model.minimize(end)

    def read(values: IntArray) -> IntArray | None:
        found = values[: len(starts)]
        return found if scale.error == 0 or not problem.violations(found) else None

    search_cpsat(model, budget, seed, read, scale)
