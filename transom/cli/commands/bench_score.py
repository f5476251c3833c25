"""``transom bench score``: the comparison of solvers out of stored results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from transom.cli.options import common as options
from transom.cli.options.digits import DURATION
from transom.cli.output.console import check_folder, note, number, print_json, print_table, remark
from transom.cli.output.schedule_tables import TIME, sized

if TYPE_CHECKING:
    import polars as pl

    from transom.bench.score.statistics import Friedman, Pair


By = Literal["problem", "set"]
"""What comparisons are kept apart by."""


Library = Annotated[
    Path | None,
    typer.Option("--library", help="Folder with best known values, as kept by transom library."),
]


def command(
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS", help="Folders of bench run, or Parquet files.")],
    library: Library = None,
    by: Annotated[By, typer.Option("--by", help="Compare solvers by problem, or by set of the plan.")] = "problem",
    budget: Annotated[
        list[float] | None,
        typer.Option("--budget", metavar=DURATION, help="Only runs with this time budget. Repeat for several."),
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Also compare every two solvers, with tests of significance.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print one short table in Markdown.")] = False,
    aslib: Annotated[
        Path | None,
        typer.Option("--aslib", help="Also write a scenario of ASlib for each problem and budget to this folder."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare solvers by the results of bench run: gaps, integrals, proofs, times, with 95 % limits.

    One table for each problem (or set), budget and number of threads, and below it confidence limits for instances
    from the same population. A star marks the best of a column among solvers that ran on all instances.
    Values are compared with the best known: of all runs, and of a library. Window sequences have separate
    tables, one for each trace. docs/benchmarking.md defines the figures.
    """
    import polars as pl

    from transom.bench.score.diagnostics import diagnostics
    from transom.bench.score.replays import replay_summaries
    from transom.bench.score.score import references, scored
    from transom.bench.score.summaries import summaries
    from transom.bench.store.merge import merge_results
    from transom.errors import DocumentError, SpecError

    if markdown:
        options.refuse({"--json": json or None, "--pairs": pairs or None}, "--markdown")
    rows = merge_results(results)
    if not len(rows):
        raise DocumentError(f"{results[0]}: there is no run in it yet")
    known = references(rows, read_library(library))
    table = scored(rows, known)
    if budget:
        there = sorted(table["budget_seconds"].drop_nulls().unique().to_list())
        for seconds in budget:
            if seconds not in there:
                listed = ", ".join(f"{each:g}" for each in there) or "none"
                raise SpecError(f"--budget: no run has {seconds:g} s; there are: {listed}")
        table = table.filter(pl.col("budget_seconds").is_in(budget))
    if markdown and not len(table):
        raise DocumentError(f"{results[0]}: --markdown is a table of solves; there are replays alone")
    if aslib is not None:
        _write_aslib(table, aslib)
    summed, replayed = summaries(table, by), replay_summaries(rows)
    findings = diagnostics(table, by) if len(table) else []
    tests = _tested(table, by) if pairs else []
    if json:
        print_json(
            {
                "comparisons": summed.to_dicts(),
                "tests": [
                    {
                        **where,
                        "measure": name,
                        "pairs": [pair._asdict() for pair in found],
                        "friedman": together._asdict(),
                    }
                    for where, name, found, together in tests
                ],
                "sequences": replayed.to_dicts(),
                "remarks": findings,
            }
        )
    elif markdown:
        _print_markdown(summed, by, findings)
    else:
        _print_summaries(summed, by)
        _print_tests(tests)
        _print_replays(replayed)
        _print_remarks(table, findings)


def _write_aslib(table: pl.DataFrame, folder: Path) -> None:
    from transom.bench.score.aslib import write_scenarios
    from transom.errors import SpecError

    check_folder(folder)
    written = write_scenarios(table, folder)
    if not written:
        raise SpecError("--aslib: no run has a budget in seconds")
    for path in written:
        note(f"scenario: {path}")


def read_library(folder: Path | None) -> Any:
    """The library in a folder, None without one."""
    if folder is None:
        return None
    from transom.bench.best_known.library import read_library

    return read_library(folder)


def percent(share: float | None, digits: int) -> str:
    """A share for a table [%]."""
    if share is None:
        return "-"
    text = number(100 * share, digits)
    return text.lstrip("-") if not text.strip("-0.") else text  # what rounds to nothing has no sign


_COLUMNS = {  # heading: column, digits, whether more is better (None: not marked)
    "solved [%]": ("solved", 1, True),
    "proved [%]": ("proved", 1, True),
    "gap [%]": ("gap", 3, False),
    "median [%]": ("gap_median", 3, False),
    "integral [%]": ("integral", 2, False),
    "proved gap [%]": ("proved_gap", 3, False),
}

_TIMES = {"to 1 % [s]": "to_1_shifted", "time [s]": "time_shifted"}


def _print_summaries(summed: pl.DataFrame, by: str) -> None:
    for (what, budget, threads), rows in summed.group_by(by, "budget", "threads", maintain_order=True):
        best = {
            column: _best(rows.filter("complete")[column].drop_nulls().to_list(), more, digits)
            for column, digits, more in _COLUMNS.values()
        }
        shown = {heading: each for heading, each in _COLUMNS.items() if rows[each[0]].count()}
        times = {heading: each for heading, each in _TIMES.items() if rows[each].count()}
        cells = []
        for row in rows.iter_rows(named=True):
            line = [row["solver"], str(row["runs"]), str(row["failed"] + row["refused"])]
            for column, digits, _ in shown.values():
                cell = percent(row[column], digits)
                line.append(cell + ("*" if row["complete"] and cell == best[column] else " "))
            line += [_seconds(row[column]) for column in times.values()]
            cells.append(line)
        instances = _count(max(rows["instances"]), "instance")
        title = _title(what, budget, threads)
        print_table(f"{title}: {instances}", ["solver", "runs", "not ok", *shown, *times], cells)
        _print_limits(f"{title}: 95 % limits over instances drawn like these", rows)


_LIMITED = {  # heading: column, digits
    "behind [%]": ("behind_share", 1),
    "median gap [%]": ("gap_median", 3),
    "mean gap [%]": ("gap", 3),
    "median integral [%]": ("integral_median", 2),
}


def _print_limits(title: str, rows: pl.DataFrame) -> None:
    """Figures of a comparison that limits can be stated for, each with its limits."""
    shown = {heading: each for heading, each in _LIMITED.items() if rows[each[0]].count()}
    cells = []
    for row in rows.iter_rows(named=True):
        line = [row["solver"], f"{row['behind']} of {row['instances']}"]
        for column, digits in shown.values():
            line += [percent(row[column], digits), _limits(row[f"{column}_low"], row[f"{column}_high"], digits)]
        cells.append(line)
    headings = [each for heading in shown for each in (heading, "95 %")]
    print_table(title, ["solver", "behind", *headings], cells)


def _title(what: Any, budget: Any, threads: Any) -> str:
    return f"{what}, {budget}" + ("" if threads == 1 else f", {threads} threads")


def _best(values: list[float], more: bool, digits: int) -> str | None:
    """The best figure of a column as it is printed; None where all are the same."""
    if len({percent(value, digits) for value in values}) < 2:
        return None
    return percent(max(values) if more else min(values), digits)


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.3g}"


def _limits(low: float | None, high: float | None, digits: int) -> str:
    return "too few" if low is None else f"{percent(low, digits)} to {percent(high, digits)}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count:,} {what}s"


_MEASURES = {"primal_gap": "gap", "primal_integral": "integral"}


def _tested(table: pl.DataFrame, by: Any) -> list[tuple[dict[str, Any], str, list[Pair], Friedman]]:
    """Pairs and the test of all, for each comparison and measure."""
    from transom.bench.score.statistics import TOLERANCE, friedman, pairs
    from transom.bench.score.summaries import figures

    return [
        (where, name, pairs(each, TOLERANCE[measure]), friedman(each, TOLERANCE[measure]))
        for measure, name in _MEASURES.items()
        for where, each in figures(table, measure, by)
        if len(each) > 1
    ]


def _print_tests(tests: list[tuple[dict[str, Any], str, list[Pair], Friedman]]) -> None:
    headings = ["solver", "against", "instances", "wins", "ties", "losses", "mean difference [points]"]
    headings += ["median [points]", "95 %", "p (Holm)"]
    for where, measure, found, together in tests:
        cells = [
            [
                pair.first, pair.second, str(pair.instances), str(pair.wins), str(pair.ties), str(pair.losses),
                percent(pair.difference, 3), percent(pair.median, 3), _limits(pair.median_low, pair.median_high, 3),
                "-" if pair.p_corrected is None else f"{pair.p_corrected:.2g}", pair.verdict,
            ]
            for pair in found
        ]  # fmt: skip
        print_table(f"{_title(*where.values())}: {measure}, every two solvers", [*headings, "verdict"], cells, left=2)
        ranks = ", ".join(f"{solver} {rank:.2f}" for solver, rank in sorted(together.ranks.items(), key=lambda i: i[1]))
        said = f"p = {together.p:.2g}" if together.p is not None else f"no test: {together.why}"
        over = "" if together.p is None else f", on {_count(together.instances, 'instance')}"
        print(f"Friedman over all{over}: {said}" + (f"; mean ranks: {ranks}" if ranks else ""), end="\n\n")


_METRICS = {  # heading: metric, unit, digits
    "mean wait": ("mean_wait", TIME, 2),
    "p95 wait": ("p95_wait", TIME, 2),
    "mean bounded slowdown": ("mean_bounded_slowdown", 1, 2),
    "utilisation [%]": ("utilisation", 0.01, 1),
}


def _print_replays(replayed: pl.DataFrame) -> None:
    import polars as pl

    from transom.simulation.policies.clocks import clock_remarks

    for (name, instance), rows in replayed.group_by("set", "instance", maintain_order=True):
        columns = dict(
            sized(heading, *each, rows.filter(pl.col("metric") == each[0])["mean"])
            for heading, each in _METRICS.items()
        )
        cells = []
        for (policy,), measured in rows.group_by("policy", maintain_order=True):
            line = [str(policy), str(measured["runs"][0]), str(measured["failed"][0])]
            for metric, unit, digits in columns.values():
                found = measured.filter(pl.col("metric") == metric)
                line.append("-" if not len(found) else _replayed(found.row(0, named=True), unit, digits))
            cells.append(line)
        title = f"{name}: a sequence of windows ({str(instance)[:8]}); means over seeds (from the least to the largest)"
        print_table(title, ["policy", "runs", "failed", *columns], cells)
        for text in clock_remarks(rows.select("policy", "clock").unique(maintain_order=True).iter_rows()):
            remark(text)


def _replayed(row: dict[str, Any], unit: float, digits: int) -> str:
    mean = number(row["mean"] / unit, digits)
    if row["least"] == row["most"]:
        return mean
    return f"{mean} ({number(row['least'] / unit, digits)} to {number(row['most'] / unit, digits)})"


def _print_remarks(table: pl.DataFrame, findings: list[str]) -> None:
    from textwrap import fill

    from transom.bench.score.diagnostics import CONVENTIONS

    if findings:
        print("\n".join(findings), end="\n\n")
    if len(table):
        remark(fill(f"{CONVENTIONS} {_known(table)}", 120))


def _known(table: pl.DataFrame) -> str:
    """How much of what is compared with is proved."""
    instances = table.unique("instance")
    known = len(instances) - instances["reference"].null_count()
    said = f"Of {known} best known values {int(instances['reference_proved'].sum())} are proved."
    without = int(instances["reference_infeasible"].sum())
    return said + (f" Of {_count(without, 'instance')} it is proved that there is no solution." if without else "")


def _print_markdown(summed: pl.DataFrame, by: str, findings: list[str]) -> None:
    """One table: a line per problem or set and solver, a column per budget."""
    from textwrap import fill

    from transom.bench.score.diagnostics import CONVENTIONS_OF_GAPS

    several = summed["threads"].n_unique() > 1
    columns: dict[tuple[str, int], str] = {}
    lines: dict[tuple[str, str], dict[tuple[str, int], str]] = {}
    instances: dict[str, int] = {}
    for row in summed.iter_rows(named=True):
        column = (row["budget"], row["threads"])
        columns[column] = row["budget"] + (f", {_count(row['threads'], 'thread')}" if several else "")
        cell = percent(row["gap"], 2)
        cell = f"**{cell}**" if row["best"] else cell
        lines.setdefault((row[by], row["solver"]), {})[column] = f"{cell} ({percent(row['proved'], 0)})"
        instances[row[by]] = max(instances.get(row[by], 0), row["instances"])
    print(f"| {by} | solver | {' | '.join(columns.values())} |")
    print(f"|---|---|{'---:|' * len(columns)}")
    for (what, solver), cells in lines.items():
        shown = " | ".join(cells.get(column, "") for column in columns)
        print(f"| {what} ({instances[what]}) | `{solver}` | {shown} |")
    print()
    text = f"Mean gap in %, in brackets the share of proved optima in %; behind a {by} its instances."
    text = f"{text} {CONVENTIONS_OF_GAPS}"
    print(fill(text, 120))
    for each in findings:
        print(f"- {each}")
