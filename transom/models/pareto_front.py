"""The answer to a multi-objective problem: the choices that no other choice beats, and what they are worth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transom.errors import ModelError
from transom.models.arrays import BoolArray, FloatArray, Frozen, IntArray, Like, as_array, frozen_ints, model
from transom.models.hypervolume import share_along

if TYPE_CHECKING:
    import polars as pl

EXACT_OBJECTIVES = 5
"""Most objectives for which :func:`hypervolume_share` is exact: the exact one takes seconds from eight on."""


@model
class ParetoFront(Frozen):
    """Selections of jobs and their exact values, sorted by the first objective, best first.

    The :class:`~transom.result.Result` that contains it states whether it is the complete front of a problem.

    Parameters
    ----------
    values : value of each point in each objective, int64, shape ``(points, objectives)``.
    selections : the jobs of each point, bool, shape ``(points, jobs)``.

    Raises
    ------
    ModelError : shapes differ, or there is no point.
    """

    values: Like[IntArray]
    selections: Like[BoolArray]

    def __post_init__(self) -> None:
        values = frozen_ints(self.values, "front: values", (-1, -1))
        selections = np.array(as_array(self.selections), dtype=bool, order="C")
        if selections.ndim != 2 or len(selections) != len(values):
            raise ModelError(f"front: {len(values)} points, but selections of shape {selections.shape}")
        if len(values) == 0:
            raise ModelError("front: it needs a point at least; where nothing can be chosen, that is the empty choice")
        selections.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "selections", selections)

    def __len__(self) -> int:
        return len(self.values)

    def to_frame(self, terms: Sequence[str] = ()) -> pl.DataFrame:
        """A polars data frame with a row per point: its value in each objective, then ``jobs``, the positions chosen.

        Parameters
        ----------
        terms : names of the objectives (:attr:`Selection.terms <transom.models.Selection.terms>`); ``o0``, ``o1`` ...
            by default.
        """
        import polars as pl

        names = terms or [f"o{k}" for k in range(self.values.shape[1])]
        columns = {name: np.ascontiguousarray(column) for name, column in zip(names, self.values.T, strict=True)}
        chosen = [row.nonzero()[0].tolist() for row in self.selections]
        return pl.DataFrame(columns).with_columns(pl.Series("jobs", chosen, pl.List(pl.Int64)))

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()


def pareto_front(values: ArrayLike, selections: ArrayLike) -> ParetoFront:
    """The front of some points: one selection for each value that no other is at least as good as, sorted.

    Parameters
    ----------
    values : int64, shape ``(points, objectives)``, with sums below 2**53.
    selections : bool, shape ``(points, jobs)``; of equal values the first selection is kept.
    """
    points, chosen = np.asarray(values, np.int64), np.asarray(selections, bool)
    kept = nondominated(points)
    points, chosen = points[kept], chosen[kept]
    order = np.lexsort(-points.T[::-1])
    return ParetoFront(points[order], chosen[order])


def nondominated(values: IntArray) -> NDArray[np.bool_]:
    """Which points no other one is at least as good as in every objective; of equal points the first.

    Parameters
    ----------
    values : to maximise, shape ``(points, objectives)``, below 2**53: they are compared in double precision.
    """
    if len(values) < 2:
        return np.ones(len(values), bool)
    if values.shape[1] == 1:
        best = np.zeros(len(values), bool)
        best[int(values[:, 0].argmax())] = True
        return best
    from moocore import is_nondominated

    found: NDArray[np.bool_] = is_nondominated(values.astype(np.float64), maximise=True, keep_weakly=False)
    return found


def hypervolume_share(values: IntArray, ceiling: IntArray) -> float:
    r"""How much of what could be dominated a front dominates, from 0 to 1.

    The hypervolume of the points :math:`(v_k + 1) / (c_k + 1)` above the origin: the reference point is
    -1 in every objective, so that a point counts that is worth nothing in one of them.

    Parameters
    ----------
    values : shape ``(points, objectives)``, from 0 to ``ceiling``.
    ceiling : :math:`c`, an upper bound of each objective, shape ``(objectives,)``.

    Returns
    -------
    Rounded to twelve digits. With more than :data:`EXACT_OBJECTIVES` objectives an approximation, which is the same
    everywhere and never falls when a front gains points (:func:`~transom.models.hypervolume.share_along`).

    References
    ----------
    Zitzler, Thiele, IEEE Transactions on Evolutionary Computation 3 (1999).
    """
    if values.shape[1] == 0:
        return 1.0
    points = _distinct((values + 1.0) / (ceiling + 1.0))  # sorted: the sum must not depend on their order
    if points.shape[1] == 1:
        return float(f"{points.max():.12g}")
    if points.shape[1] > EXACT_OBJECTIVES:
        return float(f"{share_along(points):.12g}")
    from moocore import hypervolume

    return float(f"{hypervolume(points, ref=np.zeros(points.shape[1]), maximise=True):.12g}")


def _distinct(points: FloatArray) -> FloatArray:
    # Not np.unique: it compares records, half of which is Python code, and makes a TypeError of Ctrl-C in there.
    ranked = points[np.lexsort(points.T[::-1])]
    new = np.ones(len(ranked), bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    return ranked[new]


@cache
def prepare(objectives: int) -> None:
    """Import and compile what fronts of so many objectives are filtered and measured with."""
    corner = np.ones((1, objectives), np.int64)
    nondominated(np.repeat(corner, 2, axis=0))
    hypervolume_share(corner, corner[0])
