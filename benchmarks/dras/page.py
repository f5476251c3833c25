"""The tables of docs/results/dras.md, from stored rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.dras.conditions import condition_table, conditions
from benchmarks.dras.curves import curve_table, read_curves
from benchmarks.dras.rows import read_rows
from benchmarks.dras.tables import RESULTS, main_table, markdown, mode_table, seed_table
from benchmarks.dras.trained import read_trained

TRACES = ("theta_2022", "sdsc_sp2")
"""The files of rows there, one for each trace."""

CURVES = ("training_order", "learning_curves")
"""The files of curves there: figure 4 and figure 5."""


def page_tables(folder: Path) -> dict[str, str]:
    """The tables as Markdown, by what they are, of the rows in a folder."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        if path.stem in TRACES:
            rows = read_rows(path)
            for name, table in (("methods", main_table), ("seeds", seed_table), ("modes", mode_table)):
                columns, cells = table(rows)
                if cells:
                    found[f"{path.stem}: {name}"] = markdown(columns, cells)
            if path.stem == TRACES[0]:
                about = [each for each in read_trained(folder / "trained.csv") if each.workload == rows[0].workload]
                found[f"{path.stem}: conditions"] = markdown(*condition_table(conditions(rows, about)))
        if path.stem in CURVES:
            found[f"{path.stem}: curves"] = markdown(*curve_table(read_curves(path)))
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--folder", type=Path, default=RESULTS, help="with the rows")


def run(arguments: argparse.Namespace) -> None:
    """Print the tables, each after a comment with its name."""
    for name, table in page_tables(arguments.folder).items():
        print(f"<!-- {name} -->\n{table}\n")
