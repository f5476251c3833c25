"""``transom slurm replay``: check an audit log, and decide its windows again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.output.console import print_json, remark

_SHOWN = 10  # numbers of lines


def command(
    audit: Annotated[Path, typer.Argument(metavar="AUDIT", help="The log of `transom slurm run`.")],
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="DIGEST", help="A head of the log that `transom slurm run` printed."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Run files of policies and solvers (./mine.py:Class) that the log names.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Check that no line of an audit log was removed, altered, added or moved, decide every window again, and compare
    jobs and nodes with what the log says.

    A log that was cut, or rewritten as a whole, can only be told with --head: the log must still have the line whose
    digest that is. No Slurm is needed. The exit status is 1 if lines are not as they were written, if the head is
    missing, or if a decision differs, which only a solver that ran out of time explains.
    """
    from transom.errors import DocumentError, SpecError
    from transom.slurm.decisions import decide_again
    from transom.slurm.log.chain import check_chain

    if head is not None and not head.strip():
        raise SpecError("--head: expected the digest that `transom slurm run` printed")
    chain, told = check_chain(audit, head.strip().lower() if head else ""), list[str]()
    if chain.broken:
        which = ", ".join(map(str, chain.broken[:_SHOWN])) + (", ..." if len(chain.broken) > _SHOWN else "")
        told.append(f"{counted(len(chain.broken), 'line')} altered, added, moved, or after a removed one: line {which}")
    if chain.at is None:
        told.append("the head is missing: lines were removed from the end, or the log was rewritten")
    elif chain.at:
        told.append(f"the head is that of line {chain.at}; {counted(chain.lines - chain.at, 'line')} after it")
    if chain.unchained:
        told.append(f"{counted(chain.unchained, 'line')} of an earlier version without a digest, not checked")
    if chain.cut:
        told.append("the last line is not whole")
    bad, decisions, differing = bool(chain.broken) or chain.at is None, None, list[str]()
    try:
        decisions, differing = decide_again(audit, trust)
    except DocumentError as error:
        if not bad:
            raise
        told.append(f"decisions were not made again: {error}")
    if json:
        document = {"audit": str(audit), "decisions": decisions, "differing": differing, **chain._asdict()}
        print_json({**document, "at": chain.at or None})
    else:
        decided = "" if decisions is None else f"{counted(decisions, 'decision')}, {len(differing)} differ; "
        remark(f"{audit}: {decided}{counted(chain.lines, 'line')}, head {chain.head or 'none'}")
        for line in told:
            remark(f"{audit}: {line}")
    if bad or differing:
        raise typer.Exit(1)
