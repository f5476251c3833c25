"""``transom compile``: build the compiled functions ahead of time, so that commands start without the compiler."""

from __future__ import annotations

import json as documents
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from transom.cli.options import common as options
from transom.cli.output.console import note, print_json, progress, remark


def command(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to write to; the user's cache by default.")
    ] = None,
    processor: Annotated[
        Literal["native", "baseline"], typer.Option("--processor", help="This one, or any of the last fifteen years.")
    ] = "native",
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="Processes side by side; all cores by default.")
    ] = os.cpu_count() or 1,
    json: options.Json = False,
) -> None:
    """Build all compiled functions now, for this machine and this version of Transom.

    Without it, each function is compiled when it is first called, and kept. Built ahead of time they run without the
    compiler, which takes a second to load at each start. It takes some minutes, a C compiler and the headers of
    Python. What a wheel holds runs on any machine; what this makes may be faster here.
    """
    from transom._system.building import BASELINE, BuildError, build
    from transom._system.prebuilt import INDEX, native_folder
    from transom._system.trusted import distrusted
    from transom.errors import TransomError

    folder = out or native_folder()
    if out is None and (reason := distrusted(folder)) is not None:
        raise TransomError(f"{folder}: would not be used, because {reason}; set XDG_CACHE_HOME to another folder")
    if folder.exists() and not (folder / INDEX).exists():
        raise TransomError(f"{folder}: holds something else than built functions, and would be replaced")
    note("listing the functions and the types of their arguments")
    seen = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "transom.foreseen"], stdout=subprocess.PIPE, check=True
    )
    functions = documents.loads(seen.stdout)
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
    size = sum(path.stat().st_size for path in folder.iterdir())
    if json:
        print_json({"folder": str(folder), "processor": processor, "functions": len(functions), "bytes": size})
    else:
        remark(f"{len(functions)} functions in {folder}, {size / 1e6:,.1f} MB")
