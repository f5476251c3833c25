"""Everything back to Slurm, by what an audit log says."""

from __future__ import annotations

import os
from collections.abc import Callable

from transom.slurm import actions
from transom.slurm.acting import NAMED, same_nodes
from transom.slurm.audit import Audit
from transom.slurm.state import ask_jobs, slurm_clock
from transom.traces.records.slurm_text.jobs import SlurmJob


def give_all_back(
    audit: Audit, takes: Callable[[SlurmJob], bool], ours: Callable[[SlurmJob], bool] | None = None
) -> list[str]:
    """Leave to Slurm what a log has under lease, nudged or given nodes, what it asked to start in vain, what is held
    and selected; the jobs of which Slurm did not refuse it.

    It never fails for want of a log: lines that cannot be read or written are missed (:attr:`Audit.lost`).

    Parameters
    ----------
    takes : whether a held job would have been taken.
    ours : jobs of which somebody says that they are to be given back, whatever the log says of them: holds of this
        user, begin times to come and named nodes end.

    Raises
    ------
    SlurmError : Slurm does not answer.
    """
    audit.insist = False
    ledger, now, waiting = audit.catch_up(), slurm_clock(), [job for job in ask_jobs() if job.waits]
    known = ledger.leases.keys() | ledger.started.keys() | ledger.half
    stated = {job.name for job in waiting if ours is not None and ours(job)}
    known |= {job.name for job in waiting if job.name in stated and job.eligible > now}
    held = [
        job.name
        for job in waiting
        if job.reason == "JobHeldUser"
        and (
            (job.name in stated and job.uid == os.getuid())
            or (
                job.name not in ledger.left
                and (job.name in ledger.half or (job.name not in known and job.eligible <= now and takes(job)))
            )
        )
    ]
    # Of a job in the middle of its adoption the begin time may be ours, and the hold may be gone.
    leased = {job.name for job in waiting if job.name in known and (not job.held or job.name in ledger.half)}
    named = {
        job.name
        for job in waiting
        if (job.name in stated and NAMED in job.asks)
        or any(same_nodes(job.asks.get(NAMED, ""), each) for each in ledger.placed.get(job.name, ()))
    }
    # Asked to start, and with a begin time to come: it ran and was requeued, and Slurm would fail it before that time.
    leased -= {job.name for job in waiting if job.name in named & ledger.started.keys() and job.eligible > now}
    given = actions.of_all(lambda names: actions.release(audit, names), held)
    given += actions.of_all(lambda names: actions.give_back(audit, names, now), sorted(leased - named))
    given += [name for name in sorted(leased & named) if actions.give_back(audit, [name], now, named=True)]
    # What waits again after it ran, and what its user holds by now, keeps its begin time and its hold.
    given += [name for name in sorted(named - leased) if actions.clear(audit, [name])]
    nudged = [job.name for job in waiting if ledger.factors.get(job.name)]
    given += [name for name in nudged if actions.nudge(audit, name, 0)]
    return list(dict.fromkeys(given))
