"""``transom compile``: build the compiled functions ahead of time, so that commands start without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from json import loads
from pathlib import Path
from typing import Annotated

import typer

from transom.cli.output.console import note, progress


def command(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to write to; the user's cache by default.")
    ] = None,
    processor: Annotated[
        str,
        typer.Option(
            "--processor", metavar="NAME", help="native, baseline (any of the last fifteen years), or a name of LLVM's."
        ),
    ] = "native",
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="Processes side by side; all cores by default.")
    ] = os.cpu_count() or 1,
) -> None:
    """Build all compiled functions now, for this machine and this version of Transom.

    Without it, each function is compiled when it is first called, and kept. Built ahead of time they run without the
    compiler, which takes a second to load at each start. It takes some minutes, a C compiler and the headers of
    Python. What a wheel holds runs on any machine; what this makes may be faster here.
    """
    from transom._system.building import BASELINE, BuildError, build
    from transom._system.prebuilt import native_folder
    from transom.errors import TransomError

    folder = out or native_folder()
    note("listing the functions and the types of their arguments")
    seen = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "transom.foreseen"], stdout=subprocess.PIPE, check=True
    )
    functions = loads(seen.stdout)
    with progress() as bar:
        task = bar.add_task("building", total=None)
        try:
            build(
                functions,
                folder,
                BASELINE if processor == "baseline" else processor,
                workers,
                lambda done, of: bar.update(task, completed=done, total=of),
            )
        except BuildError as error:
            raise TransomError(f"functions cannot be built here: {error}") from None
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    note(f"{len(functions)} functions in {folder}, {size:,.1f} MB")
