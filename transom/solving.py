"""``solve``: the one verb, which owns the clock and judges every answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from time import perf_counter
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from transom import registry
from transom._system.collector import collector_paused
from transom._system.notices import timed
from transom._system.signals import interrupt_behind
from transom.errors import ModelError, SpecError, TransomError, UnsupportedError, shown
from transom.models.arrays import expected, whole
from transom.models.pareto_front import ParetoFront
from transom.result import Reason, Result, Status
from transom.rng import stream
from transom.stop import Budget, Problem, SolutionT, Stop, WrongAnswer

_TIME_UP = 0.95
"""Share of the seconds of a budget from which on a solver that ends has used its time up."""

_SHORT = 1.0
"""Limits of time up to which a pass of the collector of garbage would be too long [s]."""


@runtime_checkable
class Solver(Protocol):
    """Anything that searches for solutions of one type of problem.

    A solver may also have ``warm_up()``, called before the clock starts: it imports the back end and compiles kernels,
    and does nothing that depends on the problem; one of several types of problems may have ``warm_up_for(type)``
    instead. With a true ``prepares_itself`` it is called without that, and prepares what a problem needs when it comes
    to it (:meth:`~transom.stop.Budget.uncounted`); whoever measures it from outside calls ``warm_up_on(problem)``. One
    with a true ``skip_presolve``, because it has conditions or notes of its own, is called even where the problem
    itself knows the answer (``trivial()``).
    ``digest``, if there is one, is a text that differs where the solver searches differently for reasons that its
    specification does not say, such as weights in a file.
    """

    @property
    def name(self) -> str:
        """The name it is registered under."""

    @property
    def solves(self) -> type | tuple[type, ...]:
        """The type of problem that it takes, or several."""

    def supports(self, problem: Any, /) -> str | None:
        """None if it can take this problem, else the reason why not."""

    def __call__(self, problem: Any, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> Any:
        """Search until ``budget.done()`` or the end.

        Solutions and bounds go to ``budget.found`` and ``budget.prove`` as they come; a returned
        solution counts too, None means that everything has been handed over.
        """


class TakesAll:
    """A solver of every problem of its type."""

    __slots__ = ()

    def supports(self, problem: Any, /) -> str | None:
        """None: it takes this problem."""
        return None


def solve(
    problem: Problem[SolutionT],
    solver: str | Solver = "auto",
    stop: Stop = Stop(seconds=1.0),  # noqa: B008  (frozen data)
    seed: int = 0,
    start: Any = None,
    threads: int = 1,
    clock: Callable[[], float] = perf_counter,
    report: Callable[[Budget], Any] | None = None,
) -> Result[SolutionT]:
    """Solve a problem, check the answer independently, and say what is known about it.

    Parameters
    ----------
    problem : what to solve.
    solver : a registered name, a specification (``"sa:steps=1000"``) or a solver object.
    stop : when to stop; ``seconds`` is the whole call without imports and compilation.
    seed : >= 0; the same seed and an iteration budget give the same answer in any process.
    start : a feasible solution to begin with; the result is never worse.
    threads : how many threads the solver may use, > 0.
    clock : what seconds are read from [s]; :func:`time.process_time` counts the CPU time of this process, for
        measurements on machines that are busy otherwise.
    report : called with the budget whenever its incumbent or its bound gets better, or a proof ends the search.

    Returns
    -------
    A :class:`Result`; an infeasible problem, a time-out and a solver that fails are results.

    Raises
    ------
    SpecError : the solver's name or a parameter is unknown, or it is no solver.
    UnsupportedError : the solver cannot take this problem; the message says why.
    ModelError : ``start`` is not feasible, or another argument is not what it should be.
    """
    _check_arguments(problem, solver, stop, seed, threads)
    chosen: Solver = registry.make(registry.SOLVERS, solver, type(problem)) if isinstance(solver, str) else solver
    if reason := refusal(chosen, problem):
        raise UnsupportedError(f"solver {chosen.name!r} cannot take this {problem.kind}: {reason}")
    if start is not None and (broken := problem.violations(start)):
        raise ModelError(f"start is not feasible: {'; '.join(broken)}")
    if not getattr(chosen, "prepares_itself", False):
        warm_up(chosen, type(problem))
    warm_up(problem)
    stated = parameters(chosen)  # now: a file may have gone when the time is over

    budget = stop.start(problem, threads, clock, report)
    instance = problem.digest()  # now: of a large problem it takes tens of milliseconds, which the search must not use
    error, seconds = _search(problem, chosen, budget, seed, start)
    reason = _reason(budget, error, seconds)
    if reason == "finished" and budget.ran_short:
        budget.notes.setdefault("ended", "early: less time was left than its next step takes")
    if isinstance(budget.solution, ParetoFront):
        # Said here for every solver and for problems that needed none, so that it always agrees with the status.
        budget.notes["front"] = "complete" if budget.optimal else "not complete"
    return Result(
        instance=instance,
        problem=problem.kind,
        solver=chosen.name,
        parameters={**stated, **budget.notes},
        status=_status(budget),
        reason=reason,
        solution=budget.solution,
        value=budget.value,
        bound=_bound(budget),
        seconds=seconds,
        seed=seed,
        threads=threads,
        stop=stop,
        curve=tuple(budget.curve),
        error=error,
    )


class Answer(NamedTuple):
    """What is known after a search: the part of a :class:`Result` that decides what to do next."""

    solution: Any
    value: float | None
    bound: float | None
    status: Status
    seconds: float
    error: str | None


def answer(problem: Problem, solver: Solver, stop: Stop, seed: int) -> Answer:
    """:func:`solve` for thousands of small problems: judged alike, without a record of what was asked and how it went.

    Parameters
    ----------
    problem, stop, seed : as in :func:`solve`.
    solver : a solver object that has been warmed up.

    Raises
    ------
    UnsupportedError : the solver cannot take this problem.
    """
    if reason := refusal(solver, problem):
        raise UnsupportedError(f"solver {solver.name!r} cannot take this {problem.kind}: {reason}")
    warm_up(problem)
    budget = stop.start(problem)
    error, seconds = _search(problem, solver, budget, seed, None)
    return Answer(budget.solution, budget.value, _bound(budget), _status(budget), seconds, error)


def _search(problem: Problem, solver: Solver, budget: Budget, seed: int, start: Any) -> tuple[str | None, float]:
    """Let a solver search; what it raised or did wrong, in one line, and the time that it took [s]."""
    with collector_paused(budget.stop.seconds is not None and budget.stop.seconds <= _SHORT):
        error = _call(problem, solver, budget, seed, start)
        # Once more, for a native solver that met its limit without asking.
        budget.done()
        # Now: what the collector makes up for takes seconds after kernels were compiled outside the clock.
        return error, budget.seconds()


def _call(problem: Problem, solver: Solver, budget: Budget, seed: int, start: Any) -> str | None:
    if start is not None:
        budget.found(start)
    try:
        trivial = not getattr(solver, "skip_presolve", False) and presolve(problem, budget)
        found = None if trivial else solver(problem, budget, stream(seed, solver.name), start=start)
        budget.found(found)
    except TransomError:
        raise
    except WrongAnswer as wrong:
        return f"infeasible answer: {wrong}"
    except Exception as fault:  # what a solver raises is a result of the run, not the end of the program
        if pressed := interrupt_behind(fault):
            raise pressed from None
        return f"{type(fault).__name__}: {fault}".splitlines()[0]
    return None


def _check_arguments(problem: Any, solver: Any, stop: Any, seed: Any, threads: Any) -> None:
    check_problem(problem, "solve")
    if not isinstance(solver, (str, Solver)):
        raise SpecError(f"solve: expected the name of a solver or a solver, got {shown(solver)}")
    expected(stop, Stop, "solve: stop", "a Stop such as Stop(seconds=1)")
    if whole(seed, "solve: seed") < 0:
        raise ModelError(f"seed must be >= 0, got {seed}")
    if whole(threads, "solve: threads") < 1:
        raise ModelError(f"threads must be > 0, got {threads}")


def check_problem(problem: Any, what: str) -> None:
    """Refuse what is no problem.

    Raises
    ------
    ModelError : it has not what :class:`~transom.stop.Problem` asks for.
    """
    if not all(hasattr(problem, name) for name in ("kind", "sense", "value", "violations", "frozen", "digest")):
        raise ModelError(f"{what}: expected a problem such as a Knapsack or an Allocation, got {shown(problem)}")


def presolve(problem: Problem, budget: Budget) -> bool:
    """Whether the problem itself knows the answer (``trivial()``), so that no solver is needed; the budget gets it.

    :func:`solve` asks before it calls a solver, with the exception of those that are called in any case; a solver
    asks for those who call it directly.
    """
    trivial = getattr(problem, "trivial", None)
    answer = None if trivial is None else trivial()
    if answer is None:
        return False
    if isinstance(answer, str):
        budget.prove_infeasible()
    else:
        budget.found(answer)
        if budget.value is not None:
            budget.prove(budget.value)
    return True


def refusal(solver: Solver, problem: Problem) -> str | None:
    """Why a solver cannot take a problem, or None if it can."""
    return wrong_type(solver, type(problem)) or solver.supports(problem)


def wrong_type(solver: Solver, problem: type) -> str | None:
    """Why a solver takes no problem of a type, or None if it takes some."""
    if issubclass(problem, solver.solves):
        return None
    solves = solver.solves if isinstance(solver.solves, tuple) else (solver.solves,)
    return f"it solves {' and '.join(each.__name__ for each in solves)} problems"


def warm_up(thing: Solver | Problem, problem: type | Problem | None = None) -> None:
    """Import and compile what a solver needs, or what the answers to a problem are judged with, outside any budget.

    Parameters
    ----------
    thing : the solver, or a problem.
    problem : the type of the problems to come, for a solver of several; or the one that comes, for a solver that
        prepares for problems of its kind alone (``warm_up_on(problem)``).
    """
    model = problem if problem is None or isinstance(problem, type) else type(problem)
    with timed(f"preparing {getattr(thing, 'name', type(thing).__name__)}"):
        if problem is not model and hasattr(thing, "warm_up_on"):
            thing.warm_up_on(problem)
        elif model is not None and hasattr(thing, "warm_up_for"):
            thing.warm_up_for(model)
        elif hasattr(thing, "warm_up"):
            thing.warm_up()


def parameters(thing: Any) -> dict[str, Any]:
    """What a solver's answers depend on: its parameters by name, if it is a dataclass, and ``weights``, if it has any.

    Raises
    ------
    SpecError, DocumentError : weights cannot be read.
    """
    stated = {f.name: getattr(thing, f.name) for f in fields(thing) if f.init} if is_dataclass(thing) else {}
    weights = registry.weights_of(thing)
    return {**stated, "weights": weights} if weights else stated


def check(problem: Problem, result: Result) -> list[str]:
    """Judge a result against its problem, from the data alone.

    Returns
    -------
    Every violation, in words; empty if the result is valid: its digest is the problem's, the
    solution is feasible and has the stated value, the bound is no worse than the value, and
    ``optimal`` is stated only if both meet.
    """
    check_problem(problem, "check")
    expected(result, Result, "check", "a Result")
    wrong: list[str] = []
    if result.instance != problem.digest():
        return [f"the result is for instance {result.instance}, this is {problem.digest()}"]
    if (result.solution is None) != (result.value is None):
        wrong.append("a solution and its value are stated together or not at all")
    if result.solution is not None:
        broken = problem.violations(result.solution)
        wrong += broken
        if not broken and result.value is not None and problem.value(result.solution) != result.value:
            wrong.append(f"the solution is worth {problem.value(result.solution)}, not {result.value}")
    if result.value is not None and result.bound is not None:
        over = result.value - result.bound if problem.sense == "max" else result.bound - result.value
        if over > 1e-9 * max(1.0, abs(result.value)):
            wrong.append(f"the value {result.value} is better than the proved bound {result.bound}")
    if result.status == "optimal" and (result.bound is None or result.value is None or result.bound != result.value):
        wrong.append(f"optimal is claimed, but the value is {result.value} and the bound {result.bound}")
    if result.status == "infeasible" and result.solution is not None:
        wrong.append("infeasible is claimed, but there is a solution")
    if result.status == "feasible" and result.solution is None:
        wrong.append("feasible is claimed without a solution")
    return wrong


def _status(budget: Budget) -> Status:
    if budget.solution is None:
        return "infeasible" if budget.infeasible else "unknown"
    return "optimal" if budget.optimal else "feasible"


def _bound(budget: Budget) -> float | None:
    """The bound, None where there is nothing to bound."""
    return None if _status(budget) == "infeasible" else budget.bound


def _reason(budget: Budget, error: str | None, seconds: float) -> Reason:
    if error is not None:
        return "error"
    if budget.reason is None and budget.stop.seconds is not None:
        return "time" if seconds >= _TIME_UP * budget.stop.seconds else "finished"
    return budget.reason or "finished"  # type: ignore[return-value]
