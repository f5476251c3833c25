"""Tables III and IV of Lan et al. (2023) on epochs of our own, with exact solvers beside them.

    python -m benchmarks.nsa_tables --stored                       # print what was measured
    python -m benchmarks.nsa_tables --table out/tables.csv         # measure; goes on where it was interrupted
    python -m benchmarks.nsa_tables --windows FILE --table out/file.csv --no-scip

"Cost" is the paper's: the sum over the windows of an epoch divided by its 100 periods, so that a period without a
window counts as 0. Tree, window rule and costs are those of the authors' public code, wrap-around on, one thread. As
coded (``walk``), annealing goes on from rejected moves, takes a first node among the first 100 idle ones, and counts
states that no order of placing jobs reaches; "reachable" leaves those out. NSA is the same search with the learned
repair. Times are processor time of the call with everything in it, the network included; those of SCIP are the
clock's. "SA, equal time" has as many steps as SA takes in the time of NSA-500, counted from the times in the table.
SCIP solves the paper's model with the authors' binaries that cancel a job, on every n-th window; "not solved" are
windows that have no answer when the time is out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.nsa_epochs import (
    Method,
    Row,
    Table,
    arguments,
    between,
    complete,
    costs,
    mean_of,
    paired,
    run_command,
    setting_of,
    show,
    unequal,
)
from transom.cli.output.console import number

AS_CODED = "acceptance=walk,first=100,order=window"
LEARNED = "acceptance=walk,order=window"
PAPER = (
    Method("Seq.", "static", "sequential"),
    Method("SA-500", "free", f"sa:steps=500,{AS_CODED}"),
    Method("SA-1000", "free", f"sa:steps=1000,{AS_CODED}"),
    Method("NSA-500", "free", f"nsa:steps=500,{LEARNED}"),
)
EQUAL_TIME = "SA, equal time"
RULES = (
    Method("SA-500, reachable", "dynamic", f"sa:steps=500,{AS_CODED}"),
    Method("SA-1000, reachable", "dynamic", f"sa:steps=1000,{AS_CODED}"),
    Method("NSA-500, reachable", "dynamic", f"nsa:steps=500,{LEARNED}"),
    Method("NSA-500, largest job first", "free", "nsa:steps=500,acceptance=walk"),
    Method("SA-500, Metropolis, first 100", "dynamic", "sa:steps=500,first=100"),
    Method("SA-1000, Metropolis, first 100", "dynamic", "sa:steps=1000,first=100"),
    Method("NSA-500, Metropolis", "dynamic", "nsa:steps=500"),
    Method("SA-500, Metropolis", "dynamic", "sa:steps=500"),
    Method("SA-1000, Metropolis", "dynamic", "sa:steps=1000"),
    Method("SA-500, cheapest start", "dynamic", "sa:steps=500,repair=cheapest"),
    Method("nsa-cost-500", "dynamic", "nsa-cost:steps=500"),
)
EXACT = (
    Method("scas-dp", "static", "scas-dp", 30.0),
    Method("dp-polish", "dynamic", "dp-polish"),
    Method("dcas-exact", "dynamic", "dcas-exact", 30.0),
    Method("free-exact", "free", "free-exact", 30.0),
)


def scip(every: int) -> tuple[Method, ...]:
    """SCIP on the paper's model, and what is compared with it on the same windows."""
    model = "scas-scip:cancel=yes"
    return (
        Method("SCIP, 30 s", "static", model, 30.0, every, native=True),
        Method("SCIP, no limit", "static", model, None, every, native=True),
        Method("scas-dp beside SCIP", "static", "scas-dp", None, every),
        Method("NSA-500 beside SCIP", "free", f"nsa:steps=500,{LEARNED}", None, every),
    )


def equal_time(table: Table) -> Method:
    """SA with as many steps as take the time of NSA-500, counted from the times in the table.

    What the table has is kept while its time is within a tenth of that.
    """
    stored = table.of(EQUAL_TIME)
    known = stored or table.of("SA-1000")
    factor = mean_of(table.of("NSA-500"), lambda row: row.mean) / mean_of(known, lambda row: row.mean)
    if stored and abs(factor - 1) <= 0.1:
        return Method(EQUAL_TIME, "free", stored[0].spec)
    steps = factor * _steps(known[0])
    unit = 10 ** max(0, len(str(int(steps))) - 2)
    return Method(EQUAL_TIME, "free", f"sa:steps={max(1, round(steps / unit)) * unit},{AS_CODED}")


def _steps(row: Row) -> int:
    return int(row.spec.partition("steps=")[2].partition(",")[0])


def improvement(worse: Sequence[Row], better: Sequence[Row]) -> np.ndarray:
    """By how much the second costs less than the first, of the first, in each epoch [%]."""
    worse, better = paired(worse, better)
    return 100 * (1 - costs(better) / costs(worse))


def print_annealing(table: Table, markdown: bool) -> None:
    """Table III: a line for each epoch, costs, times, and how much less NSA-500 costs."""
    titles = [method.title for method in PAPER] + [EQUAL_TIME]
    rows = {title: table.of(title) for title in titles}
    if not all(rows.values()):
        return
    rivals = ("SA-1000", "SA-500", EQUAL_TIME)
    gains = {title: improvement(rows[title], rows["NSA-500"]) for title in rivals}
    columns = ["epoch", "Seq."]
    for title in titles[1:]:
        columns += [title, "ms"]
    columns += [f"NSA-500 against {title} [%]" for title in rivals]
    lines = []
    for at, first in enumerate(rows["Seq."]):
        line = [str(first.epoch), number(costs(rows["Seq."])[at], 0)]
        for title in titles[1:]:
            line += [number(costs(rows[title])[at], 0), number(rows[title][at].mean, 2)]
        lines.append(line + [number(gains[title][at]) for title in rivals])
    last = ["mean", number(costs(rows["Seq."]).mean(), 0)]
    for title in titles[1:]:
        last += [number(costs(rows[title]).mean(), 0), number(mean_of(rows[title], lambda row: row.mean))]
    lines.append(last + [number(gains[title].mean()) for title in rivals])
    show("Table III: annealing as coded", columns, lines, markdown)
    for title in rivals:
        lower = int((gains[title] > 0).sum())
        steps = f" ({_steps(rows[title][0]):,} steps)" if title == EQUAL_TIME else ""
        print(
            f"NSA-500 costs less than {title}{steps} in {lower} of {len(lines) - 1} epochs; "
            f"in the mean {between(gains[title])} % less."
        )
    print()


def print_rules(table: Table, markdown: bool) -> None:
    """All methods under all rules, beside the optima."""
    lines = []
    for method in (*PAPER, *RULES, *EXACT):
        rows = table.of(method.title)
        if not rows:
            continue
        gaps = [100 * mean_of(rows, lambda row: row.static_gap), 100 * mean_of(rows, lambda row: row.dynamic_gap)]
        share = 100 * sum(row.proved for row in rows) / sum(row.windows for row in rows)
        times = [number(mean_of(rows, lambda row: row.mean), 3), number(max(row.p99 for row in rows), 2)]
        cells = [number(costs(rows).mean(), 0), *(f"{gap:+.2f}" for gap in gaps), *times, number(share, 0)]
        lines.append([method.title, method.rule, *cells])
    columns = ["method", "counted under", "cost", "to SCAS optimum [%]", "to DCAS optimum [%]"]
    show("The same windows under other rules", [*columns, "ms", "99 % [ms]", "proved [%]"], lines, markdown)


def print_scip(table: Table, every: int, markdown: bool) -> None:
    """Table IV: the paper's model in SCIP on some windows, cost as the mean of a window that was solved."""
    lines = []
    for method in scip(every):
        rows = table.of(method.title)
        if not rows:
            continue
        windows, jobs = sum(row.windows for row in rows), sum(row.jobs for row in rows)
        unsolved = sum(row.unsolved for row in rows)
        answered = [row for row in rows if row.windows > row.unsolved]
        solved = [row.windows - row.unsolved for row in answered]
        gap = np.average([row.static_gap for row in answered], weights=solved) if answered else float("nan")
        lines.append(
            [
                method.title.removesuffix(" beside SCIP"),
                number(sum(row.total for row in rows) / max(sum(solved), 1), 0),
                number(100 * float(gap)),
                number(mean_of(rows, lambda row: row.mean) / 1000, 5),
                f"{unsolved} of {windows}",
                number(100 * sum(row.cancelled for row in rows) / jobs, 1),
                f"{sum(row.proved for row in rows)} of {windows}",
            ]
        )
    columns = ["method", "cost", "to SCAS optimum [%]", "seconds", "not solved", "cancelled jobs [%]", "proved"]
    show(f"Table IV: every {every}th window", columns, lines, markdown)


def main(words: Sequence[str] | None = None) -> int:
    """Measure what is missing, print the tables."""
    parser = arguments(__doc__, "tables")
    parser.add_argument("--windows", type=Path, help="a file of windows with epochs, instead of generated ones")
    parser.add_argument("--scip-every", type=int, default=30)
    parser.add_argument("--no-scip", action="store_true")
    return run_command(parser, run, words)


def run(options: argparse.Namespace) -> None:
    """Do what the command line says."""
    table = Table(options.table)
    solved_by_scip = () if options.no_scip else scip(options.scip_every)
    if not options.stored:
        setting = setting_of(options)
        complete(table, setting, (*PAPER, *RULES, *EXACT), options.windows)
        for _ in range(3):  # times are only about in proportion to steps
            complete(table, setting, (equal_time(table),), options.windows)
        complete(table, setting, solved_by_scip, options.windows)
    if note := unequal(table):
        print(f"{note}\n")
    print_annealing(table, options.markdown)
    print_rules(table, options.markdown)
    if not options.no_scip:
        print_scip(table, options.scip_every, options.markdown)


if __name__ == "__main__":
    raise SystemExit(main())
