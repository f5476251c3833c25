"""What every type of problem has to keep."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import msgspec

from transom import registry
from transom.errors import SpecError
from transom.io.documents import decode, encode
from transom.io.verify import faults
from transom.models.problem import ProblemType
from transom.problems import problem_type
from transom.result import Result
from transom.solvers.auto.features import features, names_for
from transom.solving import solve
from transom.stop import Problem, Stop
from transom.testing.requiring import require


def check_problem(kind: str | ProblemType, problems: Iterable[Problem] | None = None, *, seconds: float = 5.0) -> None:
    """Check that a type of problem satisfies what ``solve``, ``check``, documents, the bench and ``auto`` require.

    Problems have the type's class and kind, a digest that documents preserve, and a schema. Solutions pass their own
    judge, are frozen, and survive a round trip through a result document. The type's exact solvers agree, and
    ``auto`` answers. Features are finite and have fixed names; statistics are numbers.

    Parameters
    ----------
    kind : the kind of a registered type, or the type.
    problems : small problems to check; by default the type's examples of this kind.
    seconds : limit of a solve; exact solvers run without one.

    Raises
    ------
    AssertionError : a condition is violated; the message names it and the problem.
    """
    try:
        stated = problem_type(kind if isinstance(kind, str) else kind.kind)
    except SpecError as error:
        raise AssertionError(str(error)) from None
    examples = stated.part("examples")
    given = [each for each in (examples() if examples else ()) if each.kind == stated.kind]
    given = given if problems is None else list(problems)
    require(given, f"{stated.kind}: no problems to try, and the type has no examples")
    known: dict[str, Problem] = {}
    for number, problem in enumerate(given):
        where = f"{stated.kind} {number}"
        _is_a_problem(stated, problem, where)
        twin = known.setdefault(problem.digest(), problem)
        require(twin is problem or twin == problem, f"{where}: has the digest of another one")
        _keeps_its_document(problem, where)
        _has_numbers(stated, problem, where)
        results = [_solved(problem, spec, Stop(), where) for spec in stated.exact]
        results.append(_solved(problem, "auto", Stop(seconds=seconds), where))
        for result in results:
            _keeps_its_solution(problem, result, where)
        _agree(results[:-1], where)


def _is_a_problem(stated: ProblemType, problem: Any, where: str) -> None:
    require(isinstance(problem, stated.model), f"{where}: is a {type(problem).__name__}, not a {stated.model.__name__}")
    missing = [
        name for name in ("kind", "sense", "value", "violations", "frozen", "digest") if not hasattr(problem, name)
    ]
    require(not missing, f"{where}: has no {', '.join(missing)}")
    require(problem.kind == stated.kind, f"{where}: says that it is a {problem.kind}")
    require(problem.sense in ("max", "min"), f"{where}: sense must be max or min, got {problem.sense!r}")
    require(problem.digest() == problem.digest(), f"{where}: has another digest each time")


def _keeps_its_document(problem: Any, where: str) -> None:
    text = encode(problem)
    again: Any = decode(text, where)
    require(again.digest() == problem.digest(), f"{where}: its document is read as another problem")
    require(encode(again) == text, f"{where}: its document changes when it is read and written")
    require(isinstance(msgspec.json.decode(text), dict), f"{where}: its document is no JSON object")


def _has_numbers(stated: ProblemType, problem: Any, where: str) -> None:
    if stated.features is not None:
        found = features(problem)
        require(list(found) == names_for(stated.kind), f"{where}: its features are {', '.join(found)}")
        odd = [name for name, number in found.items() if not math.isfinite(number)]
        require(not odd, f"{where}: feature {', '.join(odd)} is not finite")
    if stated.statistics is not None:
        counts = stated.part("statistics")(problem)
        odd = [name for name, number in counts.items() if not isinstance(number, numbers.Real)]
        require(not odd, f"{where}: statistic {', '.join(odd)} is no number")


def _solved(problem: Problem, spec: str, stop: Stop, where: str) -> Result:
    solver = registry.make(registry.SOLVERS, spec, type(problem))
    reason = solver.supports(problem)
    require(reason is None, f"{where}: {spec}, which the type names, refuses it: {reason}")
    result = solve(problem, solver, stop)
    require(result.error is None, f"{where}: {spec}: {result.error}")
    require(not (wrong := faults(problem, result)), f"{where}: {spec}: {'; '.join(wrong)}")
    return result


def _keeps_its_solution(problem: Problem, result: Result, where: str) -> None:
    if result.solution is None:
        return
    frozen = problem.frozen(result.solution)
    require(problem.value(frozen) == result.value, f"{where}: a frozen solution is worth something else")
    again: Any = decode(encode(result), where)
    require(not (wrong := faults(problem, again)), f"{where}: the document of a result is read as {'; '.join(wrong)}")


def _agree(results: list[Result], where: str) -> None:
    for result in results:
        require(
            result.status in ("optimal", "infeasible"),
            f"{where}: {result.solver}, which the type calls exact, ends {result.status} ({result.reason})",
        )
    for one, other in pairwise(results):
        require(
            (one.status, one.value) == (other.status, other.value),
            f"{where}: {one.solver} proves {one.value}, {other.solver} {other.value}",
        )
