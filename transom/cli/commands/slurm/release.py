"""``transom slurm release``: give all jobs of a run back to Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.output.console import note, print_json, remark


def command(
    audit: Annotated[Path, typer.Argument(metavar="AUDIT", help="The log of `transom slurm run`.")],
    json: options.Json = False,
) -> None:
    """Give every job back that a run has under lease, placed, nudged or asked to start, and release what is held and
    selected.

    The second process of the run ends. While the run itself goes on, stop it instead.
    """
    from transom.errors import DocumentError
    from transom.slurm.audit import Audit, read_audit
    from transom.slurm.giving_back import give_all_back
    from transom.slurm.guardian import dismiss
    from transom.slurm.lock import alone
    from transom.slurm.selector import Selector

    begun = [line for line in read_audit(audit) if line["kind"] == "begin"]
    if not begun:
        raise DocumentError(f"{audit}: tells of no run")
    selector, where = Selector(tuple(begun[-1]["select"])), begun[-1]["partition"]
    with alone(giving_back=True) as why:
        if why:
            note(f"{why}; given back without the lock")
        drove = begun[-1]["mode"] == "drive" and begun[-1].get("holds", True)
        given = give_all_back(Audit(audit), lambda job: drove and job.partition == where and selector.takes(job))
        dismiss(audit)
    if json:
        print_json({"audit": str(audit), "given_back": given})
    else:
        remark(f"{audit}: {counted(len(given), 'job')} given back to Slurm")
