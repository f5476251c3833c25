"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from transom.cli.commands import (
    bench,
    check,
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

app = typer.Typer(
    help="Solve the scheduling windows of HPC clusters, replay traces, compare policies.",
    add_completion=False,
    no_args_is_help=True,
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


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
