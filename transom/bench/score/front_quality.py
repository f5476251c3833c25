r"""Quality of a front against the true one.

All measures but the share are taken after normalisation: with :math:`l_k` and :math:`u_k` the least and the largest
value of objective :math:`k` **on the true front**, a value :math:`v_k` counts as :math:`(v_k - l_k) / (u_k - l_k)`,
with :math:`u_k - l_k` replaced by 1 where it is 0. The true front then spans the unit cube, and nothing depends on the
units of the objectives. The reference point is, unless another one is given, the componentwise minimum of the true
front minus 1, :math:`l_k - 1` in the units of the problem, so that every point of the true front counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models import ParetoFront
from transom.models.arrays import FloatArray

EXACT_WORK = 2e9
r"""Hypervolumes are exact while :math:`n^{p/2}`, for n points and p objectives, is no more than this: a few seconds."""
_DIRECTIONS = 1 << 16


@dataclass(frozen=True, slots=True)
class FrontQuality:
    r"""Quality indicators of a front, in normalised units.

    Attributes
    ----------
    points, true_points : how many different points the front and the true front have.
    hypervolume, true_hypervolume : what each dominates above the reference point; points that are not better than it
        in every objective count nothing.
    ratio : the first over the second; 1 for the true front.
    epsilon : additive epsilon, the least number that, added to all values of the front, makes every point of the true
        front reached; 0 for the true front.
    igd_plus : how much, over the points of the true front on average, the nearest point of the front falls short of it
        (Euclidean, counting only objectives in which it is worse); 0 for the true front.
    share : how many points of the true front the front has, from 0 to 1.
    approximate : whether both hypervolumes, and the ratio, are approximations over 65,536 fixed directions; some tenths
        of a percent. The other measures are always exact.

    References
    ----------
    Zitzler, Thiele, Laumanns, Fonseca, Grunert da Fonseca, Performance assessment of multiobjective optimizers, IEEE
    Transactions on Evolutionary Computation 7 (2003); Ishibuchi, Masuda, Tanigaki, Nojima, Modified distance
    calculation in generational distance and inverted generational distance, EMO 2015; Deng, Zhang, Approximating
    hypervolume and hypervolume contributions using polar coordinate, IEEE Transactions on Evolutionary Computation 23
    (2019).
    """

    points: int
    true_points: int
    hypervolume: float
    true_hypervolume: float
    ratio: float
    epsilon: float
    igd_plus: float
    share: float
    approximate: bool


def quality(
    found: ParetoFront | ArrayLike, true: ParetoFront | ArrayLike, reference: ArrayLike | None = None
) -> FrontQuality:
    """Measure a front, to be maximised, against the true one.

    Parameters
    ----------
    found : the front, or its values, shape ``(points, objectives)``; it may have no point at all.
    true : the true front, or the best one known, ``points`` > 0.
    reference : the reference point in the units of the values, shape ``(objectives,)``; by default the componentwise
        minimum of the true front minus 1.

    Raises
    ------
    ModelError : shapes differ, the true front has no point, or none of its points is better than the reference in
        every objective.
    """
    aim = _values(true, "the true front", -1)
    if not len(aim):
        raise ModelError("front quality: the true front has no point")
    ours = _values(found, "the front", aim.shape[1])
    least = aim.min(axis=0)
    corner = least - 1 if reference is None else np.asarray(reference, np.float64)
    if corner.shape != least.shape:
        raise ModelError(f"front quality: the reference point has shape {corner.shape}, expected {least.shape}")
    if not (aim > corner).all(axis=1).any():
        raise ModelError(f"front quality: no point of the true front is better than {corner.tolist()} in everything")
    shared = len(np.unique(np.concatenate((ours, aim)), axis=0))
    share = (len(ours) + len(aim) - shared) / len(aim)
    width = np.maximum(aim.max(axis=0) - least, 0)
    width[width == 0] = 1
    ours, aim, corner = (ours - least) / width, (aim - least) / width, (corner - least) / width
    exact = max(len(ours), len(aim)) ** (aim.shape[1] / 2) <= EXACT_WORK
    volume, most = _hypervolume(ours, corner, exact), _hypervolume(aim, corner, exact)
    epsilon, distance = _distances(ours, aim)
    return FrontQuality(
        points=len(ours),
        true_points=len(aim),
        hypervolume=volume,
        true_hypervolume=most,
        ratio=volume / most,
        epsilon=epsilon,
        igd_plus=distance,
        share=share,
        approximate=not exact,
    )


def _values(front: ParetoFront | ArrayLike, what: str, objectives: int) -> FloatArray:
    """Different points, in double precision: values of selections are exact in it."""
    values = np.asarray(front.values if isinstance(front, ParetoFront) else front, np.float64)
    if values.ndim != 2 or values.shape[1] == 0 or objectives not in (-1, values.shape[1]):
        wanted = "objectives" if objectives == -1 else str(objectives)
        raise ModelError(f"front quality: {what} must have shape (points, {wanted}), got {values.shape}")
    different: FloatArray = np.unique(values, axis=0)
    return different


def _hypervolume(points: FloatArray, reference: FloatArray, exact: bool) -> float:
    from moocore import hv_approx, hypervolume

    points = points[(points > reference).all(axis=1)]
    if not len(points):
        return 0.0
    if points.shape[1] == 1:
        return float(points.max() - reference[0])
    if exact:
        return float(hypervolume(points, ref=reference, maximise=True))
    return float(hv_approx(points, ref=reference, maximise=True, nsamples=_DIRECTIONS, method="DZ2019-HW"))


def _distances(points: FloatArray, aim: FloatArray) -> tuple[float, float]:
    from moocore import epsilon_additive, igd_plus

    if not len(points):
        return float("inf"), float("inf")
    return (
        float(epsilon_additive(points, ref=aim, maximise=True)),
        float(igd_plus(points, ref=aim, maximise=True)),
    )
