"""Options of every command: how much is said beside its results, and how wide tables are."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from transom.cli.output.console import display


def _ask(option: typer.CallbackParam, asked: bool) -> None:
    from transom.errors import SpecError

    if asked:
        setattr(display, str(option.name), True)
    if display.quiet and display.verbose:
        raise SpecError("--quiet does not go with --verbose")


def _options(
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            callback=_ask,
            expose_value=False,
            help="Print results and errors only: no notes, progress or remarks.",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            callback=_ask,
            expose_value=False,
            help="Also print which steps are taken, how long they take, and where compiled kernels are kept.",
        ),
    ] = False,
    wide: Annotated[
        bool,
        typer.Option(
            "--wide", callback=_ask, expose_value=False, help="Do not split tables that are wider than the terminal."
        ),
    ] = False,
) -> None:
    pass


def with_output_options(command: Any) -> Any:
    """A command, and those below it, with these options behind its own."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(_options)
    _add(command, get_command(app).params)
    return command


def _add(command: Any, shared: list[Any]) -> None:
    command.params = [*command.params, *shared]
    for below in getattr(command, "commands", {}).values():
        _add(below, shared)
