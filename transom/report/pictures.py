"""Figures of the page: drawn once, inline as SVG, and to be saved as SVG and PDF."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from transom.bench.score import profiles
from transom.bench.score.score import ALLOWANCE
from transom.models.arrays import FloatArray
from transom.plot import (
    Line,
    encoded,
    gap_over_time,
    hypervolume_over_time,
    overshoots,
    performance_profile,
    proofs_over_time,
    targets_reached,
)
from transom.problems import has_fronts
from transom.report.table import anchor

if TYPE_CHECKING:
    import polars as pl
    from markupsafe import Markup
    from matplotlib.figure import Figure

PROFILED = 0.01
"""The gap of performance profiles: that of 1 % is what windows that last seconds are solved to."""

_SEEN = 1e-4  # of the whole axis: a smaller difference between two lines is not seen

LINES = 14
"""Solvers in one figure at most, those with the smallest mean gaps: with more no line stands out."""


class Picture(NamedTuple):
    """A figure: a name for files, what stands below it, what it shows for those who do not see it, and its bytes;
    ``reading`` is what the script of the page needs to read values off its curves."""

    name: str
    caption: str
    alt: str
    svg: bytes
    pdf: bytes
    reading: dict[str, Any] | None = None

    @property
    def inline(self) -> Markup:
        """The drawing itself, to stand in the page: ids of its own, hidden from screen readers, which get ``alt``."""
        from markupsafe import Markup

        text = self.svg.decode()
        text = text[text.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
        text = re.sub(r"<style .*?</style>", "", text, flags=re.DOTALL)  # it would hold for the whole page
        text = re.sub(r"(?<=: )#([0-9a-f]{6})\b", r"var(--on-\1, \g<0>)", text)  # the page's scheme may set another
        text = re.sub(r' id="[A-Za-z0-9]+_[0-9]+"', "", text)
        text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{self.name}-", text)
        return Markup(text.replace("<svg ", '<svg aria-hidden="true" ', 1))

    @property
    def svg_link(self) -> str:
        """The SVG file as a data URI."""
        return f"data:image/svg+xml;base64,{b64encode(self.svg).decode()}"

    @property
    def pdf_link(self) -> str:
        """The PDF file as a data URI."""
        return f"data:application/pdf;base64,{b64encode(self.pdf).decode()}"


def picture(figure: Figure, name: str, caption: str, alt: str) -> Picture:
    """Draw a figure in both formats; ``name`` becomes letters, digits and dashes."""
    # The layout is the same for both formats, and takes longer than all the rest.
    curves = [line for axes in figure.axes for line in axes.get_lines() if line.get_drawstyle() == "steps-post"]
    for place, line in enumerate(curves):
        line.set_gid(f"curve-{place}")
        line.get_path().should_simplify = False  # values are read off its corners
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    name = anchor(name)
    reading = {"name": name, **_axes(figure), "curves": [str(line.get_label()).strip() for line in curves]}
    return Picture(name, caption, alt, encoded(figure, "svg"), encoded(figure, "pdf"), reading if curves else None)


def _axes(figure: Figure) -> dict[str, Any]:
    """Where the axes lie in the drawing [points from its upper left corner], and what stands on them."""
    from matplotlib.scale import SymmetricalLogTransform

    axes, (width, height) = figure.axes[0], (72 * size for size in map(float, figure.get_size_inches()))
    left, below, right, above = map(float, axes.get_position().extents)
    layout: dict[str, Any] = {"box": [left * width, (1 - above) * height, right * width, (1 - below) * height]}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        low, high = map(float, axis.get_view_interval())
        layout[name] = {"label": axis.get_label_text(), "kind": axis.get_scale(), "low": low, "high": high}
        bend = axis.get_transform()
        if isinstance(bend, SymmetricalLogTransform):
            layout[name] |= {"threshold": bend.linthresh, "stretch": bend.linscale}
    return layout


def comparison_pictures(runs: pl.DataFrame, references: pl.DataFrame, solvers: Sequence[str]) -> Iterator[Picture]:
    """The figures of one problem under one budget and number of threads, the one that says most first.

    Parameters
    ----------
    runs : scored runs (:func:`transom.bench.score.score.scored`) of that comparison.
    references : of :func:`transom.bench.score.score.references`.
    solvers : all names, in the order of their colours.
    """
    problem, budget, threads = runs["problem"][0], runs["budget"][0], runs["threads"][0]
    where = f"{problem}, {budget}" + (f", {threads} threads" if threads > 1 else "")
    order, shown = list(solvers), _drawn(runs)
    profile = profiles.performance_profile(runs, references, PROFILED)
    if not profile.instances:
        return
    drawn = f"{len(shown)} of " if len(profile.y) > len(shown) else ""
    seen = f"{drawn}{len(profile.y)} solvers on {profile.instances} instances"
    if runs["budget_seconds"][0] is not None:
        if has_fronts(problem):
            lines = profiles.hypervolume_curves(runs, references)
            yield picture(
                hypervolume_over_time(_lines(lines, shown), where, order),
                f"{where} hypervolume",
                f"Mean hypervolume of the fronts, of the best known; higher is better.{_together(lines.y, shown)}",
                f"Mean hypervolume ratio over time of {seen}; {where}. {_ends(lines)}",
            )
        lines = profiles.gap_curves(runs, references)
        yield picture(
            gap_over_time(_lines(lines, shown), where, order),
            f"{where} gap over time",
            f"Mean primal gap over time; lower is better.{_together(lines.y, shown)}",
            f"Mean primal gap over time of {seen}; {where}. {_ends(lines)}",
        )
    ecdf = profiles.target_ecdf(runs, references)
    targets = ", ".join(f"{100 * target:g}" for target in profiles.TARGETS)
    yield picture(
        targets_reached(_lines(ecdf, shown), where, order),
        f"{where} targets",
        f"Share of runs x targets (gaps of {targets} %) reached by then; higher is better.{_together(ecdf.y, shown)}",
        f"Targets reached over time of {seen}; {where}. {_ends(ecdf)}",
    )
    yield picture(
        performance_profile(_lines(profile, shown), where, f"gap of {100 * PROFILED:g} %", order),
        f"{where} profile",
        f"Performance profile: runs solved to a gap of {100 * PROFILED:g} % within a factor of the fastest solver."
        f"{_together(profile.y, shown)}",
        f"Performance profile of {seen}; {where}. {_ends(profile)}",
    )
    proofs = _proofs(runs, shown)
    if proofs:
        yield picture(
            proofs_over_time(proofs, where, order),
            f"{where} proofs",
            "Share of runs that had proved their answer by then; solvers that proved nothing are left out.",
            f"Proofs over time; {where}.",
        )


def overshoot_pictures(scored: pl.DataFrame) -> Iterator[Picture]:
    """How far solvers went past each budget in seconds, one figure per budget."""
    import polars as pl

    timed = scored.filter(pl.col("overshoot").is_not_null()).sort("solver")
    second, share = ALLOWANCE
    for (budget,), runs in timed.sort("budget_seconds", maintain_order=True).group_by(
        "budget_seconds", maintain_order=True
    ):
        samples = {
            str(name): each["overshoot"].to_numpy() for (name,), each in runs.group_by("solver", maintain_order=True)
        }
        where = f"all problems, {budget:g} s"
        high = {name: 1000 * float(sample.max()) for name, sample in samples.items()}
        worst = max(high, key=lambda name: high[name])
        yield picture(
            overshoots(samples, where, second + share * float(budget)),
            f"overshoot {where}",
            "Time past the budget, measured outside the solver.",
            f"Time past a budget of {budget:g} s; the worst is {worst} with {high[worst]:.0f} ms.",
        )


def _drawn(runs: pl.DataFrame) -> list[str]:
    """The solvers that are drawn, by name."""
    import polars as pl

    ranked = runs.group_by("solver").agg(pl.col("primal_gap").mean()).sort("primal_gap", "solver")
    return sorted(ranked["solver"].head(LINES).to_list())


def _lines(lines: profiles.Lines, shown: Sequence[str]) -> dict[str, Line]:
    return {name: Line(lines.x, lines.y[name]) for name in shown}


def _together(heights: Mapping[str, FloatArray], shown: Sequence[str]) -> str:
    """Which solvers have one line, in words; empty where all lines can be told apart."""
    groups: list[list[str]] = []
    for name in shown:
        same = (each for each in groups if np.allclose(heights[each[0]], heights[name], rtol=0, atol=_SEEN))
        if group := next(same, None):
            group.append(name)
        else:
            groups.append([name])
    said = "; ".join(", ".join(each) for each in groups if len(each) > 1)
    return f" On one line: {said}." if said else ""


def _ends(lines: profiles.Lines) -> str:
    """Where lines end, in words."""
    return "At the end: " + ", ".join(f"{name} {100 * line[-1]:.1f} %" for name, line in sorted(lines.y.items())) + "."


def _proofs(runs: pl.DataFrame, shown: Sequence[str]) -> dict[str, Line]:
    lines = {}
    end = float(runs["time"].max() or 0)  # type: ignore[arg-type]
    for solver in shown:
        each = runs.filter(runs["solver"] == solver)
        times = np.sort(np.maximum(each.filter("proved")["time"].to_numpy(), profiles.FINEST))
        if len(times):
            x = np.concatenate(([profiles.FINEST], times, [max(end, times[-1])]))
            shares = np.concatenate(([0], np.arange(1, len(times) + 1), [len(times)])) / len(each)
            lines[solver] = Line(x, shares)
    return lines
