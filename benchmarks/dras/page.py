"""The tables of docs/dras.md, from stored rows."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks.dras.conditions import condition_table, conditions
from benchmarks.dras.curves import curve_table, read_curves
from benchmarks.dras.rows import read_rows
from benchmarks.dras.tables import RESULTS, main_table, markdown, mode_table, seed_table
from benchmarks.dras.trained import read_trained
from transom._system.files import atomic_write
from transom.errors import DocumentError

TRACES = ("theta_2022", "sdsc_sp2")
"""The files of rows there, one for each trace."""

CURVES = ("training_order", "learning_curves")
"""The files of curves there: figure 4 and figure 5."""


def page_tables(folder: Path) -> dict[str, str]:
    """The tables of docs/dras.md as Markdown, by what they are, of the rows in a folder."""
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


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """A page whose tables are replaced: each stands after a comment with its name, up to an empty line.

    Raises
    ------
    DocumentError : the page has no place for a table.
    """
    for name, table in tables.items():
        place = re.compile(rf"(<!-- {re.escape(name)} -->\n)(?:\|.*\n)*")
        if not place.search(page):
            raise DocumentError(f"the page has no line <!-- {name} -->")
        page = place.sub(lambda match: f"{match[1]}{table}\n", page)  # noqa: B023  (used at once)
    return page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--folder", type=Path, default=RESULTS, help="with the rows")
    parser.add_argument("--page", type=Path, help="replace the tables of this page instead of printing them")


def run(arguments: argparse.Namespace) -> None:
    """Print the tables of the page, or write them into it."""
    tables = page_tables(arguments.folder)
    if arguments.page:
        page = with_tables(arguments.page.read_text(encoding="utf-8"), tables)
        with atomic_write(arguments.page) as file:
            file.write(page)
        return
    for name, table in tables.items():
        print(f"<!-- {name} -->\n{table}\n")
