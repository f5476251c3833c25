"""Priority rules as objects that nobody registers: taken as registered ones are, and refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transom import JobTable, simulate
from transom.errors import SpecError
from transom.generate import generate_lublin
from transom.models.arrays import FloatArray, IntArray
from transom.simulation import RulePolicy
from transom.testing import check_policy

WORKLOAD = generate_lublin(120, 32, np.random.default_rng(1), load=1.2)


class Ageing:
    timeless = False

    def __init__(self, hour: float = 3600.0) -> None:
        self.hour = hour

    def __call__(self, jobs: JobTable, now: int, origin: int) -> FloatArray:
        return jobs.nodes - (now - jobs.submit) / self.hour


class Compiled(Ageing):
    def facts(self, jobs: JobTable, origin: int) -> FloatArray:
        return np.column_stack((jobs.submit, jobs.nodes)).astype(float)

    @staticmethod
    def kernel(facts: FloatArray, queue: IntArray, count: int, now: int, scores: FloatArray) -> None:
        for i in range(count):
            scores[i] = facts[queue[i], 1] - (now - facts[queue[i], 0]) / 3600.0


class Method(Compiled):
    def kernel(self, facts: FloatArray, queue: IntArray, count: int, now: int, scores: FloatArray) -> None:  # type: ignore[override]
        scores[:count] = 0.0


class Uncompilable(Compiled):
    @staticmethod
    def kernel(facts: FloatArray, queue: IntArray, count: int, now: int, scores: FloatArray) -> None:
        for i in range(count):
            scores[i] = float(str(queue[i]).zfill(4).casefold().encode().hex())


class TooShort(Compiled):
    @staticmethod
    def kernel(facts: FloatArray, scores: FloatArray) -> None:  # type: ignore[override]
        scores[0] = 0.0


class Shortest:
    timeless = True
    name = "mine"

    def __call__(self, jobs: JobTable, now: int, origin: int) -> FloatArray:
        return jobs.walltime.astype(np.float64)


class OneForAll(Ageing):
    def __call__(self, jobs: JobTable, now: int, origin: int) -> Any:
        return 1.0


@pytest.mark.parametrize("backfilling", ["none", "easy", "conservative"])
def test_a_rule_is_a_policy_in_its_order(backfilling: Any) -> None:
    tail = "" if backfilling == "none" else f"-{backfilling}"
    ours, theirs = simulate(WORKLOAD, RulePolicy(Shortest(), backfilling)), simulate(WORKLOAD, f"sjf{tail}")
    assert ours.start.tolist() == theirs.start.tolist()
    assert ours.policy == f"mine{tail}"
    slow, fast = (simulate(WORKLOAD, RulePolicy(rule, backfilling)) for rule in (Ageing(), Compiled()))
    assert slow.start.tolist() == fast.start.tolist()
    assert slow.start.tolist() != ours.start.tolist()


def test_a_rule_alone_is_taken_without_backfilling() -> None:
    assert simulate(WORKLOAD, Compiled()).start.tolist() == simulate(WORKLOAD, RulePolicy(Compiled())).start.tolist()
    check_policy(Compiled())


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (
            Method(),
            r"Method: kernel must be a function \(facts, queue, count, now, scores\), not a method",
        ),
        (Uncompilable(), r"Uncompilable: kernel must be a function \(.*\) that Numba can compile: "),
        (TooShort(), r"TooShort: kernel must be a function \(.*\) that Numba can compile: "),
        (OneForAll(), r"OneForAll: expected a score for each of \d+ jobs, got "),
    ],
)
def test_what_a_rule_lacks_is_said_in_one_line(rule: Any, says: str) -> None:
    with pytest.raises(SpecError, match=says) as refused:
        simulate(WORKLOAD, RulePolicy(rule, "easy"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("thing", [Ageing, lambda jobs, now, origin: jobs.nodes, 7, None])
def test_what_is_no_rule_is_refused(thing: Any) -> None:
    with pytest.raises(SpecError, match="expected the name of a policy, a policy or a priority rule, got"):
        simulate(WORKLOAD, thing)
    with pytest.raises(SpecError, match="expected the name of a priority rule or a rule, which has timeless, got"):
        RulePolicy(thing)


def test_a_kernel_knows_what_its_object_holds() -> None:
    """Functions of one text that close over other numbers are others, in memory and on disk."""

    def rule(factor: float) -> Compiled:
        made = Compiled()

        def kernel(facts: FloatArray, queue: IntArray, count: int, now: int, scores: FloatArray) -> None:
            for i in range(count):
                scores[i] = factor * facts[queue[i], 1]

        made.kernel = kernel  # type: ignore[method-assign]
        return made

    scores = []
    for factor in (1.0, -1.0):
        starts = simulate(WORKLOAD, RulePolicy(rule(factor), "easy")).start
        scores.append(starts.tolist())
    assert scores[0] != scores[1]
