"""Figure 6: the methods of the paper on five metrics at once, means over seeds and jittered copies of stored rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.dras.methods import PAPER
from benchmarks.dras.rows import read_rows
from benchmarks.dras.tables import RESULTS, estimate
from transom.cli.output.console import print_table
from transom.errors import DocumentError
from transom.plot import kiviat_of, save
from transom.plot.kiviat import SPOKES, scales


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--rows", type=Path, default=RESULTS / "theta_2022.csv")
    parser.add_argument("--out", type=Path, default=Path("out/dras/kiviat.png"), help="the figure")


def run(arguments: argparse.Namespace) -> None:
    """Draw the graph and print what it shows."""
    rows = read_rows(arguments.rows)
    here = {row.label for row in rows}
    means = {label: {name: estimate(rows, label, name).mean for name in SPOKES} for label in PAPER if label in here}
    if not means:
        raise DocumentError(f"{arguments.rows}: holds none of {', '.join(PAPER)}")
    of = scales(list(means.values()), SPOKES)
    cells = [
        [label, *(f"{mean[name] / scale.unit:,.2f}" for name, scale in zip(SPOKES, of, strict=True))]
        for label, mean in means.items()
    ]
    print_table(rows[0].workload, ["method", *(scale.quantity for scale in of)], cells)
    print(f"figure: {save(kiviat_of(means), arguments.out)}")
