"""``transom bench``: solvers compared within a time budget. The commands stand in modules of their own."""

from __future__ import annotations

import typer

from transom.cli.commands import bench_compare, bench_plan, bench_portfolio, bench_run, bench_score

app = typer.Typer(
    help="Compare solvers on the same instances within the same time, and policies on the same traces.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("run")(bench_run.command)
app.command("plan")(bench_plan.command)
app.command("score")(bench_score.command)
app.command("compare")(bench_compare.command)
app.command("portfolio")(bench_portfolio.command)
