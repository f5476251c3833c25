"""The test protocol: every method on the months kept for testing, over seeds and jittered copies."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.dras.methods import agents, rules
from benchmarks.dras.rows import JITTER, Row, add_workload, measure_all, workload_of
from benchmarks.dras.tables import main_table, mode_table, seed_table
from benchmarks.dras.trained import trained, write_trained
from transom.cli.output.console import describe, note, print_table, progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    add_workload(parser)
    parser.add_argument("--jitters", type=int, default=10, help="copies with moved submissions")
    parser.add_argument("--agents", type=Path, help="folder with VARIANT/SEED/*.safetensors; the rules alone without")
    parser.add_argument("--only", nargs="+", help="these methods alone, by their names in tables")
    parser.add_argument("--rows", type=Path, required=True, help="where the rows are kept (.csv)")


def run(arguments: argparse.Namespace) -> None:
    """Measure what the file of rows lacks, and print the tables."""
    workload = workload_of(arguments)
    chosen = rules() + (list(agents(arguments.agents)) if arguments.agents else [])
    if arguments.only:
        chosen = [method for method in chosen if method.label in arguments.only]
    for line in describe(workload):
        note(line)
    with progress() as bars:
        task = bars.add_task("replays", total=len(chosen) * arguments.jitters)
        rows = measure_all(workload, chosen, arguments.jitters, arguments.rows, lambda: bars.advance(task))
    if arguments.agents:
        write_trained(arguments.rows.with_name("trained.csv"), trained(workload.name, chosen))
    show(rows, len(workload), arguments.jitters)


def show(rows: Sequence[Row], jobs: int, jitters: int) -> None:
    """Print the tables of all methods, of every seed, and of the modes."""
    titles = (
        f"{rows[0].workload}: {jobs:,} jobs, means over {jitters} copies jittered by {JITTER} s",
        "every seed, mean over the copies",
        "how jobs came to start",
    )
    for title, (columns, cells) in zip(titles, (main_table(rows), seed_table(rows), mode_table(rows)), strict=True):
        if cells:
            print_table(title, columns, cells)
