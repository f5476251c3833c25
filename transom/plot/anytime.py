"""Anytime curves: value and bound against time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from transom.errors import ModelError
from transom.models.arrays import FloatArray
from transom.plot.style import WIDTH, heading, new_figure, policy_styles, shortened, styled, thousands
from transom.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EARLIEST = 1e-5  # times before are drawn here [s]
_LEAST_GAP = 1e-3  # below it the axis is linear [%]
_NARROW = 1e-3  # the least that the axis of values covers, as a share of the best
_BOUNDS = 2.5  # bounds are shown up to so many times as far away as values lie apart


@styled
def anytime(results: Mapping[str, Result], title: str, sense: str = "min") -> Figure:
    """Incumbent value (steps) and proved bound (dashed) against time, one colour per solver.

    The lower panel shows the gap of each value to the best one found. A star ends a run that proved its
    value, a dot one that did not. Bounds far from the values are cut off.

    Parameters
    ----------
    results : one per solver, all of one instance.
    title : what was solved.
    sense : ``"min"`` or ``"max"``.

    Raises
    ------
    ModelError : there is no result with a value, the results are of different instances, or the sense is
        neither.
    """
    if sense not in ("min", "max"):
        raise ModelError(f"figure: sense must be min or max, got {sense!r}")
    if len({result.instance for result in results.values()}) > 1:
        raise ModelError("figure: the results are of different instances")
    values = [float(result.value) for result in results.values() if result.value is not None]
    if not values:
        raise ModelError("figure: no result has a value")
    best = min(values) if sense == "min" else max(values)
    figure = new_figure(4.2, WIDTH * 0.8)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    last = max(_end(result) for result in results.values())
    # Seven colours with dashes for bounds: values are solid, whatever the place of the solver.
    for name, style in policy_styles(list(results)).items():
        colour, result = style["color"], results[name]
        times, value, bound = _steps(result, last if result.reason == "proof" else _end(result))
        label = f"{shortened(name)} ({_outcome(result)})"
        above.step(times, value, where="post", color=colour, label=label)
        above.step(times, bound, where="post", color=colour, linestyle="--", linewidth=0.8)
        gap = 100 * np.abs(value - best) / max(abs(best), 1e-9)
        below.step(times, gap, where="post", color=colour)
        for axes, line in ((above, value), (below, gap)):
            _mark(axes, _end(result), line[np.searchsorted(times, _end(result), side="right") - 1], colour, result)
    above.set_ylabel("cost" if sense == "min" else "value")
    above.set_xscale("log")
    above.xaxis.set_major_formatter(lambda time, _: f"{time:g}")
    thousands(above.yaxis)
    below.set_yscale("symlog", linthresh=_LEAST_GAP, linscale=0.4)
    found = _all_values(results)
    top = max(100 * abs(value - best) / max(abs(best), 1e-9) for value in found)
    below.set_ylim(-_LEAST_GAP / 3, max(2 * top, 10 * _LEAST_GAP))
    room = max(max(found) - min(found), 0.02 * abs(best), 1e-9)
    # Bounds that are far off would press all else into a line.
    low, high = (_BOUNDS, 0.1) if sense == "min" else (0.1, _BOUNDS)
    lowest, highest = above.get_ylim()
    lowest, highest = max(lowest, min(found) - low * room), min(highest, max(found) + high * room)
    # Nor are differences in the last digits differences: axes of them would have one label all along.
    more = max(0.0, _NARROW * max(abs(best), 1e-9) - (highest - lowest)) / 2
    above.set_ylim(lowest - more, highest + more)
    below.set_ylabel("from the best [%]")
    below.set_xlabel("time [s]")
    below.yaxis.set_major_formatter(lambda gap, _: f"{gap:g}")
    for axes in (above, below):
        axes.grid(axis="y")
    heading(above, title)
    above.plot([], [], color="#444444", linestyle="--", linewidth=0.8, label="proved bounds")
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=2, handlelength=1.6)
    return figure


def _end(result: Result) -> float:
    return max(result.seconds, _EARLIEST)


def _steps(result: Result, until: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Times, values and bounds (nan while there is none), carried on to ``until`` [s]."""
    rows = [(max(time, _EARLIEST), _number(value), _number(bound)) for time, value, bound in result.curve]
    rows.append((max(until, rows[-1][0] if rows else _EARLIEST), _number(result.value), _number(result.bound)))
    times, values, bounds = np.array(rows).T
    return times, values, bounds


def _all_values(results: Mapping[str, Result]) -> list[float]:
    listed = [value for result in results.values() for _, value, _ in (*result.curve, (0, result.value, None))]
    return [float(value) for value in listed if value is not None]


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _outcome(result: Result) -> str:
    seconds = result.seconds
    return f"{result.status}, " + (f"{seconds:.3g} s" if seconds >= 0.1 else f"{1000 * seconds:.2g} ms")


def _mark(axes: Axes, time: float, value: float, colour: str, result: Result) -> None:
    axes.plot(
        [time], [value], marker="*" if result.status == "optimal" else "o", color=colour, markersize=5, clip_on=False
    )
