"""Everything back to Slurm, by what an audit log says."""

from __future__ import annotations

from collections.abc import Callable

from transom.slurm import actions
from transom.slurm.acting import same_nodes
from transom.slurm.audit import Audit, read_ledger
from transom.slurm.jobs import SlurmJob
from transom.slurm.state import ask_jobs, slurm_clock


def give_all_back(audit: Audit, takes: Callable[[SlurmJob], bool]) -> list[str]:
    """Leave to Slurm what a log has under lease, nudged or given nodes, what it asked to start in vain, what is held
    and selected.

    Raises
    ------
    SlurmError : Slurm does not answer.
    """
    ledger, now, waiting = read_ledger(audit.path), slurm_clock(), [job for job in ask_jobs() if job.waits]
    known = ledger.leases.keys() | ledger.started.keys()
    leased = [job.name for job in waiting if job.name in known and not job.held]
    held = [
        job.name
        for job in waiting
        if job.reason == "JobHeldUser" and takes(job) and job.name not in ledger.left and job.name not in known
    ]
    # Killed between the two commands of an adoption: under lease by the log, and still held.
    held += [job.name for job in waiting if job.name in known and job.reason == "JobHeldUser"]
    if held:
        actions.release(audit, held)
    if leased:
        actions.give_back(audit, leased, now)
    nudged = [job.name for job in waiting if ledger.factors.get(job.name)]
    for name in nudged:
        actions.nudge(audit, name, 0)
    placed = [
        job.name
        for job in waiting
        if any(same_nodes(job.asks.get("named nodes", ""), each) for each in ledger.placed.get(job.name, ()))
    ]
    actions.clear(audit, placed)
    return leased + held + nudged + placed
