"""SCIP at work on a model of a packing: limits, reports on the way, the end."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

from transom.solvers.backends.float_bounds import honest
from transom.solvers.backends.native import Handover, defer_cleanup, defer_destructors, run_native
from transom.stop import Budget

_SUB_MIP = ("alns", "clique", "crossover", "gins", "locks", "lpface", "ofins", "rens", "rins", "vbounds")
_KEEPS_TIME = {"constraints/knapsack/dualpresolving": False} | {f"heuristics/{name}/freq": -1 for name in _SUB_MIP}
"""What overruns the clock on large knapsacks, by seconds: a dynamic programme over the whole constraint
in presolving, and heuristics that start a second SCIP, which an interrupt does not reach."""


def interrupt(model: Any) -> None:
    """Have SCIP end soon."""
    from pyscipopt import SCIP_STAGE

    # SCIP complains when it is interrupted while it enters or leaves a stage; the next event is soon enough then.
    if model.getStage() in (SCIP_STAGE.PRESOLVING, SCIP_STAGE.PRESOLVED, SCIP_STAGE.SOLVING):
        with contextlib.suppress(Exception):
            model.interruptSolve()


def scip_model(seed: int) -> Any:
    """An empty model that keeps time, prints nothing and leaves Ctrl-C alone."""
    from pyscipopt import Model

    model = Model()
    defer_destructors(model)
    model.hideOutput()
    model.setParam("misc/catchctrlc", False)
    model.setParam("timing/clocktype", 2)  # wall clock
    model.setParam("randomization/randomseedshift", seed)
    for name, value in _KEEPS_TIME.items():
        model.setParam(name, value)
    return model


def search_scip(
    model: Any,
    budget: Budget,
    read: Callable[[Callable[[Any], float]], Any],
    whole: bool,
    slack: float,
    unit: float = 1.0,
    ceiling: float | None = None,
    gain: int = 0,
) -> tuple[str, float | None]:
    """Let SCIP minimise until the budget is done; solutions and bounds are handed over as they come.

    Parameters
    ----------
    model : objective values times ``unit`` are costs.
    read : makes the problem's solution out of the values of variables, or None if it is none.
    whole, slack : as in ``honest``.
    ceiling : bounds above it are not about solutions, and are kept back.
    gain : where > 0, the problem maximises values that are multiples of this: the objective is its value, divided by it
        and negated.

    Returns
    -------
    SCIP's status, and its dual bound where it ended by itself.
    """

    def bounded(known: float) -> float | None:
        if ceiling is not None and known * unit > ceiling:
            return None
        safe = honest(known * unit, whole, slack)
        if gain:
            return -gain * safe if budget.value is None else max(-gain * safe, budget.value)
        return safe if budget.value is None else min(safe, budget.value)

    status, bound = run_scip(model, budget, read, bounded)
    return status, None if bound is None else bound * unit


def run_scip(
    model: Any,
    budget: Budget,
    read: Callable[[Callable[[Any], float]], Any],
    bounded: Callable[[float], float | None],
) -> tuple[str, float | None]:
    """Let SCIP search until the budget is done; solutions and bounds are handed over as they come.

    Parameters
    ----------
    model : of :func:`scip_model`.
    read : makes the problem's solution out of the values of variables, or None if it is none.
    bounded : makes the problem's bound out of SCIP's finite dual bound, or None.

    Returns
    -------
    SCIP's status, and its dual bound where it ended with a proof.
    """
    from pyscipopt import SCIP_EVENTTYPE, SCIP_STAGE

    report = Handover(budget)

    def bound() -> float | None:
        # What SCIP calls its dual bound is one only while it searches and after a proof: when it starts or restarts
        # (INITSOLVE), and from the moment a limit is met or an interrupt comes, it may be the value of the incumbent.
        searching = model.getStage() == SCIP_STAGE.SOLVING and model.getStatus() == "unknown"
        if reporter.stopped or (not searching and model.getStatus() != "optimal"):
            return None
        known = model.getDualbound()
        return None if abs(known) >= model.infinity() else bounded(known)

    def best() -> Any:
        solution = model.getBestSol()
        return read(lambda variable: model.getSolVal(solution, variable))

    def on_event(kind: int) -> None:
        solution = best() if kind == SCIP_EVENTTYPE.BESTSOLFOUND else None
        if not report(solution, bound(), int(bool(kind & SCIP_EVENTTYPE.NODESOLVED))):
            reporter.stop()

    reporter = _reporter()
    reporter.report = on_event
    model.includeEventhdlr(reporter, "transom", "hands solutions and bounds over")
    if (left := budget.iterations_left()) is not None:
        model.setParam("limits/totalnodes", left)
    if (seconds := budget.wall_seconds_left()) < math.inf:
        model.setParam("limits/time", seconds + 0.001)  # just past the end of the budget
    ended: list[tuple[str, float | None]] = []

    def search() -> None:
        model.optimizeNogil()
        solution = best() if model.getNSols() else None
        if not reporter.stopped:
            status = model.getStatus()
            ended.append((status, model.getDualbound() if status == "optimal" else None))
        report(solution, bound(), max(0, model.getNTotalNodes() - budget.iterations))

    def free() -> None:
        model.freeTransform()  # drops the events while their handler lives
        reporter.model = reporter.report = None  # else they keep each other, and tens of MiB

    try:
        run_native(search, reporter.stop, budget)
    finally:
        defer_cleanup(free)
    report.close()
    return ended[0] if ended else ("unknown", None)


def _reporter() -> Any:
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr

    class Reporter(Eventhdlr):
        # A class that is made anew for each model lives until the next collection: it must not know the model.
        stopped = False
        report: Any = None
        events = SCIP_EVENTTYPE.BESTSOLFOUND | SCIP_EVENTTYPE.NODESOLVED | SCIP_EVENTTYPE.DUALBOUNDIMPROVED

        def eventinit(self) -> None:
            self.model.catchEvent(self.events, self)

        def eventexit(self) -> None:
            self.model.dropEvent(self.events, self)

        def eventexec(self, event: Any) -> None:
            self.report(event.getType())

        def stop(self) -> None:
            self.stopped = True
            interrupt(self.model)

    return Reporter()
