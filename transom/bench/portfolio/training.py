"""The choice of ``auto`` for one kind of problem out of results: which solvers for which instances and budgets.

For each kind of problem a few schedules are picked one by one, each the one that helps most beside those picked
before; a tree of at most three questions on the features of the instances and the time tells where which of them is
taken.

What a schedule costs is its primal gap on a scale of logarithms from 1 % on: to halve a gap is worth as much wherever
it stands, and a few hard instances do not decide for all others. A missing proof and a whole budget of time cost a
little beside it, so that nobody waits long for a last thousandth, or goes without a proof for its sake.

References
----------
Xu, Hoos, Leyton-Brown, Hydra: automatically configuring algorithms for portfolio-based selection, AAAI 2010 (one by
one). Kotthoff, Algorithm selection for combinatorial search problems: a survey, AI Magazine 35 (2014).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from transom.bench.portfolio.cost_tree import CostTree
from transom.bench.portfolio.training_data import (
    Case,
    PipelineResult,
    Schedule,
    schedules,
    simulate_pipeline,
)
from transom.errors import DocumentError
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.auto.features import names_for
from transom.solvers.auto.table import SECONDS, Choice, Leaf, Split, Step

_FINE = 1.0
"""Below it all gaps are nearly alike [%]."""

_PROOF, _EFFORT = 0.05, 0.01
"""What a missing proof and a whole budget of time weigh, where no solution at all weighs 1."""

_WELL, _WELL_ENOUGH = 5, 0.1
"""The last solver of a schedule may have so many times the mean gap in the same time of the best one that takes
everything, or so large a gap [%]."""

_WHOLE = 0.95
"""Share of a budget from which on all of it was used."""

_MOMENT = 1e-3
"""Below it all times are alike [s]."""

_A_STEP = 1e-3
"""What a further solver of a schedule has to save, where no solution at all weighs 1."""

_Cost = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""What is to be small, out of gaps [%], efforts and proofs, shape ``(cases, schedules)`` each."""


def make_choice(cases: Sequence[Case]) -> Choice:
    """The trees for one kind of problem.

    Parameters
    ----------
    cases : of that kind, of one instance at least.

    Raises
    ------
    DocumentError : there is no case, or no solver took all instances.
    """
    if not cases:
        raise DocumentError("portfolio: there is no case to learn from")
    kind = cases[0].kind
    longest = max(case.seconds for case in cases)
    last = [case for case in cases if case.seconds == longest]
    specs = sorted({spec for case in cases for spec in case.runs})
    proves = _provers(last, specs)
    # What may prove comes first: a heuristic ahead of it would make everyone wait for what is proved at once. Without
    # a limit of time there is nothing to share, and only what proves has a place before the solver for everything.
    takers = _takers(cases, specs)
    timed = [each for each in schedules(specs, proves or specs, specs) if each[-1][0] in takers]
    untimed = list(schedules(proves or specs, proves, proves))
    return Choice(
        timed=_tree(cases, timed, [*names_for(kind), SECONDS], _timed_cost, _finishers(cases, takers)),
        untimed=_tree(last, untimed, names_for(kind), _untimed_cost),
        otherwise=_prover(last, takers),
        improve=_improver(last, takers),
    )


def _prover(last: Sequence[Case], takers: dict[str, float]) -> str:
    """Who is left the time to prove: of the solvers that take everything, the one that proves the most."""
    proved = {spec: sum(simulate_pipeline(case, ((spec, 1.0),)).proved for case in last) for spec in takers}
    return min(takers, key=lambda spec: (-proved[spec], takers[spec]))


def _improver(last: Sequence[Case], takers: dict[str, float]) -> str:
    """Who searches as long as it may: of the solvers that take everything, the best of those that never just end."""
    tireless = [
        spec
        for spec in takers
        if all(
            run.proved or run.seconds >= _WHOLE * run.budget
            for case in last
            for run in case.runs[spec]
            if run.budget == case.seconds
        )
    ]
    gaps = {
        spec: np.mean([simulate_pipeline(case, ((spec, 1.0),)).gap for case in last]) for spec in tireless or takers
    }
    return min(gaps, key=lambda spec: float(gaps[spec]))


def _provers(cases: Sequence[Case], specs: Sequence[str]) -> list[str]:
    """Those that prove at least a third as many cases as the one that proves the most; the others do by chance."""
    proved = {spec: sum(simulate_pipeline(case, ((spec, 1.0),)).proved for case in cases) for spec in specs}
    most = max(proved.values())
    return [spec for spec in specs if most and 3 * proved[spec] >= most]


def _takers(cases: Sequence[Case], specs: Sequence[str]) -> dict[str, float]:
    """The solvers that took every instance, with their mean gaps [%]."""
    takers = [
        spec for spec in specs if all(spec in case.runs and all(run.takes for run in case.runs[spec]) for case in cases)
    ]
    if not takers:
        raise DocumentError(f"portfolio: no solver took every {cases[0].kind} instance")
    return {spec: float(np.mean([simulate_pipeline(case, ((spec, 1.0),)).gap for case in cases])) for spec in takers}


def _finishers(cases: Sequence[Case], takers: Iterable[str]) -> dict[float, list[str]]:
    """The solvers that may stand last, by time [s]: they take everything and do it well, so that there is an answer."""
    found = {}
    for seconds in {case.seconds for case in cases}:
        mine = [case for case in cases if case.seconds == seconds]
        gaps = {spec: float(np.mean([simulate_pipeline(case, ((spec, 1.0),)).gap for case in mine])) for spec in takers}
        most = max(_WELL * min(gaps.values()), _WELL_ENOUGH)
        found[seconds] = [spec for spec, gap in gaps.items() if gap <= most]
    return found


def _timed_cost(gap: FloatArray, effort: FloatArray, proved: FloatArray) -> FloatArray:
    scaled: FloatArray = np.log1p(gap / _FINE) / np.log1p(100 / _FINE)
    return scaled + _PROOF * (1 - proved) + _EFFORT * effort


def _untimed_cost(gap: FloatArray, effort: FloatArray, proved: FloatArray) -> FloatArray:
    return gap + 100 * (1 - proved) + effort


def _tree(
    cases: Sequence[Case],
    options: list[Schedule],
    names: list[str],
    cost: _Cost,
    last: Mapping[float, Sequence[str]] | None = None,
) -> Split | Leaf:
    table = [[simulate_pipeline(case, option) for option in options] for case in cases]
    gap = np.array([[each.gap for each in row] for row in table])
    proved = np.array([[float(each.proved) for each in row] for row in table])
    effort = np.array([[_effort(each, case) for each in row] for row, case in zip(table, cases, strict=True)])
    costs = cost(gap, effort, proved)
    costs -= costs.min(axis=1, keepdims=True)  # what nothing avoids is no reason for anything
    costs += _A_STEP * (np.array([len(option) for option in options]) - 1)
    if last is not None:
        costs += [[float(option[-1][0] not in last[case.seconds]) for option in options] for case in cases]
    facts = np.array([[_fact(case, name) for name in names] for case in cases])
    weights = _weights(cases)
    chooser = CostTree(facts, costs, weights)
    stated = np.array([case.slowdown == 1 for case in cases])

    def written(node: int, rows: IntArray) -> Split | Leaf:
        question = chooser.question(node)
        if question is None:
            taken = _shortest(chooser.column(node), options, weights[rows] @ costs[rows])
            rows = rows[stated[rows]] if stated[rows].any() else rows
            return Leaf(
                steps=tuple(Step(spec, share) for spec, share in options[taken]),
                cases=len(rows),
                gap=round(float(gap[rows, taken].mean()), 6),
                proved=round(float(proved[rows, taken].mean()), 4),
            )
        feature, at_most, below, above = question
        holds = facts[rows, feature] <= at_most
        return _merged(Split(names[feature], at_most, written(below, rows[holds]), written(above, rows[~holds])))

    return written(0, np.arange(len(cases)))


def _weights(cases: Sequence[Case]) -> FloatArray:
    """What each case counts: sets count alike, however large they are, and slow machines much less.

    ``auto`` measures the machine's speed before it chooses, so what is left of slowness is being busy.
    """
    sizes = Counter(case.set for case in cases)
    weights: FloatArray = np.array([1 / (case.slowdown**2 * sizes[case.set]) for case in cases])
    weights /= weights.mean()
    return weights


def _shortest(column: int, options: list[Schedule], mean: FloatArray) -> int:
    """The schedule with fewest steps that costs the same: without those that never come up in a leaf, say."""
    specs = [spec for spec, _ in options[column]]
    parts = [i for i, option in enumerate(options) if _within([spec for spec, _ in option], specs)]
    return min((i for i in parts if mean[i] <= mean[column] + 1e-12), key=lambda i: (len(options[i]), mean[i]))


def _within(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(each in rest for each in part)


def _effort(what: PipelineResult, case: Case) -> float:
    """0 for a moment, 1 for the whole budget."""
    return float(np.log1p(what.seconds / _MOMENT) / np.log1p(case.seconds / _MOMENT))


def _merged(split: Split) -> Split | Leaf:
    """A question whose answers come to the same is none."""
    yes, no = split.yes, split.no
    if not isinstance(yes, Leaf) or not isinstance(no, Leaf) or yes.steps != no.steps:
        return split
    cases = yes.cases + no.cases
    gap, proved = ((yes.cases * a + no.cases * b) / cases for a, b in ((yes.gap, no.gap), (yes.proved, no.proved)))
    return Leaf(yes.steps, cases, round(gap, 6), round(proved, 4))


def _fact(case: Case, name: str) -> float:
    return float(np.log10(case.budget)) if name == SECONDS else case.facts[name]
