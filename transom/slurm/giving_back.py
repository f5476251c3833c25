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
    and selected; the jobs of which Slurm did not refuse it.

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
    asked = {job.name: ledger.started[job.name] for job in ours if job.name in ledger.started}
    named = [job.name for job in ours if job.name in asked and same_nodes(job.asks.get(NAMED, ""), asked[job.name])]
    leased = [job.name for job in ours if job.name not in named]
    given = _done(lambda names: actions.release(audit, names), held)
    given += _done(lambda names: actions.give_back(audit, names, now), leased)
    given += [name for name in named if actions.give_back(audit, [name], now, named=True)]
    nudged = [job.name for job in waiting if ledger.factors.get(job.name)]
    given += [name for name in nudged if actions.nudge(audit, name, 0)]
    placed = [
        job.name
        for job in waiting
        if any(same_nodes(job.asks.get(NAMED, ""), each) for each in ledger.placed.get(job.name, ()))
    ]
    given += [name for name in placed if actions.clear(audit, [name])]
    return list(dict.fromkeys(given))


def _done(act: Callable[[list[str]], bool], names: list[str]) -> list[str]:
    """The jobs of which an action was done: of all together, else one after the other."""
    if not names or act(names):
        return names
    return [name for name in names if len(names) > 1 and act([name])]
