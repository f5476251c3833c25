"""A policy that acts on a running Slurm, and its log: ``transom slurm run``, ``release`` and ``replay``."""

from __future__ import annotations

import os
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transom._system.wording import counted
from transom.cli.options import common as options
from transom.cli.options import completion, slurm
from transom.cli.options.digits import DURATION
from transom.cli.output.console import note, print_json, remark

if TYPE_CHECKING:
    from transom.slurm.acting import Actor, Look
    from transom.traces.records.slurm_text.jobs import SlurmJob


_LIMIT = 1000
_LONGEST = 60.0  # between two looks while Slurm does not answer [s]


class Mode(StrEnum):
    """How much power is given."""

    nudge = "nudge"
    place = "place"
    drive = "drive"


def run_command(
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help="nudge: only influence the order in which Slurm starts the selected jobs. place: only name the nodes "
            "on which Slurm starts them. drive: start selected jobs that were submitted held, on the nodes of the "
            "policy.",
        ),
    ],
    select: Annotated[
        list[str],
        typer.Option(
            "--select",
            help="Jobs that may be touched: all that Slurm lets this user change, or user=NAME, partition=NAME, "
            "job=ID, joined by commas where all must hold. Repeat for alternatives. Jobs that other users hold are "
            "never touched.",
        ),
    ],
    policy: Annotated[
        str, typer.Option("--policy", autocompletion=completion.policies, help="Policy that decides, as for simulate.")
    ] = "fcfs-easy",
    allocate: slurm.Allocate = None,
    partition: slurm.PartitionOption = None,
    act: Annotated[bool, typer.Option("--act", help="Act. Without it, only say what would be done.")] = False,
    audit: Annotated[
        Path, typer.Option("--audit", help="Log to which everything is appended before it is done.")
    ] = Path("transom-audit.jsonl"),
    lease: Annotated[
        int,
        typer.Option(
            "--lease",
            metavar=DURATION,
            min=10,
            help="Time after which Slurm has all jobs back if Transom stops. With place, also how long nodes stay "
            "named that no look wants any more.",
        ),
    ] = 600,
    every: Annotated[float, typer.Option("--every", metavar=DURATION, min=0.05, help="Time between two looks.")] = 2.0,
    rounds: Annotated[int | None, typer.Option("--rounds", min=1, help="Stop after N looks.")] = None,
    per_minute: Annotated[
        int, typer.Option("--per-minute", min=1, help="Start, place or nudge at most N jobs a minute.")
    ] = 600,
    longest_wait: Annotated[
        int | None,
        typer.Option(
            "--longest-wait", metavar=DURATION, min=1, help="Leave a job to Slurm once it has waited so long."
        ),
    ] = None,
    no_later: slurm.NoLater = None,
    holds: Annotated[
        bool,
        typer.Option(
            "--holds/--no-holds",
            help="With drive: also take this user's own jobs that are held (sbatch -H), and not only those that a "
            "begin time and a comment hand over.",
        ),
    ] = True,
    limit: Annotated[
        int, typer.Option("--limit", min=50, help="With nudge: the largest part of a priority that is set.")
    ] = _LIMIT,
    rest: slurm.Rest = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Let a policy act on the jobs that --select names; without --act, only say what it would do.

    nudge sets the site factor of the first jobs in the order of the policy, which takes an operator and
    priority/multifactor. Slurm's own scheduler starts all jobs, and none is ever held.

    place names the nodes of selected jobs that the policy would start now, as the solver chooses them; Slurm starts
    the jobs, on exactly these nodes, and none is ever held. Names that no look has wanted for the time of a lease are
    taken back.

    drive starts held jobs when and where the policy says. Each selected job that this user holds gets a lease instead
    of the hold: a begin time that is moved on as long as Transom lives. A job with a begin time to come and the word
    transom in its comment has one already, whoever's it is. If it stops for any reason, Slurm itself starts
    the jobs when the lease ends, and a second process releases what is still held. On Ctrl-C, SIGTERM and SIGHUP all
    jobs are given back. Jobs that a window cannot express are released to Slurm at once; nothing else is touched.
    """
    from transom._system.service import notify
    from transom._system.signals import uninterrupted
    from transom.errors import SlurmError, SpecError
    from transom.slurm.acting import Terms
    from transom.slurm.advice import Adviser
    from transom.slurm.audit import Audit
    from transom.slurm.consistency import look
    from transom.slurm.drive import Driver
    from transom.slurm.giving_back import give_all_back
    from transom.slurm.guardian import Guarded
    from transom.slurm.lock import alone
    from transom.slurm.nudge import Nudger
    from transom.slurm.place import Namer
    from transom.slurm.selector import Selector
    from transom.slurm.window import window_of

    if limit != _LIMIT and mode is not Mode.nudge:
        raise SpecError("--limit belongs to --mode nudge")
    if not holds and mode is not Mode.drive:
        raise SpecError("--no-holds belongs to --mode drive")
    if no_later is not None and mode is Mode.nudge:
        raise SpecError("--no-later belongs to --mode place and drive")
    releases = mode is Mode.drive and holds
    selector = Selector(tuple(select))
    user, ask = os.getuid(), slurm.asker(rest)
    terms = Terms(selector, partition, lease, per_minute, holds, no_later, longest_wait, ask, user)
    adviser = Adviser(policy, slurm.allocator(allocate), seed)

    def takes(job: SlurmJob) -> bool:
        return releases and selector.takes_hold(job, where, user)

    def actor(log: Audit | None) -> Actor:
        if mode is Mode.nudge:
            return Nudger(adviser, terms, log, limit)
        return Driver(adviser, terms, log) if mode is Mode.drive else Namer(adviser, terms, log)

    where = window_of(look(terms.ask), partition).partition
    if not act:
        _loop(actor(None), every, rounds or 1, json, lambda: None)
        note("dry run: nothing was changed; --act acts")
        return
    with alone():
        log = Audit(audit)
        log.write(
            "begin", mode=mode, policy=policy, allocate=allocate, seed=seed, select=list(select), lease=lease,
            partition=where, holds=holds, no_later=no_later, user=user,
        )  # fmt: skip
        slurm.tell_head(log)
        guard: Guarded | None = None
        try:
            with uninterrupted():
                guard = Guarded(audit, lease, where, tuple(select) if releases else ())
            notify("READY=1")
            _loop(actor(log), every, rounds, json, guard.beat, lease / 4)
        finally:
            # If this fails, the guardian does it. A second signal, as of a terminal and its shell, waits meanwhile.
            try:
                with uninterrupted():
                    given = give_all_back(log, takes)
                    log.write("end", given_back=given)
                    if guard is not None:
                        guard.end()
            except SlurmError as error:
                note(f"{error}; a second process gives all jobs back once Slurm answers")
            else:
                note(f"given back to Slurm: {counted(len(given), 'job')}")
            slurm.tell_head(log)


def _loop(actor: Actor, every: float, rounds: int | None, json: bool, alive: Any, most: float = _LONGEST) -> None:
    """Look again and again; after a look that Slurm did not answer, after twice the time, ``most`` seconds at most."""
    from transom._system.service import notify
    from transom.errors import SlurmError

    done, pause = 0, every
    while rounds is None or done < rounds:
        if done:
            time.sleep(pause)
        notify("WATCHDOG=1")
        done += 1
        try:
            look = actor.look()
        except SlurmError as error:
            note(str(error))
            pause = min(2 * pause, max(every, min(most, _LONGEST)))
            if rounds is not None and done == rounds:
                raise
            continue
        alive()
        pause = every
        _tell(look, json)


def _tell(look: Look, json: bool) -> None:
    if not (look.starts or look.stale or look.adopted or look.given_back):
        return
    if json:
        starts = [{"job": start.job.name, "nodes": list(start.nodes)} for start in look.starts]
        told = {"now": look.seen.window.now, "start": starts, "stale": look.stale, "leased": look.adopted}
        print_json({**told, "given_back": look.given_back})
        return
    for start in look.starts:
        remark(f"job {start.job.name}: to start on {start.where}")
    for text, names in (
        ("not as it was, left for the next look", look.stale),
        ("under lease", look.adopted),
        ("given back to Slurm", look.given_back),
    ):
        if names:
            remark(f"{text}: {', '.join(names[:10])}{f' and {len(names) - 10} more' if len(names) > 10 else ''}")


def release_command(
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


_SHOWN = 10  # numbers of lines


def replay_command(
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
