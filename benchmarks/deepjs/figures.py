"""Figures 4 to 7 of the paper, with longest-first in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.deepjs.fitness import Scores
from benchmarks.deepjs.replays import RULES, Replays
from benchmarks.deepjs.tables import unseen
from transom.plot.style import new_figure, save, styled

OTHERS = {"first-fit": "#0072B2", "Tetris as coded": "#D55E00", "longest-first": "#009E73"}


@styled
def sliding(replays: Replays, folder: str, out: Path) -> None:
    """Figure 4: by how much makespans are shorter on each chunk before the agent has learnt from it."""
    figure = new_figure(2.6)
    axes = figure.subplots()
    chunks, ends = unseen(folder)
    for other, colour in OTHERS.items():
        less = replays.makespans(RULES[other])[chunks] - ends
        axes.plot(chunks, less, ".", color=colour, ms=3, label=f"{other} minus agent")
    axes.axhline(0, color="black", lw=0.6)
    axes.set(
        xlabel="chunk of the training", ylabel="difference of makespans [s]", title="Figure 4: agent while it learns"
    )
    axes.set_yscale("symlog", linthresh=10)
    figure.legend(loc="outside upper right", ncols=3)
    save(figure, out / "deepjs_figure_4.png")


@styled
def fitness(found: Sequence[Scores], out: Path) -> None:
    """Figure 5: scores of two agents on the same pairs."""
    figure = new_figure(2.8)
    for axes, (name, a, b) in zip(figure.subplots(1, len(found), squeeze=False)[0], found, strict=True):
        axes.plot(a, b, ".", ms=2, alpha=0.4)
        axes.set(title=name, xlabel="score of the first", ylabel="score of the second")
    save(figure, out / "deepjs_figure_5.png")


@styled
def test_set(replays: Replays, spec: str, out: Path) -> None:
    """Figure 6: by how much makespans are shorter on each chunk of the test."""
    figure = new_figure(2.6)
    axes = figure.subplots()
    numbers = replays.first + np.arange(len(replays.chunks))
    for other, colour in OTHERS.items():
        less = replays.makespans(RULES[other]) - replays.makespans(spec)
        axes.plot(numbers, less, ".", color=colour, ms=3, label=f"{other} minus agent")
    axes.axhline(0, color="black", lw=0.6)
    axes.set(xlabel="chunk of the test", ylabel="difference of makespans [s]", title="Figure 6: agent on the test")
    axes.set_yscale("symlog", linthresh=10)
    figure.legend(loc="outside upper right", ncols=3)
    save(figure, out / "deepjs_figure_6.png")


@styled
def statistics(replays: Replays, trained: dict[str, str], out: Path) -> None:
    """Figure 7: means with deviations and box plots over the test, for every seed."""
    figure = new_figure(2.8)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1))
    names = list(trained)
    for k, (other, colour) in enumerate(OTHERS.items()):
        less = [replays.makespans(RULES[other]) - replays.makespans(spec) for spec in trained.values()]
        at = np.arange(len(names)) + 0.26 * (k - 1)
        left.bar(at, [each.mean() for each in less], 0.24, color=colour, label=f"{other} minus agent")
        left.errorbar(
            at, [each.mean() for each in less], [each.std() for each in less], fmt="none", ecolor="black", lw=0.6
        )
        boxes = right.boxplot(
            less,
            positions=at,
            widths=0.2,
            manage_ticks=False,
            patch_artist=True,
            flierprops={"ms": 2},
            medianprops={"color": "black"},
        )
        for box in boxes["boxes"]:
            box.set_facecolor(colour)
    for axes, title in ((left, "Figure 7: mean and deviation"), (right, "quartiles")):
        axes.set_xticks(range(len(names)), names)
        axes.axhline(0, color="black", lw=0.6)
        axes.set(title=title, ylabel="difference of makespans [s]")
    right.set_yscale("symlog", linthresh=10)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper right", ncols=3)
    save(figure, out / "deepjs_figure_7.png")
