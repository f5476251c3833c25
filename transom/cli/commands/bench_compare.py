"""``transom bench compare``: what changed from one store to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transom._system.wording import counted
from transom.cli.commands.bench_score import Library, percent, read_library
from transom.cli.options import common as options
from transom.cli.output.console import print_json, print_table

if TYPE_CHECKING:
    from transom.bench.score.comparison import Comparison

_SHOWN = 40  # runs that came out another way; all of them stand in the JSON


def command(
    before: Annotated[
        Path, typer.Argument(metavar="A", help="Results before: a folder of bench run, or a Parquet file.")
    ],
    after: Annotated[Path, typer.Argument(metavar="B", help="Results after, likewise.")],
    library: Library = None,
    json: options.Json = False,
) -> None:
    """Compare two sets of results: what is faster, slower, better, worse, wrong, proved, failing or missing.

    Runs with the same instance, solver, parameters, budget, seed and threads are compared. Differences in code,
    versions and machine are listed first. Changes that can be chance are not reported: values under a time budget
    are compared by a paired rank test, times only from 10 % on. The exit status is 1 if something became wrong,
    worse or failed. Slower and missing runs leave it at 0.
    """
    from transom.bench.score.comparison import compare
    from transom.bench.store.store import read_results

    found = compare(read_results(before), read_results(after), read_library(library))
    if json:
        print_json(
            {
                **found._asdict(),
                "changes": [change._asdict() for change in found.changes],
                "events": [event._asdict() for event in found.events],
                "regressed": found.regressed,
            }
        )
    else:
        _print(found)
    if found.regressed:
        raise typer.Exit(1)


def _print(found: Comparison) -> None:
    for difference in found.provenance:
        print(f"differs: {difference}")
    print(f"{counted(found.shared, 'run')} in both")
    for word, runs in (("missing", found.missing), ("new", found.added)):
        for line in runs:
            print(f"{word}: {line}")
    print()
    if found.changes:
        _print_changes(found)
    if found.events:
        cells = [
            [
                event.kind,
                event.problem,
                event.solver,
                event.budget,
                event.label,
                str(event.seed),
                event.before,
                event.after,
            ]
            for event in found.events[:_SHOWN]
        ]
        headings = ["change", "problem", "solver", "budget", "instance", "seed", "before", "after"]
        print_table("Runs that came out another way", headings, cells, left=len(headings))
        if (more := len(found.events) - _SHOWN) > 0:
            print(f"and {more} more; --json prints all of them")
    print("worse: see above" if found.regressed else "nothing became wrong, worse or failed")


def _print_changes(found: Comparison) -> None:
    cells = []
    for change in found.changes:
        wide = "" if change.threads == 1 else f", {change.threads} threads"
        integral = "-"
        if change.integral_before is not None:
            integral = f"{percent(change.integral_before, 2)} -> {percent(change.integral_after, 2)}"
        cells.append(
            [
                change.problem, change.budget + wide, change.solver, str(change.instances), str(change.runs),
                f"{percent(change.gap_before, 3)} -> {percent(change.gap_after, 3)}", change.quality, integral,
                "-" if change.time_ratio is None else f"{change.time_ratio:.3f} ({change.timed})", change.speed,
            ]
        )  # fmt: skip
    headings = [
        "problem", "budget", "solver", "instances", "runs", "gap [%]", "quality", "integral [%]", "time ratio", "speed",
    ]  # fmt: skip
    print_table("Solvers, A -> B (time ratio: B over A, in brackets on how many instances)", headings, cells, left=3)
