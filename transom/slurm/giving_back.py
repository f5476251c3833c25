"""Everything back to Slurm, by what an audit log says."""

from __future__ import annotations

from collections.abc import Callable

from transom.slurm import actions
from transom.slurm.acting import NAMED, same_nodes
from transom.slurm.audit import Audit
from transom.slurm.jobs import SlurmJob
from transom.slurm.state import ask_jobs, slurm_clock


def give_all_back(audit: Audit, takes: Callable[[SlurmJob], bool]) -> list[str]:
    """Leave to Slurm what a log has under lease, nudged or given nodes, what it asked to start in vain, what is held
    and selected.

    Raises
    ------
    SlurmError : Slurm does not answer.
    """
    ledger, now, waiting = audit.catch_up(), slurm_clock(), [job for job in ask_jobs() if job.waits]
    known = ledger.leases.keys() | ledger.started.keys() | ledger.half
    held = [
        job.name
        for job in waiting
        if job.reason == "JobHeldUser"
        and job.name not in ledger.left
        and (job.name in ledger.half or (job.name not in known and job.eligible <= now and takes(job)))
    ]
    # Of a job in the middle of its adoption the begin time may be ours, and the hold may be gone.
    ours = [job for job in waiting if job.name in known and (not job.held or job.name in ledger.half)]
    named = [job.name for job in ours if same_nodes(job.asks.get(NAMED, ""), ledger.started.get(job.name, "-"))]
    leased = [job.name for job in ours if job.name not in named]
    if held:
        actions.release(audit, held)
    if leased:
        actions.give_back(audit, leased, now)
    if named:
        actions.give_back(audit, named, now, named=True)
    nudged = [job.name for job in waiting if ledger.factors.get(job.name)]
    for name in nudged:
        actions.nudge(audit, name, 0)
    placed = [
        job.name
        for job in waiting
        if any(same_nodes(job.asks.get(NAMED, ""), each) for each in ledger.placed.get(job.name, ()))
    ]
    actions.clear(audit, placed)
    return list(dict.fromkeys(leased + named + held + nudged + placed))
