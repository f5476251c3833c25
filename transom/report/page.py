"""Assembly of the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from transom._system.files import atomic_write
from transom._system.wording import counted
from transom.bench.plan.task import FAILED
from transom.bench.score.diagnostics import diagnostics
from transom.bench.score.score import BestKnown, references, scored
from transom.errors import DocumentError
from transom.report import comparison, facts, failures, lead, sequences
from transom.report.assembly import assembled
from transom.report.pictures import Picture, comparison_pictures, overshoot_pictures
from transom.report.runs import embedded, run_table, solvers_of
from transom.report.table import FIRST, Table, anchor

if TYPE_CHECKING:
    import polars as pl

    from transom.bench.plan.plan import Plan
    from transom.report.comparison import Standing

REMARKS = 12
"""Remarks about the scores in front at most."""

WARNINGS = 4
"""Warnings that stand at the top; the others are folded below them."""

DRAWN = 12
"""Comparisons (a problem under a budget) that are drawn at most; each has up to five figures."""

WORDS = (
    (
        "Primal gap",
        "the relative distance to the best known value: 0 % is equal, 100 % means no solution or the wrong sign.",
    ),
    ("Integral", "the mean primal gap over the time of the budget; early solutions lower it."),
    ("Proved gap", "the gap between a value and the bound proved by the same solver; a dash without a bound."),
    (
        "Best known",
        "the best value of any run on this page, or of the library of best known values if one was given.",
    ),
    (
        "Limits",
        "95 % confidence limits for instances from the same population: exact for shares (Clopper and Pearson) and "
        "medians (order statistics), by betting for means, where unseen instances dominate small samples. Seeds are "
        "averaged first, because instances are the sample.",
    ),
    (
        "p",
        "of the Wilcoxon signed-rank test over instances, corrected by Holm's method for all pairs of the comparison.",
    ),
    (
        "A run without a solution",
        "counts as a gap of 100 % and the full budget, whether it found nothing, was wrong, failed or was refused.",
    ),
)
"""Terms of the page, in short; docs/benchmarking.md defines them with their sources."""


SCRIPT = tuple(f"script/{name}.js" for name in ("elements", "boxes", "tables", "reading", "instances"))
"""Parts of the page's script, in the order in which they stand."""


class Part(NamedTuple):
    """A section of the page: one problem, with what is in it in a line, the answers for each budget, its tables and
    figures, and tables after these; ``first`` is the figure of the largest budget that stands at the top of the page.
    """

    name: str
    heading: str
    inside: str
    answers: list[str]
    tables: list[Table]
    first: list[Picture]
    pictures: list[Picture]
    further: list[Table]


class Page(NamedTuple):
    """The text of the page, and the figures in it."""

    html: str
    pictures: list[Picture]


def render(
    frame: pl.DataFrame,
    title: str = "Solvers compared",
    plans: Sequence[Plan] = (),
    library: BestKnown | None = None,
    notes: Sequence[str] = (),
    progress: Callable[[str], None] = lambda done: None,
) -> Page:
    """Make the page. The same rows give the same bytes.

    Parameters
    ----------
    frame : rows of a store, with the columns of :func:`transom.bench.store.frame.schema`.
    title : of the page.
    plans : whose runs they are, where that is known.
    library : best-known values beside those of the rows.
    notes : further things that readers have to keep in mind.
    progress : called with what was drawn.

    Raises
    ------
    DocumentError : there is no row.
    """
    if not len(frame):
        raise DocumentError("report: there are no runs to report on")
    frame = _shortened(frame)
    known = references(frame, library)
    table = scored(frame, known)
    standings = comparison.standings(table)
    parts, left_out = _parts(table, known, standings, progress)
    past = list(overshoot_pictures(table))
    progress("overshoots")
    data, runs_left_out = embedded(table)
    replays = sequences.replayed(frame)
    opening = [*(picture for part in parts for picture in part.first), *lead.pictures_of(replays)]
    rankings = lead.rankings(standings, replays)
    html = assembled(
        "transom.report",
        ["style.css"],
        SCRIPT,
        title=title,
        lead=lead.sentence(standings, replays),
        rankings=rankings,
        places=lead.PLACES[: max(len(line.places) for line in rankings)],
        opening=opening,
        warnings=[*notes, *_remarks(table), *facts.warnings(frame), *([left_out] if left_out else [])],
        front=WARNINGS,
        facts=facts.facts(frame, plans),
        about=facts.about(frame),
        comparisons=parts,
        sequences=[sequences.table_of(trace) for trace in replays],
        data=data if len(table) else None,
        runs=run_table(table),
        first=FIRST,
        runs_left_out=runs_left_out,
        failures=failures.failures(frame),
        failures_inside=failures.said(frame),
        overshoot_pictures=past,
        overshoot_tables=failures.overshoots(table),
        words=WORDS,
    )
    return Page(html, [*opening, *(picture for part in parts for picture in part.pictures), *past])


def write_report(path: str | os.PathLike[str], page: Page, figures: str | os.PathLike[str] | None = None) -> list[Path]:
    """Write the page, and its figures as files if a folder is given.

    Returns
    -------
    The paths that were written, the page first.
    """
    with atomic_write(path) as file:
        file.write(page.html)
    written = [Path(path)]
    for picture in page.pictures if figures is not None else ():
        for kind, content in (("svg", picture.svg), ("pdf", picture.pdf)):
            target = Path(figures or "") / f"{picture.name}.{kind}"
            with atomic_write(target, "wb") as file:
                file.write(content)
            written.append(target)
    return written


def _shortened(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows whose labels that are paths begin below the folder that they all have in common."""
    import polars as pl

    labels = frame["label"].unique().to_list()
    paths = [label for label in labels if os.path.isabs(label)]
    if not paths:
        return frame
    common = os.path.commonpath([os.path.dirname(path) for path in paths])
    short = {path: os.path.relpath(path, common) for path in paths}
    return frame.with_columns(pl.col("label").replace(short))


def _parts(
    table: pl.DataFrame, known: pl.DataFrame, standings: Sequence[Standing], progress: Callable[[str], None]
) -> tuple[list[Part], str]:
    """A section per problem; the comparisons with the longest budgets are drawn where there are very many."""
    groups = table.sort("problem", "budget_seconds", "budget", "threads", nulls_last=True).partition_by(
        "problem", "budget", "threads", maintain_order=True
    )
    ends = {(each.problem, each.lines[0]["budget"], each.lines[0]["threads"]) for each in standings if each.largest}
    last = [tuple(runs.select("problem", "budget", "threads").row(0)) in ends for runs in groups]
    ranked = sorted(range(len(groups)), key=lambda i: (not last[i], -(groups[i]["budget_seconds"][0] or 0), i))
    drawn = set(ranked[:DRAWN])
    order = solvers_of(table)
    first: dict[str, list[Picture]] = {}
    pictures: dict[str, list[Picture]] = {}
    for place, runs in enumerate(groups):
        problem = runs["problem"][0]
        listed = pictures.setdefault(problem, [])
        if place in drawn:
            made = list(comparison_pictures(runs, known, order[problem]))
            first.setdefault(problem, []).extend(made[:1] if last[place] else [])
            listed += made[1:] if last[place] else made
            progress(f"{problem}, {runs['budget'][0]}")
    parts = []
    for problem in dict.fromkeys(each.problem for each in standings):
        drawings = pictures[problem]
        runs = table.filter(table["problem"] == problem)
        tables, further = comparison.comparison_tables(runs), comparison.pair_tables(runs)
        inside = (
            f"{counted(len(order[problem]), 'solver')} on {counted(runs['instance'].n_unique(), 'instance')}: all "
            f"figures with 95 % limits, {counted(len(drawings), 'picture')}{', every two solvers' * bool(further)}"
        )
        said = comparison.answers([each for each in standings if each.problem == problem])
        shown = first.get(problem, [])
        parts.append(Part(anchor("problem", problem), problem, inside, said, tables, shown, drawings, further))
    more = len(groups) - len(drawn)
    return parts, f"{more} more comparisons have tables, but no figures." if more else ""


def _remarks(table: pl.DataFrame) -> list[str]:
    """What has to be said beside the scores, but for what stands in sections of its own."""
    if not len(table):
        return []
    elsewhere = (*FAILED, "refused", "the runs are from")
    remarks = [each for each in diagnostics(table) if each.startswith("wrong: ") or not each.startswith(elsewhere)]
    return remarks[:REMARKS] + (
        [f"{more} more remarks: transom bench score"] if (more := len(remarks) - REMARKS) > 0 else []
    )
