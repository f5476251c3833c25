"""What the page opens with: one sentence that says what ran and who leads, and a picture of the leaders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transom.plot import Leader, leaders
from transom.report.comparison import Standing
from transom.report.pictures import Picture, picture
from transom.report.table import Table, percentage, several

if TYPE_CHECKING:
    import polars as pl

PROBLEMS, SOLVERS = 8, 4
"""Problems in the picture, and solvers of each, at most."""

_SLOWDOWN = "mean bounded slowdown"
_SAID = {
    "significant": "with significance",
    "insignificant": "without significance",
    "untold": "on too few differing instances for a test",
    "contradicted": "though worse than the next on significantly more instances",
    "level": "level with the next",
    "alone": "alone on all instances",
}


def sentence(scored: pl.DataFrame, told: Sequence[Standing], sequences: Sequence[Table]) -> str:
    """One sentence: what ran, and who leads at the largest budget of each problem, as far as the tests bear it out.

    Parameters
    ----------
    scored : of :func:`transom.bench.score.score.scored`.
    told : of :func:`transom.report.comparison.standings`.
    sequences : of :func:`transom.report.sequences.sequence_tables`.
    """
    parts = [part for part in (_solved(scored, told) if len(scored) else "", _replayed(sequences)) if part]
    text = "; ".join(parts) + "."
    return (text[0].upper() + text[1:]).replace(" %", "\u00a0%")


def picture_of(told: Sequence[Standing]) -> Picture | None:
    """The mean gaps of the best solvers at the largest budget of each problem; None where there are none."""
    shown = [each for each in told if each.largest][:PROBLEMS]
    if not shown:
        return None
    drawn = {each.problem: _leaders(each) for each in shown}
    gaps = "; ".join(
        f"{problem}: " + ", ".join(f"{line.name} {percentage(line.gap)} %" for line in lines)
        for problem, lines in drawn.items()
    )
    return picture(
        leaders(drawn),
        "leaders",
        "Smallest mean gaps at the largest budget, with 95 % limits where the instances are enough; filled: the best. "
        "Further left is better.",
        f"Mean primal gaps of the best solvers at the largest budget. {gaps}.",
    )


def _leaders(standing: Standing) -> list[Leader]:
    met = [line for line in standing.lines if line["complete"]][:SOLVERS]
    return [Leader(line["solver"], line["gap"], line["gap_low"], line["gap_high"], line["best"]) for line in met]


def _solved(scored: pl.DataFrame, told: Sequence[Standing]) -> str:
    problems = sorted(scored["problem"].unique())
    runs, solvers, instances = len(scored), scored["solver"].n_unique(), scored["instance"].n_unique()
    said = f"{_counted(runs, 'run')} of {_counted(solvers, 'solver')} on {_counted(instances, 'instance')} of "
    ends = [each for each in told if each.largest]
    clauses = []
    for verdict, said_of in _SAID.items():
        those = [each for each in ends if each.verdict == verdict and each.best[0]["gap"] < 1]
        names = ", ".join(f"{_names(each)} ({each.problem})" for each in those)
        clauses += [f"{said_of}, {names}"] if names else []
    if nothing := [each.problem for each in ends if each.best[0]["gap"] >= 1]:
        clauses.append(f"nobody on {_listed(nothing)}, with mean gaps of 100 %")
    return said + _listed(problems) + (": first at the largest budget are, " + "; ".join(clauses) if clauses else "")


def _names(standing: Standing) -> str:
    names = [line["solver"] for line in standing.best]
    if standing.verdict == "level" and standing.second is not None:
        names.append(standing.second["solver"])
    return _listed(names) if len(names) < 4 else several(names, 2)


def _replayed(sequences: Sequence[Table]) -> str:
    if not sequences:
        return ""
    policies = {row[0].text for table in sequences for row in table.rows}
    said = f"{_counted(len(policies), 'policy', 'policies')} on {_counted(len(sequences), 'trace')}"
    least = []
    for table in sequences:
        column = next((k for k, each in enumerate(table.columns) if each.title == _SLOWDOWN), None)
        best = [row[0].text for row in table.rows if column is not None and row[column].best]
        least += [f"{_listed(best)} on {table.caption.partition(':')[0]}"] if best else []
    return said + (f": the least {_SLOWDOWN} is that of {several(least, 4)}" if least else "")


def _counted(number: int, one: str, more: str = "") -> str:
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def _listed(things: list[str]) -> str:
    return " and ".join([*([", ".join(things[:-1])] if things[1:] else []), things[-1]])
