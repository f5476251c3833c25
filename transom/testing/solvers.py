"""What every solver has to keep."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from transom import registry
from transom.problems import problem_types
from transom.result import Result
from transom.solving import Solver, check, refusal, solve
from transom.stop import Problem, Stop
from transom.testing.requiring import require

_TRIES = 4  # runs of which one has to keep a budget of seconds: other programs hold the processor, too


def check_solver(
    solver: str | Solver,
    problems: Iterable[Problem] | None = None,
    *,
    reference: str | Solver | None = None,
    exact: bool = False,
    seconds: float = 0.2,
    iterations: int = 50,
    seed: int = 0,
) -> None:
    """Check that a solver satisfies what :func:`~transom.solve` and the bench require.

    It declares its name and problems. Answers are feasible, curves never get worse, bounds hold, and only optima are
    ``optimal``. It does not modify the problem or the start, and never returns less than the start. The same seed and
    iterations give the same answer without NumPy's global generators. It prints nothing, exceeds seconds by at most
    5 % and 50 ms, and ends without a limit only if it is ``exact``, with a proof.

    Parameters
    ----------
    solver : a solver, or the specification of a registered one.
    problems : small problems of many kinds; by default the examples of every registered type of problem that it
        solves. Unsupported ones are skipped.
    reference : an exact solver for comparison; None for no comparison.
    exact : whether it proves optima without a limit.
    seconds, iterations : limits of the runs, > 0.
    seed : >= 0.

    Raises
    ------
    AssertionError : a condition is violated; the message names it and the problem.
    """
    given = [] if problems is None else list(problems)
    model = type(given[0]) if given else None
    made: Any = registry.make(registry.SOLVERS, solver, model) if isinstance(solver, str) else solver
    _states_what_it_is(made)
    if problems is None:
        parts = (each.part("examples") for each in problem_types() if issubclass(each.model, made.solves))
        given = [problem for examples in dict.fromkeys(parts) if examples is not None for problem in examples()]
    require(given, f"{made.name}: no problems to solve: no registered type of its problems has examples; pass some")
    _says_what_it_takes(made, given[0])
    taken = [problem for problem in given if refusal(made, problem) is None]
    require(taken, f"{made.name}: refuses all {len(given)} problems; the first: {refusal(made, given[0])}")
    for number, problem in enumerate(taken):
        case = _Case(made, problem, f"{made.name}, {problem.kind} {number}", seed)
        optimum = None if reference is None else _optimum(problem, reference)
        result = _answers_stand(case, Stop(seconds=seconds, iterations=iterations), optimum)
        if exact:
            _is_exact(case, optimum)
        _keeps_a_start(case, result.solution, iterations)
        _repeats(case, Stop(iterations=iterations))
    _keeps_seconds(made, taken, seconds, seed)


@dataclass(frozen=True, slots=True)
class _Case:
    solver: Solver
    problem: Problem
    where: str
    seed: int

    def solved(self, stop: Stop, start: Any = None) -> Result:
        before = self.problem.digest()
        printed, generator = io.StringIO(), _global_state()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            result = solve(self.problem, self.solver, stop, self.seed, start)
        require(not printed.getvalue(), f"{self.where}: prints {printed.getvalue()!r}")
        require(self.problem.digest() == before, f"{self.where}: changes the problem")
        require(
            _global_state() == generator,
            f"{self.where}: draws from NumPy's global generator, not from the one it is given",
        )
        require(result.error is None, f"{self.where}: {result.error}")
        require(not (wrong := check(self.problem, result)), f"{self.where}: {'; '.join(wrong)}")
        return result


def _global_state() -> dict[str, Any]:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002  (whether somebody drew from it)
    numbers = {**state.pop("state"), **state}
    return {name: each.tobytes() if isinstance(each, np.ndarray) else each for name, each in numbers.items()}


def _states_what_it_is(solver: Any) -> None:
    require(isinstance(solver, Solver), f"{solver!r} has not name, solves, supports and __call__")
    require(isinstance(solver.name, str) and solver.name, f"{solver!r}: name must be a text, got {solver.name!r}")
    types = solver.solves if isinstance(solver.solves, tuple) else (solver.solves,)
    require(all(isinstance(each, type) for each in types), f"{solver.name}: solves must be a type, got {types[0]!r}")
    digest = getattr(solver, "digest", "")
    require(isinstance(digest, str), f"{solver.name}: digest must be a text, got {digest!r}")


def _says_what_it_takes(solver: Solver, problem: Problem) -> None:
    answer: Any = refusal(solver, problem)
    require(
        answer is None or isinstance(answer, str), f"{solver.name}: supports must give None or a reason, got {answer!r}"
    )


def _optimum(problem: Problem, reference: str | Solver) -> Result:
    result = solve(problem, reference, Stop())
    require(
        result.status in ("optimal", "infeasible"), f"the reference {result.solver} proves nothing: {result.reason}"
    )
    return result


def _answers_stand(case: _Case, stop: Stop, optimum: Result | None) -> Result:
    result = case.solved(stop)
    sign = 1 if case.problem.sense == "max" else -1
    values = [sign * value for _, value, _ in result.curve if value is not None]
    bounds = [sign * bound for _, _, bound in result.curve if bound is not None]
    require(values == sorted(values), f"{case.where}: the best value so far gets worse: {values}")
    require(bounds == sorted(bounds, reverse=True), f"{case.where}: the proved bound gets looser: {bounds}")
    if optimum is not None:
        _compare(case, result, optimum)
    return result


def _compare(case: _Case, result: Result, optimum: Result) -> None:
    if optimum.value is None:
        require(result.solution is None, f"{case.where}: solves what cannot be solved")
        return
    sign, best = (1 if case.problem.sense == "max" else -1), optimum.value
    slack = 1e-9 * max(1.0, abs(best))
    require(result.status != "infeasible", f"{case.where}: calls infeasible what is worth {best}")
    if result.value is not None:
        require(sign * (result.value - best) <= slack, f"{case.where}: is worth {result.value}, the optimum {best}")
    if result.bound is not None:
        require(sign * (best - result.bound) <= slack, f"{case.where}: the bound {result.bound} excludes {best}")
    if result.status == "optimal":
        require(result.value == best, f"{case.where}: claims {result.value} as optimal, it is {best}")


def _is_exact(case: _Case, optimum: Result | None) -> None:
    result = case.solved(Stop())
    require(
        result.status in ("optimal", "infeasible"),
        f"{case.where}: without a limit it ends {result.status} ({result.reason}), not with a proof",
    )
    if optimum is not None:
        require(result.status == optimum.status, f"{case.where}: proves {result.status}, it is {optimum.status}")


def _keeps_a_start(case: _Case, start: Any, iterations: int) -> None:
    if start is None:
        return
    value, sign = case.problem.value(start), (1 if case.problem.sense == "max" else -1)
    kept = case.problem.frozen(start)
    for stop in (Stop(iterations=0), Stop(iterations=1), Stop(seconds=1e-6), Stop(iterations=iterations)):
        result = case.solved(stop, start)
        require(
            result.value is not None and sign * (result.value - value) >= 0,
            f"{case.where}: a start worth {value} becomes {result.value} under {stop}",
        )
    require(case.problem.value(kept) == case.problem.value(start), f"{case.where}: changes the start")


def _repeats(case: _Case, stop: Stop) -> None:
    first, second = case.solved(stop), case.solved(stop)
    same = (first.value, first.bound, first.status) == (second.value, second.bound, second.status)
    require(
        same and _text(first) == _text(second),
        f"{case.where}: the same seed and {stop.iterations} iterations give {first.value}, then {second.value}",
    )


def _text(result: Result) -> str:
    digest = getattr(result.solution, "digest", None)
    return str(digest()) if digest else repr(np.asarray(result.solution).tolist())


def _keeps_seconds(solver: Solver, problems: Sequence[Problem], seconds: float, seed: int) -> None:
    problem = max(problems, key=lambda each: len(each) if isinstance(each, Sized) else 0)
    allowed, least = 1.05 * seconds + 0.05, float("inf")
    for _ in range(_TRIES):
        before = process_time()
        taken = solve(problem, solver, Stop(seconds=seconds), seed).seconds
        # Where others hold the processor, the clock goes on and the time of this process does not.
        least = min(least, taken, process_time() - before)
    require(least <= allowed, f"{solver.name}: {seconds:g} s become {least:.3f} s")
