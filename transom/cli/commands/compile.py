"""``transom compile``: build the compiled functions ahead of time, so that commands start without the compiler."""

from __future__ import annotations

import json as documents
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transom.cli.options import common as options
from transom.cli.output.console import print_json, progress, remark
from transom.errors import SpecError, TransomError


def command(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to write to; the user's cache by default.")
    ] = None,
    processor: Annotated[
        Literal["native", "baseline"], typer.Option("--processor", help="This one, or any of the last fifteen years.")
    ] = "native",
    python: Annotated[
        list[str] | None,
        typer.Option(
            "--python", metavar="NAME", help="Interpreter, for a folder of its own in DIR. Repeat for several."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="Processes side by side; all cores by default.")
    ] = os.cpu_count() or 1,
    json: options.Json = False,
) -> None:
    """Build all compiled functions now, for this machine and this version of Transom.

    Without it, each function is compiled when it is first called, and kept. Built ahead of time they run without the
    compiler, which takes a second to load at each start. It takes some minutes, a compiler of C and C++, the headers
    of Python and the package setuptools. What a wheel holds runs on any machine; what this makes may be faster here.

    With --python other interpreters can use what is built, which takes a second more for each.
    """
    from transom._system.building import BASELINE, BuildError, build, interpreter
    from transom._system.prebuilt import native_folder

    if python and out is None:
        raise SpecError("--python needs --out")
    if not python:
        _check_replaceable(out or native_folder(), ours=out is None)
    if find_spec("setuptools") is None:
        raise TransomError("functions cannot be built here: the package setuptools is missing")
    try:
        if out and python:
            folders = {out / each.tag: each for each in map(interpreter, python)}
        else:
            folders = {out or native_folder(): interpreter(sys.executable)}
    except BuildError as error:
        raise TransomError(f"functions cannot be built here: {error}") from None
    for folder in folders:
        _check_replaceable(folder)
    with progress() as bar:
        listing, building = bar.add_task("listing types of arguments", total=None), bar.add_task("building", total=None)
        functions = _foreseen(lambda done, of: bar.update(listing, completed=done, total=of))
        try:
            build(
                functions,
                folders,
                BASELINE if processor == "baseline" else processor,
                workers,
                lambda done, of: bar.update(building, completed=done, total=of),
            )
        except BuildError as error:
            raise TransomError(f"functions cannot be built here: {error}") from None
    for folder, each in folders.items():
        size = sum(path.stat().st_size for path in folder.iterdir())
        if json:
            print_json(
                {
                    "folder": str(folder),
                    "python": each.tag,
                    "processor": processor,
                    "functions": len(functions),
                    "bytes": size,
                }
            )
        else:
            remark(f"{len(functions)} functions in {folder}, {size / 1e6:,.1f} MB")


def _check_replaceable(folder: Path, ours: bool = False) -> None:
    from transom._system.prebuilt import INDEX
    from transom._system.trusted import distrusted

    if ours and (reason := distrusted(folder)) is not None:
        raise TransomError(f"{folder}: would not be used, because {reason}; set XDG_CACHE_HOME to another folder")
    if folder.exists() and not (folder / INDEX).exists():
        raise TransomError(f"{folder}: holds something else than built functions, and would be replaced")


def _foreseen(progress: Callable[[int, int], None]) -> dict[str, list[Any]]:
    """The functions to build, and for which types of arguments."""
    command = [sys.executable, "-W", "ignore", "-m", "transom.foreseen"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith("{"):
                found: dict[str, list[Any]] = documents.loads(line)
            else:
                done, of = line.split()
                progress(int(done), int(of))
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return found
