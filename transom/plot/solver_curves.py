"""Solvers compared over many instances: shares and means against time, from plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models.arrays import FloatArray
from transom.plot.style import heading, new_figure, policy_styles, shortened, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = 3.6
"""Width of a figure in one column of a page, which a phone shows at reading size [inch]."""

_LEGEND_ROW = 0.17  # [inch]
_NAME = 24  # characters of a name in a legend of two columns
_LEAST_GAP = 0.01  # below it the axis is linear [%]
_THICK, _THIN = 2.4, 0.9  # of lines [points]
_LABELLED = 100  # factor up to which 2, 3 and 5 are labelled
_POINTS = 400  # of a line at most: more are not seen


class Line(NamedTuple):
    """A step function.

    Parameters
    ----------
    x : where it changes, ascending, shape ``(points,)``.
    y : its value from there on, shape ``(points,)``.
    """

    x: ArrayLike
    y: ArrayLike


@styled
def gap_over_time(lines: Mapping[str, Line], title: str, order: Sequence[str] = ()) -> Figure:
    """Mean primal gap against time.

    Parameters
    ----------
    lines : one per solver; ``x`` in seconds, ``y`` the gap, from 0 to 1.
    title : what was solved.
    order : all solvers of which this may be a part: the same name then has the same look in every figure.

    Raises
    ------
    ModelError : there is no line, or one has arrays of different lengths.
    """
    figure, axes = _drawn(lines, title, order, 100)
    top = max(float(np.nanmax(_array(line.y), initial=0)) for line in lines.values())
    axes.set_yscale("symlog", linthresh=_LEAST_GAP, linscale=0.5)
    axes.set_ylim(-_LEAST_GAP / 10, max(min(130 * top, 110), 10 * _LEAST_GAP))
    axes.yaxis.set_major_formatter(lambda gap, _: f"{gap:g}")
    axes.set_yticks([], minor=True)
    axes.set_ylabel("mean primal gap [%]")
    _seconds(axes)
    return figure


@styled
def hypervolume_over_time(lines: Mapping[str, Line], title: str, order: Sequence[str] = ()) -> Figure:
    """Mean hypervolume ratio of fronts against time; parameters as of :func:`gap_over_time`."""
    figure, axes = _drawn(lines, title, order, 100)
    axes.set_ylim(None, 100.5)
    axes.set_ylabel("mean hypervolume ratio [%]")
    _seconds(axes)
    return figure


@styled
def performance_profile(lines: Mapping[str, Line], title: str, target: str, order: Sequence[str] = ()) -> Figure:
    """Share of the runs that a solver solves within a factor of the fastest one.

    Parameters
    ----------
    lines : one per solver; ``x`` the factor, at least 1, ``y`` the share, from 0 to 1.
    title : what was solved.
    target : what counts as solved, such as ``gap of 1 %``.
    order : as of :func:`gap_over_time`.

    References
    ----------
    Dolan, Moré, Benchmarking optimization software with performance profiles, Mathematical Programming 91 (2002).
    """
    figure, axes = _drawn(lines, title, order, 100)
    _share(axes, f"solved to a {target} [%]")
    axes.set_xscale("log")
    axes.set_xlim(1, None)
    axes.xaxis.set_major_formatter(lambda factor, _: f"{factor:g}")
    few = axes.get_xlim()[1] < _LABELLED  # factors: between powers of ten there is room for labels
    axes.xaxis.set_minor_formatter(lambda factor, _: f"{factor:g}" if few and factor in (2, 3, 5) else "")
    axes.set_xlabel("time, of the fastest solver's [factor]")
    return figure


@styled
def targets_reached(lines: Mapping[str, Line], title: str, order: Sequence[str] = ()) -> Figure:
    """Share of all pairs of run and target that a solver has reached, against time.

    Parameters are those of :func:`gap_over_time`, with shares for gaps.

    References
    ----------
    Hansen, Auger, Ros, Mersmann, Tušar, Brockhoff, COCO: a platform for comparing continuous optimizers in a
    black-box setting, Optimization Methods and Software 36 (2021).
    """
    figure, axes = _drawn(lines, title, order, 100)
    _share(axes, "runs x targets reached [%]")
    _seconds(axes)
    return figure


@styled
def proofs_over_time(lines: Mapping[str, Line], title: str, order: Sequence[str] = ()) -> Figure:
    """Share of runs that ended with a proof, against time; parameters as of :func:`targets_reached`."""
    figure, axes = _drawn(lines, title, order, 100)
    _share(axes, "proved [%]")
    _seconds(axes)
    return figure


@styled
def overshoots(seconds: Mapping[str, ArrayLike], title: str, limit: float | None = None) -> Figure:
    """Time beyond the budget: median, 99th percentile and maximum of each solver.

    Parameters
    ----------
    seconds : time beyond the budget of every run, by solver [s]; negative if it ended early; no NaN.
    title : what was solved.
    limit : limit for the 99th percentile [s], drawn as a line.

    Raises
    ------
    ModelError : there is nothing to draw, or a solver has no run.
    """
    samples = {name: 1000 * _array(each) for name, each in seconds.items()}
    if not samples or not all(len(each) for each in samples.values()):
        raise ModelError("figure: there is no run to draw")
    figure = new_figure(1.15 + 0.2 * len(samples), COLUMN)
    axes = figure.subplots()
    for place, sample in enumerate(samples.values()):
        middle, high = np.quantile(sample, (0.5, 0.99))
        worst = float(sample.max())
        # Runs that end long before their budget say nothing here: the line begins at 0, or where the median is.
        axes.plot([max(0.0, middle), max(0.0, worst)], [place, place], color="#999999", linewidth=0.8, zorder=1)
        axes.plot([max(0.0, middle)], [place], "o", color="#0072B2", markersize=4, label="_" if place else "median")
        axes.plot(
            [max(0.0, high)], [place], "|", color="#000000", markersize=9, label="_" if place else "99th percentile"
        )
        axes.plot([max(0.0, worst)], [place], "x", color="#D55E00", markersize=4, label="_" if place else "worst")
    if limit is not None:
        axes.axvline(1000 * limit, color="#444444", linestyle=":", linewidth=0.9, label=f"limit, {1000 * limit:.0f} ms")
    axes.set_yticks(range(len(samples)), [plain(name) for name in samples])
    axes.set_ylim(len(samples) - 0.5, -0.5)
    axes.set_xscale("symlog", linthresh=1, linscale=0.5)
    axes.set_xlim(-0.1, None if limit is None else max(axes.get_xlim()[1], 1500 * limit))
    axes.xaxis.set_major_formatter(lambda time, _: f"{time:g}")
    axes.set_xticks([], minor=True)
    axes.set_xlabel("past the budget [ms]")
    axes.grid(axis="x")
    heading(axes, title)
    figure.legend(loc="outside lower left", ncols=2, handlelength=1.2, columnspacing=1)
    return figure


def _drawn(lines: Mapping[str, Line], title: str, order: Sequence[str], scale: float) -> tuple[Figure, Axes]:
    if not lines:
        raise ModelError("figure: there is no line to draw")
    looks = policy_styles(list(dict.fromkeys((*order, *lines))))
    rows = -(-len(lines) // 2)
    figure = new_figure(2.3 + _LEGEND_ROW * rows, COLUMN)
    axes = figure.subplots()
    # Where lines lie upon each other, the thicker ones below stay seen at the edges of those above.
    widths = np.linspace(_THICK, _THIN, len(lines)) if len(lines) > 1 else [_THIN]
    for width, (name, line) in zip(widths, lines.items(), strict=True):
        x, y = _array(line.x), scale * _array(line.y)
        if len(x) != len(y):
            raise ModelError(f"figure: {name!r} has arrays of different lengths")
        kept = _seen(x)
        axes.step(x[kept], y[kept], where="post", label=plain(name), linewidth=width, **looks[name])
    axes.grid(axis="y")
    heading(axes, title)
    figure.legend(loc="outside lower left", ncols=2, handlelength=1.8, columnspacing=1)
    return figure, axes


def _seen(x: FloatArray) -> slice | FloatArray:
    """Which points of a line are drawn: all, or so many of them evenly, with the first and the last."""
    if len(x) <= _POINTS:
        return slice(None)
    return np.unique(np.linspace(0, len(x) - 1, _POINTS).round().astype(int))


def _seconds(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda time, _: f"{time:g}")
    axes.set_xlabel("time [s]")


def _share(axes: Axes, label: str) -> None:
    axes.set_ylim(-2, 102)
    axes.set_ylabel(label)


def plain(name: str) -> str:
    """A name for a legend; matplotlib would omit one that begins with an underscore."""
    text = shortened(name, _NAME)
    return f" {text}" if text.startswith("_") else text


def _array(numbers: ArrayLike) -> FloatArray:
    return np.asarray(numbers, np.float64)
