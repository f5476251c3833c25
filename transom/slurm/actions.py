"""What is done to jobs of a Slurm: leased, started, given nodes, given back. Times are absolute, on Slurm's clock.

A lease is a begin time in the future: a job that is released with one waits, and Slurm itself starts it when the time
has come and nobody has moved it on. A job that has a lease is never held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from transom.slurm.audit import Audit
from transom.slurm.commands import run_slurm

_TOGETHER = 200  # jobs of one command


def of_all(act: Callable[[list[str]], bool], names: Sequence[str]) -> list[str]:
    """The jobs of which an action was done: of all together, else of one after the other, as one may be foreign."""
    if not names or act(list(names)):
        return list(names)
    return [name for name in names if len(names) > 1 and act([name])]


def adopt(audit: Audit, names: Sequence[str], until: int) -> bool:
    """Turn holds into leases: the begin time first, so that nothing starts in between."""

    def carry_out(some: str) -> None:
        run_slurm("scontrol", "update", f"JobId={some}", f"StartTime={_time(until)}")
        run_slurm("scontrol", "release", some)

    return _all(audit, "adopt", names, carry_out, until=until)


def take(audit: Audit, names: Sequence[str], until: int) -> bool:
    """Lease jobs that are handed over with a begin time instead of a hold."""
    return _move(audit, "take", names, until)


def renew(audit: Audit, names: Sequence[str], until: int) -> bool:
    """Move leases on."""
    return _move(audit, "renew", names, until)


def _move(audit: Audit, action: str, names: Sequence[str], until: int) -> bool:
    def carry_out(some: str) -> None:
        run_slurm("scontrol", "update", f"JobId={some}", f"StartTime={_time(until)}")

    return _all(audit, action, names, carry_out, until=until)


def start(audit: Audit, name: str, nodes: str, now: int, digest: str) -> bool:
    """Start a leased job on these nodes."""

    def carry_out(some: str) -> None:
        run_slurm("scontrol", "update", f"JobId={some}", f"ReqNodeList={nodes}", f"StartTime={_time(now)}")

    return _all(audit, "start", [name], carry_out, nodes=nodes, digest=digest)


def give_back(audit: Audit, names: Sequence[str], now: int, named: bool = False) -> bool:
    """Leave jobs that are not held to Slurm: no lease, and no nodes where they are ``named`` by us.

    Of named ones one after the other: scontrol takes no list of jobs beside nodes.
    """

    def carry_out(some: str) -> None:
        nodes = ("ReqNodeList=",) if named else ()
        run_slurm("scontrol", "update", f"JobId={some}", *nodes, f"StartTime={_time(now)}")

    if named:
        well = [_all(audit, "give-back", [name], carry_out, named=named) for name in names]
        return all(well)
    return _all(audit, "give-back", names, carry_out, named=named)


def withdraw(audit: Audit, name: str, until: int) -> bool:
    """Take a start back that did not come true: a lease again, and no nodes."""

    def carry_out(some: str) -> None:
        run_slurm("scontrol", "update", f"JobId={some}", "ReqNodeList=", f"StartTime={_time(until)}")

    return _all(audit, "withdraw", [name], carry_out, until=until)


def place(audit: Audit, name: str, nodes: str, digest: str) -> bool:
    """Have Slurm start a job on these nodes when it starts it."""

    def carry_out(some: str) -> None:
        run_slurm("scontrol", "update", f"JobId={some}", f"ReqNodeList={nodes}")

    return _all(audit, "place", [name], carry_out, nodes=nodes, digest=digest)


def clear(audit: Audit, names: Sequence[str]) -> bool:
    """Take named nodes back, of one job after the other: Slurm refuses it of those that it has started."""

    def carry_out(some: str) -> None:
        run_slurm("scontrol", "update", f"JobId={some}", "ReqNodeList=")

    well = [_all(audit, "clear", [name], carry_out) for name in names]
    return all(well)


def nudge(audit: Audit, name: str, factor: int) -> bool:
    """Set the site's part of a job's priority."""

    def carry_out(some: str) -> None:
        run_slurm("scontrol", "update", f"JobId={some}", f"SiteFactor={factor}")

    return _all(audit, "nudge", [name], carry_out, factor=factor)


def release(audit: Audit, names: Sequence[str]) -> bool:
    """Release held jobs."""

    def carry_out(some: str) -> None:
        run_slurm("scontrol", "release", some)

    return _all(audit, "release", names, carry_out)


def _all(audit: Audit, action: str, names: Sequence[str], carry_out: Callable[[str], None], **facts: object) -> bool:
    well = True
    for begin in range(0, len(names), _TOGETHER):
        some = list(names[begin : begin + _TOGETHER])
        well &= audit.act(action, some, partial(carry_out, ",".join(some)), **facts)
    return well


def _time(at: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}"
