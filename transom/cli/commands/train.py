"""``transom train``: train a learned component, with progress, checkpoints and resumption."""

from __future__ import annotations

import typer

from transom.cli.commands import train_dras, train_nsa, train_nsa_cost
from transom.cli.options.training import with_old

app = typer.Typer(
    help="Train a learned component; an interrupted training goes on where it stopped.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("nsa", cls=with_old({"--steps": "--decisions", "--every": "--save-every"}))(train_nsa.command)
app.command("nsa-cost", cls=with_old({"--steps": "--search-steps", "--every": "--save-every"}))(train_nsa_cost.command)
app.command("dras", cls=with_old({"--every": "--validate-every"}))(train_dras.command)
