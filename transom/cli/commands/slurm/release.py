"""``transom slurm release``: give all jobs of a run back to Slurm."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options import slurm
from transom.cli.output.console import note, print_json, remark


def command(
    audit: Annotated[Path, typer.Argument(metavar="AUDIT", help="The log of `transom slurm run`.")],
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            help="Without the log, or where lines of it are lost: also give back these waiting jobs, as for run. Holds "
            "of this user, begin times and named nodes end, whoever set them. Repeat for alternatives.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Do so even while a run holds the lock, as one that hangs; it may take jobs again."
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Give every job back that a run has under lease, placed, nudged or asked to start, and release what is held and
    selected.

    The second process of the run ends. While the run itself goes on, stop it instead. A full disk, a damaged log and
    a lock that somebody else holds do not stand in the way; a line says what is missing in the log.
    """
    from transom.errors import DocumentError
    from transom.slurm.audit import Audit
    from transom.slurm.giving_back import give_all_back
    from transom.slurm.guardian import dismiss
    from transom.slurm.lock import alone
    from transom.slurm.selector import Selector
    from transom.traces.records.slurm_text.jobs import SlurmJob

    log = Audit(audit, insist=False)
    begin = log.catch_up().begin
    if begin is None and not select:
        why = f"{log.lost}: " if log.lost else ""
        raise DocumentError(f"{audit}: {why}tells of no run; --select gives back without a log")
    ours = Selector(tuple(select)) if select else None
    selector, where, user = None, "", os.getuid()
    if begin is not None and begin.get("mode") == "drive" and begin.get("holds", True):
        try:
            selector, where, user = Selector(tuple(begin["select"])), begin["partition"], begin.get("user", user)
        except (KeyError, TypeError, AttributeError):
            note(f"{audit}: the line with which the run began is damaged: --select releases what is held")

    def takes(job: SlurmJob) -> bool:
        return selector is not None and selector.takes_hold(job, where, user)

    with alone(giving_back=True, force=force) as why:
        if why:
            note(f"{why}; given back without the lock")
        given = give_all_back(log, takes, None if ours is None else ours.takes)
        dismiss(audit)
    slurm.tell_head(log)
    if json:
        print_json({"audit": str(audit), "given_back": given})
    else:
        remark(f"{audit}: {counted(len(given), 'job')} given back to Slurm")
