"""A parameter of a command that is a struct stands for its fields, in its place, and comes back whole."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer
from typer.testing import CliRunner

from transom.cli.options.structs import with_structs


class Size(NamedTuple):
    width: Annotated[int, typer.Option("--width", min=1)] = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None


def run(*words: str) -> tuple[int, str]:
    app = typer.Typer()

    @app.command()
    @with_structs
    def command(
        first: Annotated[str, typer.Argument()], *, size: Size, last: Annotated[bool, typer.Option("--last")] = False
    ) -> None:
        print(first, size, last)

    ran = CliRunner().invoke(app, words)
    return ran.exit_code, ran.output


def test_fields_are_options() -> None:
    assert run("a") == (0, "a Size(width=3, names=None) False\n")
    assert run("a", "--name", "x", "--name", "y", "--width", "7", "--last") == (
        0,
        "a Size(width=7, names=['x', 'y']) True\n",
    )
    status, told = run("a", "--width", "0")
    assert status == 2
    assert "greater than or equal to 1" in told


def test_they_stand_where_the_struct_stood() -> None:
    _, told = run("--help")
    assert told.index("--width") < told.index("--name") < told.index("--last")
