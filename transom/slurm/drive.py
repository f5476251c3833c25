"""A policy at the wheel: held jobs that a selector names are started when and where the policy says.

Nobody's hold lasts longer than Transom: each job gets a lease in its place, and Slurm starts the job by itself when
the lease is not moved on. A job that is handed over with a begin time has one from its submission on. A start names
the nodes and ends the lease in one command; Slurm still decides whether it can be. What a window cannot express, and
a job whose start Slurm refuses again and again, is left to Slurm at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from transom.slurm import actions
from transom.slurm.acting import NAMED, REFUSALS, Look, Starter, Terms, same_nodes, still
from transom.slurm.advice import Adviser, Start
from transom.slurm.audit import Audit
from transom.slurm.latest.latest_starts import Kept
from transom.slurm.log.ledger import Ledger
from transom.slurm.state import SlurmState, slurm_clock
from transom.slurm.window import MORE_THAN_SERVE, Seen
from transom.traces.records.hostlist import hosts
from transom.traces.records.slurm_text.jobs import SlurmJob

PATIENCE = 60
"""After which a start that has not come true is no longer waited for [s of Slurm's clock]."""
FOREVER = 365 * 86400
"""The walltime of a job without a limit [s]."""
_AT_ONCE = 200  # leases that are made or moved on in one look
_ELSEWHERE = ("other partitions", "several partitions", "not selected")


class Driver(Starter):
    """Starts jobs when and where a policy says; its leases are those of the log."""

    def __init__(self, adviser: Adviser, terms: Terms, audit: Audit | None) -> None:
        super().__init__(adviser, terms, audit)
        self._leases: dict[str, int] = {}
        self._half: set[str] = set()  # of which nobody knows whether their holds became leases
        self._started: dict[str, tuple[str, int]] = {}
        self._ran: dict[str, str] = {}  # the nodes that jobs still name which have started; empty once they do not
        self._decided_at: dict[str, int] = {}  # when the starts of those that were asked to start were decided [s]
        self._left: set[str] = set()
        self._short: dict[str, int] = {}  # since when too few nodes serve for a job, as after a restart of Slurm
        if audit is not None:
            self._believe(audit.catch_up())

    def _look_at(self, state: SlurmState) -> Look:
        terms = self._terms
        self._follow(state)
        offered = {job.name for job in state.jobs if self._offered(job, state.now)}
        as_if = replace(state, jobs=[self._as_if(job, state.now, offered) for job in state.jobs])
        seen = self._window(as_if, self._adviser.order, True, lambda job: job.name in offered)
        waiting = {seen.jobs[job].name: seen.jobs[job] for job in seen.window.queue.id.tolist()}
        short = [name for name in offered if seen.refused.get(name) == MORE_THAN_SERVE]
        self._short = {name: self._short.get(name, state.now) for name in short}
        patient = {name for name, since in self._short.items() if state.now - since <= terms.lease}
        given_back = [
            name for name in sorted(offered - patient) if seen.refused.get(name, _ELSEWHERE[0]) not in _ELSEWHERE
        ]
        often = (name for name in sorted(offered) if self._refused[name] >= REFUSALS)
        given_back += [name for name in often if name not in given_back]
        if terms.longest_wait is not None:
            late = (name for name, job in waiting.items() if state.now - job.submit > terms.longest_wait)
            given_back += [name for name in late if name not in given_back]
        plan = self._slurms_plan(as_if, state.jobs)
        if self._latest is not None and plan is not None:
            given_back += [name for name in self._latest.late(plan, list(waiting)) if name not in given_back]
        self._give_back(given_back, state)
        if given_back:
            self._decided = None
            return Look(seen, given_back=given_back)
        names = {job.name: job.held for job in state.jobs if job.waits}
        adopted = self._keep({name: names[name] for name in (*waiting, *sorted(patient))}, state.now)
        if adopted and plan is not None and self._audit is not None:  # Slurm orders them once they are not held
            self._decided = None
            return Look(seen, adopted=adopted)
        starts, stale, due = self._decide(seen, plan) if self._new(seen, plan) else ([], [], [])
        if due := [name for name in due if name in waiting]:
            self._give_back(due, state)
            self._decided = None
        return Look(seen, starts, stale, adopted, due)

    def _believe(self, ledger: Ledger) -> None:
        self._leases, self._half, self._left = ledger.leases, ledger.half, ledger.left | self._left
        self._ran = {name: ledger.placed.get(name, [""])[-1] for name in ledger.ran}
        began = {name: since for name, (_, since) in self._started.items()}
        self._started = {name: (nodes, began.get(name, -1)) for name, nodes in ledger.started.items()}

    def _offered(self, job: SlurmJob, now: int) -> bool:
        name = job.name
        if not job.waits or name in self._started:
            return False
        if name in self._ran and (self._ran[name] or not job.held):
            return False  # requeued: Slurm fails a batch job that starts before the begin time that it then has
        if name in self._leases:
            return not job.held
        if name in self._left or not self._terms.selector.takes(job):
            return False
        if job.reason == "JobHeldUser":
            # A begin time of its user's own is waited for.
            whose = self._terms.user in (None, job.uid)
            return name in self._half or (self._terms.holds and whose and job.eligible <= now)
        return job.handed and not job.held and job.eligible > now

    def _as_if(self, job: SlurmJob, now: int, offered: set[str]) -> SlurmJob:
        """Jobs on offer as if they could start, those asked to start as if they ran from the decision on.

        Slurm starts them some seconds later and counts their limits from there; a replay knows the decision alone, and
        both are to expect the same ends.
        """
        if job.name in offered:
            return replace(job, eligible=-1, reason="", priority=max(job.priority, 1))
        begun = self._decided_at.get(job.name, now)
        end = begun + (job.limit if job.limit > 0 else FOREVER)
        if job.name in self._started and job.waits:
            return replace(job, state="RUNNING", start=begun, end=end, held_nodes=self._started[job.name][0])
        if job.name in self._decided_at and job.state == "RUNNING":
            return replace(job, start=begun, end=end)
        return job

    def _follow(self, state: SlurmState) -> None:
        """Note which starts came true; withdraw those that did not, and leave alone what somebody held again."""
        jobs = {job.name: job for job in state.jobs}
        for name, (nodes, since) in list(self._started.items()):
            job = jobs.get(name)
            ours = job is not None and job.waits and same_nodes(job.asks.get(NAMED, ""), nodes)
            if job is not None and ours and job.held:
                self._leave(name, named=True)
                continue
            requeued = job is not None and ours and job.eligible > state.now
            if job is not None and job.waits and not requeued:
                if since < 0:
                    self._started[name] = (nodes, state.now)
                elif state.now - since > PATIENCE and self._audit is not None:
                    until = state.now + self._terms.lease
                    if actions.withdraw(self._audit, name, until):
                        del self._started[name]
                        self._leases[name], self._decided = until, None
                continue
            del self._started[name]
            self._leases.pop(name, None)
            self._ran[name] = nodes
            if self._audit is not None and not requeued:
                # A job that is completing is listed with the nodes alone that are not done yet.
                on = job.held_nodes if job is not None and job.state == "RUNNING" else None
                same = on is None or set(hosts(on)) == set(hosts(nodes))
                self._audit.write("followed", job=name, asked=nodes, nodes=on, same=same)
        self._free_requeued(jobs)
        for name in list(self._decided_at):
            if name not in jobs or (name not in self._started and name not in self._ran):
                del self._decided_at[name]
        for name in [name for name in self._leases if name not in jobs]:
            del self._leases[name]
        self._left &= jobs.keys()
        for name in [name for name in self._half if name not in jobs or not jobs[name].waits or not jobs[name].held]:
            self._half.remove(name)
            if name in jobs and jobs[name].waits:  # the hold was released, and its answer lost
                self._leases[name] = max(jobs[name].eligible, state.now)
                del self._refused[name]
        for name in [name for name in self._leases if jobs[name].waits and jobs[name].held]:
            self._leave(name)

    def _leave(self, name: str, named: bool = False) -> None:
        """Leave a job alone that somebody holds again, without nodes of ours."""
        if self._audit is not None:
            if named and not actions.clear(self._audit, [name]):
                return  # asked again by the next look
            self._audit.act("leave", [name], lambda: None)
        self._leases.pop(name, None)
        self._started.pop(name, None)
        self._left.add(name)

    def _free_requeued(self, jobs: Mapping[str, SlurmJob]) -> None:
        """Take our nodes back from jobs that wait again, as after the failure of a node: Slurm starts them anywhere.

        A job that is not listed may be on its way back to the queue.
        """
        for name in [name for name, job in jobs.items() if job.waits and self._ran.get(name)]:
            if not same_nodes(jobs[name].asks.get(NAMED, ""), self._ran[name]):
                self._ran[name] = ""
            elif self._audit is not None:
                actions.clear(self._audit, [name])  # asked again by the next look until it is done

    def _give_back(self, names: list[str], state: SlurmState) -> None:
        if self._audit is None or not names:
            return
        waits_held = {job.name for job in state.jobs if job.waits and job.held}
        held = [name for name in names if name in waits_held]
        begun = [name for name in names if name in self._half or name not in waits_held]
        audit, now = self._audit, state.now
        actions.of_all(lambda some: actions.release(audit, some), held)
        actions.of_all(lambda some: actions.give_back(audit, some, now), begun)
        for name in names:  # those of which it is refused are none of ours
            self._leases.pop(name, None)
            self._half.discard(name)
        self._left.update(names)

    def _keep(self, waiting: Mapping[str, bool], now: int) -> list[str]:
        """Lease what is new, and move on the leases of which half has passed; some at a time, as each takes a while.

        ``waiting`` says of each job whether it is held.
        """
        fresh = [name for name in waiting if name not in self._leases][:_AT_ONCE]
        if self._audit is None:
            return fresh
        until = now + self._terms.lease
        left = {name: end - now for name, end in self._leases.items() if name not in self._started}
        half = sorted((name for name in left if left[name] < self._terms.lease / 2), key=left.__getitem__)
        old = [name for i, name in enumerate(half) if i < _AT_ONCE or left[name] < self._terms.lease / 4]
        held = [name for name in fresh if waiting[name]]
        self._half.update(held)  # written down first: the answer may be lost
        self._lease(actions.adopt, self._audit, held, until)
        self._lease(actions.take, self._audit, [name for name in fresh if not waiting[name]], until)
        self._lease(actions.renew, self._audit, old, until)
        return fresh

    def _lease(
        self, act: Callable[[Audit, Sequence[str], int], bool], audit: Audit, names: Sequence[str], until: int
    ) -> None:
        """Make or move on leases. What was refused of several together is asked again, by the next look, for each job
        alone: one may be somebody else's, and the others are not to wait for it."""
        alone = [[name] for name in names if self._refused[name]]
        together = [name for name in names if not self._refused[name]]
        for some in (*alone, *([together] if together else [])):
            if not act(audit, some, until):
                self._refused.update(some)
                continue
            self._leases.update(dict.fromkeys(some, until))
            self._half.difference_update(some)
            for name in some:
                del self._refused[name]

    def _decide(self, seen: Seen, plan: Seen | None) -> tuple[list[Start], list[str], list[str]]:
        """What was started, what was not as it was, and what is to be given back as it would start too late."""
        advice = self._adviser.advise(seen)
        kept = Kept([start.job.name for start in advice.starts], [], [])
        if self._latest is not None and plan is not None:
            kept = self._latest.keep(plan, kept.made)
        starts = [start for start in advice.starts if start.job.name in kept.made]
        made, stale = self._start_all(seen, advice.starts, starts, kept.kept_back)
        return made, stale, kept.due

    def _is_ready(self, start: Start) -> bool:
        return start.job.name in self._leases and still(start)

    def _carry_out(self, audit: Audit, start: Start, now: int, digest: str) -> bool:
        name = start.job.name
        # Written down first: if the answer is lost, the nodes must not be offered again.
        self._started[name], self._decided_at[name] = (start.where, -1), now
        if actions.start(audit, name, start.where, slurm_clock(), digest):
            self._ran.pop(name, None)
            return True
        del self._started[name]
        return False
