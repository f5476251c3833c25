"""Annealing with different repairs: gaps against time, costs against the number of steps (NSA, Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from transom.errors import ModelError
from transom.plot.style import WIDTH, heading, new_figure, policy_styles, styled, thousands

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "os^Dv<>"
_POINTS = "*Xph"


class Search(NamedTuple):
    """A search with several numbers of steps.

    Parameters
    ----------
    seconds : mean time per window [s], for each number of steps.
    gap : mean of cost / optimum - 1, of the same length.
    """

    seconds: Sequence[float]
    gap: Sequence[float]


@styled
def gap_by_seconds(searches: Mapping[str, Search], single: Mapping[str, tuple[float, float]], title: str) -> Figure:
    """Mean gap to the optimum against mean time: a line per search, a marker for each method without steps.

    Parameters
    ----------
    searches : by name.
    single : seconds and gap of the other methods, by name; optimal ones are at the lower edge.
    title : what was solved.

    Raises
    ------
    ModelError : there is nothing to draw, a search has lists of different lengths, or a time is not above 0.
    """
    if not searches and not single:
        raise ModelError("figure: there is nothing to draw")
    for name, search in searches.items():
        if len(search.seconds) != len(search.gap) or not len(search.gap):
            raise ModelError(f"figure: {name!r} needs as many gaps as times, and one at least")
    times = [*(each for search in searches.values() for each in search.seconds), *(each for each, _ in single.values())]
    if min(times) <= 0:
        raise ModelError("figure: a time must be > 0 s")
    figure = new_figure(3.6, WIDTH * 0.8)
    axes = figure.subplots()
    looks = policy_styles(list(searches))
    for (name, search), marker in zip(searches.items(), _cycled(_MARKERS, searches), strict=True):
        gaps = 100 * np.asarray(search.gap)
        axes.plot(1000 * np.asarray(search.seconds), gaps, marker=marker, markersize=4, label=name, **looks[name])
    for (name, (seconds, gap)), marker in zip(single.items(), _cycled(_POINTS, single), strict=True):
        axes.plot([1000 * seconds], [100 * gap], marker, markersize=8, color="#444444", label=name, clip_on=False)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda time, _: f"{time:g}")
    axes.set_xlabel("time for a window [ms]")
    # A gap of 0 is a place of its own below the smallest that is not.
    axes.set_yscale("symlog", linthresh=0.1, linscale=0.5)
    gaps_found = [*(gap for search in searches.values() for gap in search.gap), *(gap for _, gap in single.values())]
    axes.set_ylim(100 * min(0.0, *gaps_found) - 0.02, max(150 * max(gaps_found), 0.1))
    axes.yaxis.set_major_formatter(lambda gap, _: f"{gap:g}")
    axes.set_yticks([], minor=True)
    axes.set_ylabel("mean gap to the optimum [%]")
    axes.grid(axis="y")
    heading(axes, title)
    figure.legend(loc="outside lower center", ncols=3, handlelength=2)
    return figure


@styled
def costs_by_steps(
    steps: Sequence[int], costs: Mapping[str, Sequence[float]], rival: Sequence[float], name: str, title: str
) -> Figure:
    """Mean cost after each number of steps, a line per network, and the saving against a baseline.

    Parameters
    ----------
    steps : along the axis.
    costs : by network, one for each number of steps.
    rival : cost of the baseline at the same numbers of steps, drawn in black.
    name : of the baseline.
    title : what was solved.

    Raises
    ------
    ModelError : there is no line, or one of another length.

    References
    ----------
    Lan et al. (2023), section VI-C, Figure 5.
    """
    if not costs or {len(steps)} != {len(each) for each in (rival, *costs.values())}:
        raise ModelError("figure: every line must have one cost for each number of steps")
    figure = new_figure(3.2, WIDTH)
    left, right = figure.subplots(1, 2)
    looks = policy_styles(list(costs))
    base = np.asarray(rival, np.float64)
    left.plot(steps, base, color="#000000", linewidth=1.6, linestyle=":", label=name)
    right.axhline(0, color="#000000", linewidth=1.6, linestyle=":")
    for (network, line), marker in zip(costs.items(), _cycled(_MARKERS, costs), strict=True):
        values = np.asarray(line, np.float64)
        left.plot(steps, values, marker=marker, markersize=4, label=network, **looks[network])
        right.plot(steps, 100 * (1 - values / base), marker=marker, markersize=4, **looks[network])
    left.set_ylabel("mean cost")
    thousands(left.yaxis)
    right.set_ylabel(f"less than {name} [%]")
    for axes in (left, right):
        axes.set_xlabel("steps of the learned search")
        axes.set_xticks(steps)
        axes.grid(axis="y")
    heading(left, title)
    figure.legend(loc="outside lower center", ncols=4, handlelength=2)
    return figure


def _cycled(marks: str, names: Mapping[str, object]) -> list[str]:
    return [marks[place % len(marks)] for place in range(len(names))]
