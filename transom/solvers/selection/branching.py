"""Records of the branch and bound for selections (:mod:`transom.solvers.selection.tree`)."""

from __future__ import annotations

from typing import NamedTuple

from transom.models.arrays import BoolArray, FloatArray, IntArray, SmallArray


class Rows(NamedTuple):
    """The program: most ``weights @ x`` where ``exact @ x <= limits``, int64, shapes ``(n,)``, ``(m, n)``, ``(m,)``."""

    exact: IntArray
    limits: IntArray
    weights: IntArray


class Scaled(NamedTuple):
    """The same for relaxations, rows, limits and weights scaled to at most 1.

    Parameters
    ----------
    rows, limits : shapes ``(m, n)`` and ``(m,)``.
    weights : the weights, and what relaxations maximise instead, shape ``(2, n)``.
    unit : what the weights were divided by.
    """

    rows: FloatArray
    limits: FloatArray
    weights: FloatArray
    unit: float


class Order(NamedTuple):
    """Which variable is at most which other, closed, bool, shape ``(n, n)``.

    Parameters
    ----------
    needs : in any solution.
    order : the same with what only excludes equal solutions.
    linked : whether there is any.
    """

    needs: BoolArray
    order: BoolArray
    linked: bool


class Progress:
    """Where the search stands."""

    depth: int
    decided: int  # fixed variables
    nodes: int  # so far
    best: int  # value to beat
    found: bool  # whether the best solution is new
    age: int  # steps since the tableau was computed anew
    enough: int  # a value that is known to be the most
    root: int  # the bound at the root
    few: int  # from how many free variables on all choices are gone through


class Branching(NamedTuple):
    """The search; changed in place.

    Parameters
    ----------
    now : where it stands.
    fixed : 0 or 1 where a variable is fixed, else -1, shape ``(n,)``.
    trail : what is fixed in which order, shape ``(n,)``.
    branches : variable, other value or -1 and start in the trail of each depth, shape ``(n + 1, 3)``.
    best : the best solution found, shape ``(n,)``.
    """

    now: Progress
    fixed: IntArray
    trail: IntArray
    branches: IntArray
    best: SmallArray


PAUSED, FINISHED = range(2)
"""Why :func:`~transom.solvers.selection.tree.search` returned: nodes are spent, or nothing is better than ``best``."""
