"""The best solvers or policies side by side, with confidence limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from transom.errors import ModelError
from transom.plot.solver_curves import COLUMN, plain
from transom.plot.style import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST_GAP = 0.01  # below it the axis is linear [%]
_SPREAD = 10  # factor between figures from which their axis is logarithmic


class Leader(NamedTuple):
    """A solver on one problem, or a policy on one trace.

    Parameters
    ----------
    name : name of the solver or policy.
    gap : its mean primal gap, from 0 to 1, or another figure.
    low, high : confidence limits, None if there are none.
    best : whether no other is better.
    """

    name: str
    gap: float
    low: float | None = None
    high: float | None = None
    best: bool = False


@styled
def leaders(problems: Mapping[str, Sequence[Leader]], figure_of: str = "") -> Figure:
    """Mean gaps of the best solvers of each problem, or another metric of policies, one row each.

    Parameters
    ----------
    problems : the solvers that are drawn, by the name of their problem, in the order of the rows.
    figure_of : the metric and its unit, if it is not the gap.

    Raises
    ------
    ModelError : a problem has no solver, or there is no problem.
    """
    if not problems or not all(problems.values()):
        raise ModelError("figure: there is no solver to draw")
    rows = sum(1 + len(solvers) for solvers in problems.values())
    figure = new_figure(0.75 + 0.17 * rows, COLUMN)
    axes = figure.subplots()
    names: list[str] = []
    heads = []
    unit = 1 if figure_of else 100
    for problem, solvers in problems.items():
        heads.append(len(names))
        names.append(plain(problem))
        for each in solvers:
            place = len(names)
            names.append(plain(each.name))
            if each.low is not None and each.high is not None:
                axes.plot([unit * each.low, unit * each.high], [place, place], color="#999999", linewidth=0.9, zorder=1)
            inside, edge = ("#0072B2", "#0072B2") if each.best else ("#FFFFFF", "#000000")
            axes.plot([unit * each.gap], [place], "o", markersize=4.5, mfc=inside, mec=edge, clip_on=False)
    axes.set_yticks(range(rows), names)
    for row in heads:
        axes.get_yticklabels()[row].set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(rows - 0.4, -0.6)
    if not figure_of:
        axes.set_xscale("symlog", linthresh=_LEAST_GAP, linscale=0.5)
        axes.set_xlim(0, 110)
        axes.set_xticks([], minor=True)
    else:
        figures = [each.gap for solvers in problems.values() for each in solvers]
        if 0 < _SPREAD * min(figures) < max(figures):
            axes.set_xscale("log")
        else:
            axes.set_xlim(0, None)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(figure_of or "mean primal gap [%]")
    axes.grid(axis="x")
    return figure
