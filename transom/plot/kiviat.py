"""Kiviat graph: several metrics of several policies at once (DRAS, Figure 6), and its scales from centre to rim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models.arrays import FloatArray
from transom.plot.shared_scale import one_dominates
from transom.plot.spokes import ring, spokes
from transom.plot.style import comparable, new_figure, policy_styles, shortened, styled
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.metrics import TAU, Trim, known_metrics, summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPOKES = ("mean_wait", "max_wait", "mean_slowdown", "mean_response", "utilisation")
"""The metrics of the paper's figure."""

_HOLE = 0.12
"""The centre is a small ring, not a point, so that lines through it can be distinguished."""

_ROUND = (1, 2, 3, 5, 10)  # an end is one of these times a power of ten
_DECADES = 4  # of a logarithmic scale at most
_UNITS = {"s": ("h", 3600.0), "node s": ("node h", 3600.0)}


@styled
def kiviat(
    schedules: Sequence[Schedule], metrics: Sequence[str] = SPOKES, tau: float = TAU, trim: Trim | None = None
) -> Figure:
    """Metrics of each policy on labelled spokes; outward is better (:func:`scales`).

    Raises
    ------
    ModelError : fewer than three metrics, one is unknown or has no better direction, or the
        schedules cannot share a figure (:func:`~transom.plot.style.comparable`).

    References
    ----------
    Fan et al., DRAS, Figure 6, which shows shares of the best and the worst policy instead.
    """
    comparable(schedules)
    return kiviat_of({schedule.policy: summary(schedule, tau, trim) for schedule in schedules}, metrics)


@styled
def kiviat_of(summaries: Mapping[str, Mapping[str, float]], metrics: Sequence[str] = SPOKES) -> Figure:
    """The same from the figures of each policy, such as means over several replays.

    Raises
    ------
    ModelError : as of :func:`scales`.
    """
    of = scales(list(summaries.values()), metrics)
    figure = new_figure(3.3)
    axes = figure.add_subplot()
    angles = spokes(axes, [scale.label for scale in of], _HOLE, {})
    styles = policy_styles(list(summaries))
    for name, figures in summaries.items():
        places = [scale.places(figures[metric]) for scale, metric in zip(of, metrics, strict=True)]
        x, y = ring(angles, np.array(places), _HOLE)
        look = styles[name]
        axes.plot(x, y, marker="o", markersize=2.5, label=shortened(name), clip_on=False, **look)
        if len(summaries) <= 4:  # more of them mix to grey
            axes.fill(x, y, color=look["color"], alpha=0.08, linewidth=0)
    figure.legend(loc="outside right center", title="scales: centre to rim,\nbetter is outward", alignment="left")
    return figure


class Scale(NamedTuple):
    """The scale of a metric; outward is better.

    Parameters
    ----------
    quantity : what it shows, with its unit.
    unit : size of that unit in the unit of the metric.
    centre, rim : values at both ends, in that unit.
    logarithmic : whether the scale is logarithmic; otherwise it is linear.
    cut : whether values beyond the rim are drawn on the rim.
    """

    quantity: str
    unit: float
    centre: float
    rim: float
    logarithmic: bool
    cut: bool

    @property
    def label(self) -> str:
        """The quantity and, on a line of its own, both ends."""
        ends = f"{self.centre:,g} to {self.rim:,g}{' or less' if self.cut else ''}"
        return f"{self.quantity}\n{ends}{', logarithmic' if self.logarithmic else ''}"

    def places(self, values: ArrayLike) -> FloatArray:
        """Where values of the metric, of any shape, lie from 0 (centre) to 1 (rim); NaN lies in the centre."""
        shown = np.asarray(values, np.float64) / self.unit
        centre, rim = self.centre, self.rim
        if self.logarithmic:
            with np.errstate(divide="ignore"):
                shown, centre, rim = np.log(shown), np.log(centre), np.log(rim)
        return np.clip(np.nan_to_num((shown - centre) / (rim - centre)), 0, 1)


def scales(summaries: Sequence[Mapping[str, float]], metrics: Sequence[str]) -> list[Scale]:
    """A scale for each metric, with round ends, that contains the values of all summaries.

    Utilisations run from 0 to 100 %, all else from 0. Where one value would push the others to the rim
    (:func:`~transom.plot.shared_scale.one_dominates`), the scale is logarithmic.

    Raises
    ------
    ModelError : fewer than three metrics, or one is unknown or has no better direction.
    """
    if len(metrics) < 3:
        raise ModelError(f"kiviat: needs at least three metrics, got {len(metrics)}")
    return [_scale(name, np.array([each.get(name, np.nan) for each in summaries], np.float64)) for name in metrics]


def _scale(name: str, values: FloatArray) -> Scale:
    known = known_metrics()
    if name not in known or known[name].better is None:
        those = ", ".join(key for key, metric in known.items() if metric.better)
        raise ModelError(f"kiviat: metric {name!r} is not one of {those}")
    if name.startswith("utilisation"):
        return Scale(f"{_plain(name)} [%]", 0.01, 0.0, 100.0, False, False)
    sign, unit = known[name].unit, 1.0
    if sign in _UNITS:
        sign, unit = _UNITS[sign]
    quantity = f"{_plain(name)} [{sign}]" if sign else _plain(name)
    shown = values[np.isfinite(values)] / unit
    least, most = float(shown.min(initial=np.inf)), float(shown.max(initial=0.0))
    low, high = 0.0 - _above(-min(least, 0.0)), _above(most) or 1.0
    if logarithmic := least >= 0 and one_dominates(shown.tolist()):
        low = _below(max(float(shown[shown > 0].min()), most / 10**_DECADES))
    if known[name].better == "higher":
        return Scale(quantity, unit, low, high, logarithmic, False)
    return Scale(quantity, unit, high, low, logarithmic, logarithmic and least < low)


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _above(value: float) -> float:
    """The least round number that is not below a value >= 0."""
    if value == 0:
        return 0.0
    power = 10.0 ** np.floor(np.log10(value))
    return next((float(each * power) for each in _ROUND if each * power >= value), float(10 * power))


def _below(value: float) -> float:
    """The largest round number that is not above a value > 0."""
    power = 10.0 ** np.floor(np.log10(value))
    return max((float(each * power) for each in _ROUND if each * power <= value), default=float(power))
