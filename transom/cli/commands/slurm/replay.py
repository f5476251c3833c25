"""``transom slurm replay``: decide the windows of an audit log again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom.cli.options import common as options
from transom.cli.output.console import print_json, remark


def command(
    audit: Annotated[Path, typer.Argument(metavar="AUDIT", help="The log of `transom slurm run`.")],
    json: options.Json = False,
) -> None:
    """Decide every window of an audit log again, and compare jobs and nodes with what the log says.

    No Slurm is needed. The exit status is 1 if a decision differs, which only a solver that ran out of time explains.
    """
    from transom.slurm.decisions import decide_again

    found = decide_again(audit)
    if json:
        print_json({"audit": str(audit), **found._asdict()})
    else:
        remark(f"{audit}: {found.decisions} decisions, {len(found.differing)} differ")
    if found.differing:
        raise typer.Exit(1)
