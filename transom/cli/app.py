"""The commands, put together."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from transom.cli.commands import (
    bench,
    check,
    demo,
    generate,
    library,
    models,
    report,
    schema,
    simulate,
    snapshot,
    solve,
    solvers,
    train,
)
from transom.cli.output.console import print_wide
from transom.cli.output.help import explain

app = typer.Typer(
    help="Solve the scheduling windows of HPC clusters, replay traces, compare policies.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from transom import __version__

        print(f"transom {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    wide: Annotated[bool, typer.Option("--wide", help="Print tables as wide as they are, on a terminal, too.")] = False,
) -> None:
    print_wide(wide)


app.command("demo")(demo.command)
app.command("simulate")(simulate.command)
app.command("solve")(solve.command)
app.command("check")(check.command)
app.command("snapshot")(snapshot.command)
app.add_typer(generate.app, name="generate")
app.add_typer(bench.app, name="bench")
app.add_typer(library.app, name="library")
app.add_typer(train.app, name="train")
app.command("report")(report.command)
app.command("solvers")(solvers.command)
app.command("models")(models.command)
app.command("schema")(schema.command)


def command_line() -> Any:
    """The whole of it, to be called with a list of arguments."""
    return explain(get_command(app))
