"""What every type of problem has to keep."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec

from transom import registry
from transom.errors import SpecError
from transom.io.codec import codec_of, solution_codec_of
from transom.io.formats import FrontDocument
from transom.models.problem import ProblemType
from transom.problems import known_type, problem_type
from transom.result import Result
from transom.solvers.auto.features import Features
from transom.solving import Solver, check, solve
from transom.stop import Problem, Stop
from transom.testing.requiring import require


def check_problem(
    kind: str | ProblemType,
    problems: Iterable[Problem] | None = None,
    *,
    solvers: Iterable[str | Solver] = (),
    seconds: float = 5.0,
) -> None:
    """Check that a type of problem satisfies what ``solve``, ``check``, documents, the bench and ``auto`` require.

    Problems have the type's class and kind, a digest that documents preserve, and a schema. Solutions pass their own
    judge, are frozen, and survive a round trip through a document. The type's exact solvers agree, and
    ``auto`` answers, which knows registered types. Features are finite and have fixed names; statistics are numbers.

    Parameters
    ----------
    kind : the kind of a registered type, or a type, which need not be registered.
    problems : small problems to check; by default the type's examples of this kind.
    solvers : further solvers whose answers are checked; what a type that is not registered is solved with.
    seconds : limit of a solve; exact solvers run without one.

    Raises
    ------
    AssertionError : a condition is violated; the message names it and the problem.
    """
    try:
        stated = problem_type(kind) if isinstance(kind, str) else kind
    except SpecError as error:
        raise AssertionError(str(error)) from None
    registered, asked = known_type(stated.kind) is stated, list(solvers)
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
        _keeps_its_document(stated, problem, where)
        _has_numbers(stated, problem, where)
        results = [_solved(stated, problem, spec, Stop(), where) for spec in stated.exact]
        _agree(results, where)
        for solver in (*asked, "auto") if registered else asked:
            results.append(_solved(stated, problem, solver, Stop(seconds=seconds), where))
        for result in results:
            _keeps_its_solution(stated, problem, result, where)


def _is_a_problem(stated: ProblemType, problem: Any, where: str) -> None:
    require(isinstance(problem, stated.model), f"{where}: is a {type(problem).__name__}, not a {stated.model.__name__}")
    missing = [
        name for name in ("kind", "sense", "value", "violations", "frozen", "digest") if not hasattr(problem, name)
    ]
    require(not missing, f"{where}: has no {', '.join(missing)}")
    require(problem.kind == stated.kind, f"{where}: says that it is a {problem.kind}")
    require(problem.sense in ("max", "min"), f"{where}: sense must be max or min, got {problem.sense!r}")
    require(problem.digest() == problem.digest(), f"{where}: has another digest each time")


def _keeps_its_document(stated: ProblemType, problem: Any, where: str) -> None:
    codec = codec_of(stated)
    text = msgspec.json.encode(codec.encode(problem))
    again = codec.decode(msgspec.json.decode(text, type=codec.form))
    require(again.digest() == problem.digest(), f"{where}: its document is read as another problem")
    require(
        msgspec.json.encode(codec.encode(again)) == text, f"{where}: its document changes when it is read and written"
    )
    require(isinstance(msgspec.json.decode(text), dict), f"{where}: its document is no JSON object")


def _has_numbers(stated: ProblemType, problem: Any, where: str) -> None:
    if stated.features is not None:
        facts: Features = stated.part("features")
        found = list(facts.of(problem))
        require(len(found) == len(facts.meanings), f"{where}: has {len(found)} features, not {len(facts.meanings)}")
        odd = [name for name, number in zip(facts.meanings, found, strict=True) if not math.isfinite(number)]
        require(not odd, f"{where}: feature {', '.join(odd)} is not finite")
    if stated.statistics is not None:
        counts = stated.part("statistics")(problem)
        odd = [name for name, number in counts.items() if not isinstance(number, numbers.Real)]
        require(not odd, f"{where}: statistic {', '.join(odd)} is no number")


def _solved(stated: ProblemType, problem: Problem, asked: str | Solver, stop: Stop, where: str) -> Result:
    solver = registry.make(registry.SOLVERS, asked, type(problem)) if isinstance(asked, str) else asked
    spec = asked if isinstance(asked, str) else asked.name
    reason = solver.supports(problem)
    require(reason is None, f"{where}: {spec}, which has to solve it, refuses it: {reason}")
    result = solve(problem, solver, stop)
    require(result.error is None, f"{where}: {spec}: {result.error}")
    require(not (wrong := _faults(stated, problem, result)), f"{where}: {spec}: {'; '.join(wrong)}")
    return result


def _faults(stated: ProblemType, problem: Problem, result: Result) -> list[str]:
    judge = stated.part("faults")
    return check(problem, result) + ([] if judge is None else judge(problem, result))


def _keeps_its_solution(stated: ProblemType, problem: Problem, result: Result, where: str) -> None:
    if result.solution is None:
        return
    frozen = problem.frozen(result.solution)
    require(problem.value(frozen) == result.value, f"{where}: a frozen solution is worth something else")
    codec = solution_codec_of(stated)
    form: Any = FrontDocument if codec.front else tuple[int | tuple[int, ...], ...]
    text = msgspec.json.encode(codec.encode(result.solution))
    again = replace(result, solution=codec.decode(msgspec.json.decode(text, type=form), codec.items(result.solution)))
    wrong = _faults(stated, problem, again)
    require(not wrong, f"{where}: the document of a result is read as {'; '.join(wrong)}")


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
