"""Comparison tables of solvers, and their conclusions in two sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from transom._system.wording import counted
from transom.bench.score.limits import FEWEST_FOR_MEAN, FEWEST_FOR_MEDIAN
from transom.bench.score.statistics import FEWEST, TOLERANCE, Pair, pairs
from transom.bench.score.summaries import figures, summaries
from transom.report.table import (
    Cell,
    Column,
    Table,
    anchor,
    count,
    limits,
    number,
    percent,
    percentage,
    several,
    words,
)

if TYPE_CHECKING:
    import polars as pl

_BAD = {
    "failed": "errors, wrong answers, time-outs, out of memory, crashes",
    "wrong": "wrong answers and contradicted bounds",
    "refused": "instances that the solver does not support",
}
"""Counts of runs whose columns are there where any is not 0."""

Verdict = Literal["significant", "insignificant", "untold", "level", "contradicted", "alone"]
"""Of a lead: significant, not significant, of too few instances to test, none at all, against the ranks, or over no
other eligible solver."""

LISTED = 600
"""Lines of a table at most."""


def comparison_tables(scored: pl.DataFrame) -> list[Table]:
    """Solvers of one problem side by side, over all its sets and in each set.

    Parameters
    ----------
    scored : of :func:`transom.bench.score.score.scored`, of one problem.
    """
    overall = summaries(scored, "problem")
    problem = scored["problem"][0]
    tables = [_summed(overall, "", f"{problem}: solvers compared", anchor("comparison", problem))]
    if scored["set"].n_unique() > 1:
        tables.append(_summed(summaries(scored, "set"), "set", f"{problem}: set by set", anchor("sets", problem)))
    return tables


def pair_tables(scored: pl.DataFrame) -> list[Table]:
    """Solvers of one problem two at a time; empty where there is one solver only.

    Parameters
    ----------
    scored : of :func:`transom.bench.score.score.scored`, of one problem.
    """
    found, problem = _all_pairs(scored), scored["problem"][0]
    if not any(pair.instances for _, pair in found):
        return []
    return [_paired(found, f"{problem}: two at a time", anchor("pairs", problem), scored["threads"].n_unique() > 1)]


class Standing(NamedTuple):
    """Who leads on a problem under one budget and number of threads.

    Parameters
    ----------
    problem : its name.
    lines : of :func:`transom.bench.score.summaries.summaries`, the smallest mean gap first.
    pair : the first of the best solvers against the next eligible one, where both were compared.
    largest : whether no budget in seconds of this problem is larger, and no number of threads under it.
    threaded : whether there are several numbers of threads.
    """

    problem: str
    lines: list[dict[str, Any]]
    pair: Pair | None
    largest: bool
    threaded: bool

    @property
    def under(self) -> str:
        """The budget and, where there are several, the number of threads, as a sentence begins."""
        line = self.lines[0]
        return _under(line["budget"]) + (f" with {line['threads']} threads" if self.threaded else "")

    @property
    def best(self) -> list[dict[str, Any]]:
        """The lines of those who share the first place; empty where no solver is eligible."""
        return [line for line in self.lines if line["leads"]]

    @property
    def second(self) -> dict[str, Any] | None:
        """The line of the next eligible solver."""
        return next((line for line in self.lines if line["eligible"] and not line["leads"]), None)

    @property
    def among(self) -> str:
        """Whom the leader is compared with, in words; empty where it is everybody."""
        ahead = any(line["complete"] and line["gap"] < self.best[0]["gap"] - 1e-12 for line in self.lines)
        return " among solvers without a failure" if ahead else ""

    @property
    def verdict(self) -> Verdict:
        """What the numbers say of the lead over the next one."""
        if self.second is None:
            return "level" if len(self.best) > 1 else "alone"
        if self.pair is not None and self.pair.verdict == "all ties":
            return "level"
        if self.pair is None or self.pair.p_corrected is None:
            return "untold"
        if self.pair.verdict not in ("better", "worse"):
            return "insignificant"
        # The test is of ranks: whoever is better on most instances may still have the larger mean.
        agrees = (self.pair.verdict == "better") == (self.pair.first == self.best[0]["solver"])
        return "significant" if agrees else "contradicted"


def standings(scored: pl.DataFrame) -> list[Standing]:
    """Who leads on each problem, under each budget and number of threads.

    A solver that failed, was refused, or found nothing at all does not lead (``eligible`` of
    :func:`transom.bench.score.summaries.summaries`).

    Parameters
    ----------
    scored : of :func:`transom.bench.score.score.scored`.
    """
    listed = []
    threaded = scored["threads"].n_unique() > 1
    for (problem,), table in scored.group_by("problem", maintain_order=True):
        longest = table.sort("budget_seconds", "budget", nulls_last=False)["budget"][-1]
        found = {(key, frozenset((pair.first, pair.second))): pair for key, pair in _all_pairs(table)}
        groups = summaries(table, "problem").partition_by("budget", "threads", maintain_order=True)
        for place, group in enumerate(groups):
            budget, threads = group["budget"][0], group["threads"][0]
            last = all(budget != later["budget"][0] for later in groups[place + 1 :])
            each = Standing(str(problem), group.to_dicts(), None, last and budget == longest, threaded)
            if each.best and each.second is not None:
                two = frozenset((each.best[0]["solver"], each.second["solver"]))
                each = each._replace(pair=found.get(((budget, threads), two)))
            listed.append(each)
    return listed


def answers(compared: Sequence[Standing]) -> list[str]:
    """Which solver is best for each problem and budget, and whether by more than chance: two sentences each."""
    return [_answer(each).replace(" %", "\u00a0%") for each in compared]  # lines do not end before it


def _answer(standing: Standing) -> str:
    best, second, pair, verdict = standing.best, standing.second, standing.pair, standing.verdict
    if not best:
        return f"{standing.under}, no solver answered every instance of {standing.problem} without a failure."
    first = best[0]
    over = f"{percentage(first['gap'])} % over {counted(first['instances'], 'instance')}"
    names = several([line["solver"] for line in best], 4)
    has = "has" if len(best) == 1 else "share"
    on = f"{standing.among} on {standing.problem}"
    said = f"{standing.under}, {names} {has} the smallest mean primal gap{on} ({over})."
    if second is None:
        return said + (
            " No other solver answered all of these instances without a failure." if verdict == "alone" else ""
        )
    to = f"{second['solver']} ({percentage(second['gap'])} %)"
    if verdict == "level":
        return f"{said} {to} ties with it on every instance."
    if pair is None or pair.p_corrected is None:
        differing = 0 if pair is None else pair.wins + pair.losses
        described = counted(differing, "instance")
        return f"{said} Whether the difference to {to} is more than chance is unknown: they differ on {described}."
    if verdict == "contradicted":
        return f"{said} But {to} is better on significantly more instances (p = {_p(pair.p_corrected)})."
    negated = "" if verdict == "significant" else "not "
    return f"{said} The difference to {to} is {negated}significant (p = {_p(pair.p_corrected)})."


def _under(budget: str) -> str:
    if budget == "no limit":
        return "Without a limit"
    return f"At {budget}" if budget.endswith(" s") else f"Under a budget of {budget}"


def _all_pairs(scored: pl.DataFrame) -> list[tuple[tuple[str, int], Pair]]:
    """Pairs of every budget and number of threads, over all sets of one problem."""
    return [
        ((str(where["budget"]), int(where["threads"])), pair)
        for where, each in figures(scored, "primal_gap")
        for pair in pairs({solver: each[solver] for solver in sorted(each)}, TOLERANCE["primal_gap"])
    ]


def _summed(lines: pl.DataFrame, by: str, caption: str, name: str) -> Table:
    threaded = lines["threads"].n_unique() > 1
    columns = [Column("Solver", choose=True)]
    columns += [Column("Set", choose=True)] if by else []
    columns += [Column("Budget", choose=True)]
    columns += [Column("Threads", number=True, choose=True)] if threaded else []
    columns += [
        Column("Mean gap [%]", number=True, meaning="mean primal gap over instances; smaller is better"),
        Column("Mean: 95 %", number=True, meaning="confidence limits of the mean gap"),
        Column("Behind [%]", number=True, meaning="instances with a gap to the best known value"),
        Column("Behind: 95 %", number=True, meaning="confidence limits of that share"),
        Column("Median gap [%]", number=True),
        Column("Median: 95 %", number=True, meaning="confidence limits of the median gap"),
        Column("Integral [%]", number=True, meaning="mean primal gap over the time of the budget"),
        Column("Solved [%]", number=True, meaning="runs with a solution at the end of the budget"),
        Column("Proved [%]", number=True, meaning="runs with a proof"),
        Column("Proved gap [%]", number=True, meaning="mean gap between a run's value and its own bound"),
        Column("Time [s]", number=True, meaning="shifted geometric mean of the time used"),
        Column("Runs", number=True),
        Column("Instances", number=True),
    ]
    bad = [name for name in _BAD if lines[name].sum()]
    columns += [Column(name.capitalize(), number=True, meaning=_BAD[name]) for name in bad]
    rows = []
    for place, line in enumerate(lines.head(LISTED).iter_rows(named=True)):
        row = [words(line["solver"])] + ([words(line[by])] if by else [])
        row.append(Cell(line["budget"], place))
        row += [count(line["threads"])] if threaded else []
        instances = count(line["instances"])
        row += [
            percent(line["gap"], best=line["leads"]), limits(line["gap_low"], line["gap_high"]),
            percent(line["behind_share"]), limits(line["behind_share_low"], line["behind_share_high"]),
            percent(line["gap_median"]), limits(line["gap_median_low"], line["gap_median_high"]),
            percent(line["integral"]), percent(line["solved"]), percent(line["proved"]), percent(line["proved_gap"]),
            number(line["time_shifted"]), count(line["runs"]),
            instances if line["complete"] else instances._replace(text=f"{instances.text} (not all)"),
            *(count(line[name]) for name in bad),
        ]  # fmt: skip
        rows.append(row)
    note = (
        "A star marks the smallest mean gap among the solvers that answered every instance without a failure. Limits "
        f"of a mean take {FEWEST_FOR_MEAN} instances, those of a median {FEWEST_FOR_MEDIAN}."
    )
    if none := [name for name in _BAD if name not in bad]:
        note += f" No run was {' or '.join(none)}." if "failed" in bad else f" No run {' or was '.join(none)}."
    if len(lines) > LISTED:
        note = f"The first {LISTED:,} of {len(lines):,} lines. {note}"
    return Table(caption, columns, rows, note, name)


def _paired(found: list[tuple[tuple[str, int], Pair]], caption: str, name: str, threaded: bool) -> Table:
    columns = [Column("First", choose=True), Column("Second", choose=True), Column("Budget", choose=True)]
    columns += [Column("Threads", number=True, choose=True)] if threaded else []
    columns += [
        Column("Instances", number=True), Column("Wins", number=True), Column("Ties", number=True),
        Column("Losses", number=True),
        Column("Mean difference [points]", number=True, meaning="gap of the first minus gap of the second"),
        Column("Median [points]", number=True, meaning="of the differences"),
        Column("Median: 95 %", number=True, meaning="confidence limits of the median"),
        Column("p", number=True, meaning="Wilcoxon signed-rank test, Holm's correction"),
        Column("The first is", choose=True),
    ]  # fmt: skip
    rows = []
    for place, ((budget, threads), pair) in enumerate(found[:LISTED]):
        row = [words(pair.first), words(pair.second), Cell(budget, place)] + ([count(threads)] if threaded else [])
        p = Cell("–", "") if pair.p_corrected is None else Cell(_p(pair.p_corrected), pair.p_corrected)
        row += [
            count(pair.instances), count(pair.wins), count(pair.ties), count(pair.losses), _points(pair.difference),
            _points(pair.median), _points_limits(pair.median_low, pair.median_high), p, words(pair.verdict),
        ]  # fmt: skip
        rows.append(row)
    tie = f"{100 * TOLERANCE['primal_gap']:g}"
    note = (
        f"Primal gaps, one per instance. A tie is a difference of up to {tie} points; the test needs "
        f"{FEWEST} instances that are not ties."
    )
    if len(found) > LISTED:
        note = f"The first {LISTED:,} of {len(found):,} pairs. {note}"
    return Table(caption, columns, rows, note, name)


def _points(share: float | None) -> Cell:
    if share is None or share != share:
        return Cell("–", "")
    text = f"{100 * share:+.2f}"
    text = "0.00" if text in ("+0.00", "-0.00") else text
    return Cell(text.replace("-", "−"), round(100 * share, 9))


def _points_limits(low: float | None, high: float | None) -> Cell:
    if low is None or high is None:
        return Cell("too few", "")
    return Cell(f"{_points(low).text} to {_points(high).text}", round(100 * low, 9))


def _p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
