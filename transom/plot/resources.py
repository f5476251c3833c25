"""Several resources side by side (MultiSched, Figures 4 to 6), and the gain of one method over others along a trace."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from transom.errors import ModelError
from transom.models.arrays import FloatArray
from transom.plot.spokes import ring, spokes
from transom.plot.style import (
    comparable,
    heading,
    new_figure,
    policy_styles,
    shortened,
    styled,
    thousands,
    time_unit,
    with_rules,
)
from transom.simulation.core.schedule import Schedule
from transom.simulation.output.metrics import span, utilisation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vP*X"
_HOLE = 0.12  # of a graph on spokes: the least lies on a small ring
_LINEAR = 2.5  # percentage points up to which the scale of gains is linear


@styled
def utilisation_kiviat(resources: Sequence[str], methods: Mapping[str, Sequence[float]], title: str) -> Figure:
    """Utilisation of each resource under each method, on spokes that contain all values in steps of 5 %.

    Parameters
    ----------
    resources : names of the spokes, at least three.
    methods : utilisation of each resource, 0 to 1, by the method's name.
    title : what was replayed.

    Raises
    ------
    ModelError : fewer than three resources, no method, or numbers that do not fit.

    References
    ----------
    Fan, Lan, MultiSched, Figure 4.
    """
    if len(resources) < 3 or not methods:
        raise ModelError(f"kiviat: needs three resources and a method at least, got {len(resources)}, {len(methods)}")
    _same_length(methods.values(), len(resources))
    figure = new_figure(3.3)
    axes = figure.add_subplot()
    table = np.array(list(methods.values()))
    low = max(0.0, math.floor(20 * np.nanmin(table)) / 20 - 0.05)
    high = max(low + 0.1, math.ceil(20 * np.nanmax(table)) / 20)
    ticks = {level: f"{100 * (low + level * (high - low)):g} %" for level in (0, 0.5, 1)}
    angles = spokes(axes, resources, _HOLE, ticks)
    for (name, values), look in zip(methods.items(), policy_styles(list(methods)).values(), strict=True):
        axes.plot(
            *ring(angles, (np.array(values) - low) / (high - low), _HOLE),
            marker="o",
            markersize=2.5,
            label=shortened(name),
            **look,
        )
    heading(axes, title)
    figure.legend(loc="outside right center", title="utilisation", alignment="left")
    return figure


@styled
def knob_sweep(
    knob: Sequence[float], used: Mapping[str, Sequence[float]], preserved: Mapping[str, Sequence[float]], title: str
) -> Figure:
    """Gain in utilisation of a larger window, and its effect on the order of the site.

    Parameters
    ----------
    knob : values of k along the axis, shares of the queue.
    used : utilisation of each resource at each k, 0 to 1.
    preserved : figures of how far the order of the site is kept, each at every k, such as the share of jobs that
        nobody overtook, 0 to 1.
    title : what was replayed.

    Raises
    ------
    ModelError : there is no value, or a line has another length.

    References
    ----------
    Fan, Lan, MultiSched, Figure 5.
    """
    _same_length([*used.values(), *preserved.values()], len(knob))
    figure = new_figure(2.9)
    left, right = figure.subplots(1, 2)
    for axes, lines in ((left, used), (right, preserved)):
        _lines(axes, knob, {name: 100 * np.array(line) for name, line in lines.items()})
        axes.set_xlabel("knob k: share of the queue in the window")
        axes.grid(axis="y")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=3, handlelength=1.6)
    left.set_ylabel("utilisation [%]")
    right.set_ylabel("order of the site [%]")
    heading(left, title)
    return figure


@styled
def decision_times(
    resources: Sequence[int], seconds: Mapping[str, Sequence[float]], limit: float | None, title: str
) -> Figure:
    """Mean time of a decision against the number of resources, on a logarithmic scale.

    Parameters
    ----------
    resources : how many resources, along the axis.
    seconds : mean time of a decision under each method at each number [s]; NaN where there is none.
    limit : a time to mark [s]; None for none.
    title : what was replayed.

    Raises
    ------
    ModelError : there is no value, or a line has another length.

    References
    ----------
    Fan, Lan, MultiSched, Figure 6.
    """
    _same_length(seconds.values(), len(resources))
    figure = new_figure(3.0, 4.6)
    axes = figure.add_subplot()
    _lines(axes, resources, {name: 1000 * np.array(line) for name, line in seconds.items()})
    axes.set_yscale("log")
    if limit is not None:
        axes.axhline(1000 * limit, color="#444444", linestyle="--", linewidth=0.8)
        axes.text(resources[0], 1000 * limit, f" {limit:g} s", va="bottom", color="#444444")
    axes.set_xlabel("resources")
    axes.set_ylabel("mean time of a decision [ms]")
    axes.set_xticks(resources)
    axes.grid(axis="y")
    thousands(axes.yaxis)
    heading(axes, title)
    figure.legend(loc="outside lower center", ncols=3, handlelength=1.6)
    return figure


@styled
def gain_over_time(schedules: Sequence[Schedule], bins: int = 60) -> Figure:
    """Gain in resource use of the first schedule over each other schedule, over time.

    Used share is the mean over all resources, from the first submission up to each instant; above zero the first
    schedule is ahead. The scale is linear up to 2.5 percentage points and logarithmic beyond, so that one method far
    behind does not hide the others.

    Parameters
    ----------
    schedules : at least two, of one workload; the first is compared with the others.
    bins : instants along the axis.

    Raises
    ------
    ModelError : there is only one, or they cannot share a figure (:func:`~transom.plot.style.comparable`).
    """
    comparable(schedules)
    if len(schedules) < 2:
        raise ModelError("gain: needs two schedules at least")
    first, others = schedules[0], schedules[1:]
    begin = span(first)[0]
    # Up to the last submission: what comes after it is emptying, which says little about a method.
    last = int(first.jobs.submit.max())
    instants = np.linspace(begin, max(last, begin + 1), bins + 1)[1:]
    own = _used_so_far(first, begin, instants)
    figure = new_figure(2.8)
    axes = figure.add_subplot()
    unit, word = time_unit(max(last - begin, 1))
    for other, look in zip(others, policy_styles([each.policy for each in others]).values(), strict=True):
        gained = 100 * (own - _used_so_far(other, begin, instants))
        axes.plot((instants - begin) / unit, gained, label=shortened(other.policy), **look)
    axes.axhline(0, color="#444444", linewidth=0.6)
    axes.set_yscale("symlog", linthresh=_LINEAR, linscale=2)
    low, high = axes.get_ylim()
    marks = [mark for mark in (-40, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 20, 40) if low <= mark <= high]
    axes.set_yticks(marks, [f"{mark:+d}" if mark else "0" for mark in marks])
    axes.set_yticks([], minor=True)
    axes.set_xlabel(f"time since the first submission [{word}]")
    axes.set_ylabel("utilisation gained so far\n[percentage points]")
    axes.grid(axis="y")
    heading(axes, with_rules(first, f"{first.workload}: gain of {shortened(first.policy)} over"))
    figure.legend(loc="outside lower center", ncols=4, handlelength=1.6)
    return figure


def _used_so_far(schedule: Schedule, begin: int, instants: FloatArray) -> FloatArray:
    """Mean utilisation of all resources from ``begin`` to each instant, shape ``(instants,)``."""
    resources = (None, *schedule.cluster.resources)
    return np.array([np.mean([utilisation(schedule, begin, end, each) for each in resources]) for end in instants])


def _lines(axes: Axes, along: Sequence[float], lines: Mapping[str, FloatArray]) -> None:
    looks = policy_styles(list(lines))
    for place, (name, line) in enumerate(lines.items()):
        axes.plot(
            along, line, marker=_MARKERS[place % len(_MARKERS)], markersize=3.5, label=shortened(name), **looks[name]
        )


def _same_length(lines: Iterable[Sequence[float]], length: int) -> None:
    if length == 0 or any(len(line) != length for line in lines):
        raise ModelError(f"figure: every line must have {length} numbers, one at least")
