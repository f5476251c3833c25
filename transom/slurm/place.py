"""A policy that only says where: Slurm's own scheduler starts all jobs, those that should start now on named nodes.

Selected jobs that the policy would start now get the nodes of the solver (``ReqNodeList``); none is ever held. Slurm
may be starting a job at the very moment at which a look misses it or finds it impossible: without its nodes it would
then start on others. So names are kept for a lease after the last look that wanted them, and then taken back; at once
where the job waits again after it ran.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from transom.slurm import actions
from transom.slurm.acting import NAMED, REFUSALS, Look, Starter, Terms, same_nodes, still
from transom.slurm.advice import Adviser, Start
from transom.slurm.audit import Audit
from transom.slurm.drive import FOREVER, PATIENCE
from transom.slurm.log.ledger import Ledger
from transom.slurm.state import SlurmState
from transom.slurm.window import Seen
from transom.traces.records.slurm_text.jobs import SlurmJob
from transom.traces.records.slurm_text.tokens import named_hosts

_NEVER = -(1 << 40)


@dataclass(slots=True)
class _Names:
    """The nodes that were named for a job, the last of ``named``: others, where an answer was lost. When they were
    set or wanted anew, when a look wanted them last [s of Slurm's clock], and whether it was seen to run."""

    named: list[str]
    since: int
    wanted: int
    ran: bool = False

    @property
    def nodes(self) -> str:
        return self.named[-1]


class Namer(Starter):
    """Names the nodes of selected jobs; all waiting jobs of the partition are decided on."""

    def __init__(self, adviser: Adviser, terms: Terms, audit: Audit | None) -> None:
        super().__init__(adviser, terms, audit)
        self._names, self._left = dict[str, _Names](), set[str]()
        if audit is not None:
            ledger = audit.catch_up()
            placed = {name: named for name, named in ledger.placed.items() if name not in ledger.left}
            self._names = {name: _Names(["", *named], -1, -1, name in ledger.ran) for name, named in placed.items()}
            self._left = set(ledger.left)

    def _believe(self, ledger: Ledger) -> None:
        """Nothing: names that another process took back are seen to be gone."""

    def _look_at(self, state: SlurmState) -> Look:
        self._follow(state)
        waiting = {job.name: job for job in state.jobs if job.waits}
        sure = self._sure(state)
        as_if = replace(state, jobs=[self._as_if(job, state.now, sure) for job in state.jobs])
        seen = self._window(as_if, self._adviser.order)
        self._slurms_plan(as_if, state.jobs, lambda job: job.name not in self._names)
        starts, stale = self._decide(seen) if self._new(seen) else ([], [])
        return Look(seen, starts, stale, given_back=self._expire(waiting, state.now))

    def _takes(self, job: SlurmJob, now: int) -> bool:
        longest = self._terms.longest_wait
        waited = longest is not None and now - job.submit > longest
        waited |= self._too_late(job, now)
        refused = job.name in self._left or self._refused[job.name] >= REFUSALS  # as a job of somebody else
        return self._terms.selector.takes(job) and not refused and not waited

    def _too_late(self, job: SlurmJob, now: int) -> bool:
        """Whether a job starts later than Slurm planned before it had nodes of ours; Slurm's plan now is with them."""
        planned = job.start if job.name in self._names and job.start > 0 else now
        return self._latest is not None and job.waits and self._latest.passed(job.name, max(planned, now))

    def _follow(self, state: SlurmState) -> None:
        """Note which jobs run where, and leave alone what somebody else has named; what is missed is waited for."""
        jobs = {job.name: job for job in state.jobs}
        for name, names in list(self._names.items()):
            job = jobs.get(name)
            if names.wanted == -1:
                names.wanted = state.now  # of an earlier run
            if job is None:  # one that ran may be on its way back to the queue
                if state.now - names.wanted > self._terms.lease:
                    self._came_true(name, None)
                    del self._names[name]
            elif not job.waits:
                self._came_true(name, job)
                names.wanted = state.now
            else:
                self._still_ours(job, names, state.now)

    def _still_ours(self, job: SlurmJob, names: _Names, now: int) -> None:
        """Whether a waiting job has the nodes that were named for it, or those before them."""
        actual = job.asks.get(NAMED, "")
        known = next((each for each in names.named[::-1] if same_nodes(each, actual)), None)
        if names.ran:  # requeued, as after the failure of a node
            names.ran, names.since, names.wanted, self._decided = False, -1, _NEVER, None
        if known:
            names.named = [known]
            return
        del self._names[job.name]
        if known is None and self._audit is not None:
            self._left.add(job.name)
            self._audit.act("leave", [job.name], lambda: None)

    def _came_true(self, name: str, job: SlurmJob | None) -> None:
        names = self._names[name]
        if not names.ran and self._audit is not None:
            # A job that is completing is listed with the nodes alone that are not done yet.
            on = job.held_nodes if job is not None and job.state == "RUNNING" else None
            # Without names, where the command that named nodes came too late, it is wherever Slurm chose.
            known = (each for each in names.named[::-1] if on is None or not each or same_nodes(on, each))
            asked = next(known, None)
            same = asked is not None
            self._audit.write("followed", job=name, asked=asked if same else names.nodes, nodes=on, same=same)
        names.ran = True

    def _sure(self, state: SlurmState) -> set[str]:
        """The jobs that Slurm may start at any moment: named not long ago, on nodes that are all idle."""
        held = {node for job in state.jobs if job.holds for node in named_hosts(job.held_nodes)}
        idle = {node.name for node in state.nodes if node.idle} - held
        return {
            name
            for name, names in self._names.items()
            if state.now - names.since <= min(PATIENCE, self._terms.lease) and idle.issuperset(named_hosts(names.nodes))
        }

    def _as_if(self, job: SlurmJob, now: int, sure: set[str]) -> SlurmJob:
        """Jobs that Slurm may be starting as if they ran, all others as if nobody had named their nodes."""
        if not job.waits or job.name not in self._names or job.held:
            return job
        if job.name in sure:
            end = now + (job.limit if job.limit > 0 else FOREVER)
            return replace(job, state="RUNNING", start=now, end=end, held_nodes=self._names[job.name].nodes)
        return replace(job, asks={what: value for what, value in job.asks.items() if what != NAMED})

    def _decide(self, seen: Seen) -> tuple[list[Start], list[str]]:
        now, advice = seen.window.now, self._adviser.advise(seen)
        return self._start_all(seen, advice.starts, [start for start in advice.starts if self._takes(start.job, now)])

    def _stands(self, start: Start, now: int) -> bool:
        names = self._names.get(start.job.name)
        if names is None:
            return False
        names.wanted = now
        same = same_nodes(names.nodes, start.where)
        names.since = now if same else names.since
        return same

    def _is_ready(self, start: Start) -> bool:
        names = self._names.get(start.job.name)
        return still(start, names.nodes if names else "")

    def _carry_out(self, audit: Audit, start: Start, now: int, digest: str) -> bool:
        name = start.job.name
        before = self._names[name].named if name in self._names else [""]
        # Noted first: if the answer is lost, either may hold.
        self._names[name] = _Names([*before, start.where], now, now)
        if not actions.place(audit, name, start.where, digest):
            return False
        self._names[name].named = [start.where]
        return True

    def _expire(self, waiting: dict[str, SlurmJob], now: int) -> list[str]:
        """Take names back that no look has wanted for a lease, and those of jobs that are not to be named any more."""
        gone = []
        for name, names in list(self._names.items()):
            job = waiting.get(name)
            if job is None or (now - names.wanted <= self._terms.lease and self._takes(job, now) and not job.held):
                continue
            late = self._too_late(job, now)
            if self._audit is not None and actions.clear(self._audit, [name]):
                self._left.update([name] if late else [])
                del self._names[name]
                gone.append(name)
                self._decided = None
        return gone
