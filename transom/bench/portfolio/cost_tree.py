"""A decision tree whose leaves each take one option, where every case states what each option costs it."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import FloatArray, IntArray

_MEMBERS = 8
"""Schedules that a tree may choose from."""

_DEPTH = 3
"""Questions one after another, at most: with so few sets, cross-validation finds the best depth by chance."""

_WORTH_A_QUESTION = 1e-3
"""What a question has to save for each case of the kind, where no solution at all weighs 1."""

_LEAST = 36
"""Cases that fall into a leaf at least: a dozen runs, each also as on two slower machines."""


class CostTree:
    """A tree over facts, shape ``(cases, facts)``, that takes one schedule in each leaf.

    Each question is the one after which the best schedules of both sides cost the least together. (Regression trees
    part what is costly from what is cheap, whichever schedule is best there.)

    Parameters
    ----------
    facts, costs : what it learns from; costs have the shape ``(cases, schedules)``.
    weights : what the cases count, shape ``(cases,)``.
    """

    def __init__(self, facts: FloatArray, costs: FloatArray, weights: FloatArray) -> None:
        self._facts = facts
        self._members = _picked(costs, weights)
        self._costs: FloatArray = weights[:, None] * costs[:, self._members]
        self._questions: list[tuple[int, float, int, int] | None] = []
        self._columns: list[int] = []
        self._grow(np.arange(len(facts)), _DEPTH)

    def column(self, node: int) -> int:
        """The schedule of a leaf."""
        return self._columns[node]

    def question(self, node: int) -> tuple[int, float, int, int] | None:
        """Feature, threshold and the nodes for at most that and for more; None for a leaf."""
        return self._questions[node]

    def _grow(self, rows: IntArray, depth: int) -> float:
        """Grow a node on these cases; returns what it costs, each of its questions included.

        A question that is worth little may lead to others that are worth much: what follows from it is cut off only
        where all of it together is not worth its questions.
        """
        node = len(self._questions)
        self._questions.append(None)
        sums = self._costs[rows].sum(axis=0)
        self._columns.append(self._members[int(sums.argmin())])
        alone = float(sums.min())
        found = self._best_question(rows) if depth else None
        if found is None:
            return alone
        feature, at_most = found
        holds = self._facts[rows, feature] <= at_most
        below = len(self._questions)
        cost = _WORTH_A_QUESTION * len(self._facts) + self._grow(rows[holds], depth - 1)
        above = len(self._questions)
        cost += self._grow(rows[~holds], depth - 1)
        if cost >= alone:
            return alone
        self._questions[node] = feature, at_most, below, above
        return cost

    def _best_question(self, rows: IntArray) -> tuple[int, float] | None:
        """Feature and threshold, or None where no question saves anything."""
        least = float(self._costs[rows].sum(axis=0).min())
        best = None
        for feature in range(self._facts.shape[1]):
            order = rows[self._facts[rows, feature].argsort(kind="stable")]
            values, sums = self._facts[order, feature], self._costs[order].cumsum(axis=0)
            cuts = np.flatnonzero(values[1:] > values[:-1])
            cuts = cuts[(cuts + 1 >= _LEAST) & (len(rows) - cuts - 1 >= _LEAST)]
            if not len(cuts):
                continue
            together = sums[cuts].min(axis=1) + (sums[-1] - sums[cuts]).min(axis=1)
            at = int(together.argmin())
            if together[at] < least:
                least = float(together[at])
                best = feature, float((values[cuts[at]] + values[cuts[at] + 1]) / 2)
        return best


def _picked(cost: FloatArray, weights: FloatArray) -> list[int]:
    members = [int((weights @ cost).argmin())]
    best = cost[:, members[0]].copy()
    while len(members) < _MEMBERS:
        together = weights @ np.minimum(cost, best[:, None])
        more = int(together.argmin())
        if together[more] > weights @ best * (1 - 1e-3) - 1e-12:
            break
        members.append(more)
        best = np.minimum(best, cost[:, more])
    return members
