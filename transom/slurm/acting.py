"""What drivers, namers and nudgers share: look, follow, decide, act; how many actions a minute has, and a last question
before each."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from transom.slurm.advice import Adviser, Start
from transom.slurm.audit import Audit
from transom.slurm.commands import run_slurm
from transom.slurm.consistency import look
from transom.slurm.decisions import note_decision
from transom.slurm.latest.latest_starts import LatestStarts
from transom.slurm.log.ledger import Ledger
from transom.slurm.selector import Selector
from transom.slurm.state import SlurmState, ask_slurm
from transom.slurm.window import Seen, window_of
from transom.traces.records.slurm_text.documents import stated
from transom.traces.records.slurm_text.jobs import SlurmJob
from transom.traces.records.slurm_text.tokens import named_hosts

NAMED = "named nodes"
"""What a job asks for that names nodes."""
REFUSALS = 3
"""So many in a row, and a job is left to Slurm."""


class Pace:
    """Counts the actions of the last minute of our clock, of which there may be ``most``."""

    def __init__(self, most: int) -> None:
        self._most, self._times = most, list[float]()

    def note(self) -> None:
        """An action is about to be carried out."""
        self._times.append(time.monotonic())

    @property
    def spent(self) -> bool:
        """Whether no more may be carried out now."""
        self._times = [each for each in self._times if time.monotonic() - each < 60]
        return len(self._times) >= self._most


def still(start: Start, named: str = "") -> bool:
    """Whether job and nodes are as they were when a start was decided: asked again right before it.

    Parameters
    ----------
    start : what was decided.
    named : the nodes that the job should name until now.

    Raises
    ------
    SlurmError : Slurm does not answer.
    """
    answer = run_slurm("squeue", "-a", "-h", "-r", "-j", start.job.name, "-o", "%T|%D|%n|%r").splitlines()
    nodes = run_slurm("sinfo", "-h", "-N", "-n", start.where, "-o", "%N %t").splitlines()
    idle = {line.split()[0] for line in nodes if line.split()[1:] in (["idle"], ["plnd"])}
    if len(answer) != 1 or idle != set(start.nodes) or len({line.split()[0] for line in nodes}) != len(idle):
        return False
    state, size, names, reason = answer[0].split("|", 3)
    same = same_nodes(names, named)
    return state == "PENDING" and not reason.startswith("JobHeld") and size == str(start.job.nodes) and same


def same_nodes(one: str, other: str) -> bool:
    """Whether two lists name the same nodes; empty ones name none."""
    first, second = stated(one), stated(other)
    return first == second or set(named_hosts(first)) == set(named_hosts(second))


@dataclass(frozen=True, slots=True)
class Terms:
    """How a policy acts.

    Parameters
    ----------
    selector : the jobs that may be touched.
    partition : whose jobs and nodes, by default the site's own.
    lease : after which Slurm has a job back if Transom does nothing [s of Slurm's clock], >= 10.
    per_minute : starts, nodes named and factors set in a minute of our clock, at most.
    holds : whether drive takes jobs that their user holds, besides those that are handed over.
    user : the number of the user whose holds hand jobs over, those of others not; None for all.
    no_later : than Slurm's own plan and so many seconds of its clock no job may start; None for no bound.
    longest_wait : since its submission, after which a job is left to Slurm [s of Slurm's clock]; None for no bound.
    ask : what reads the state; actions are commands.
    """

    selector: Selector
    partition: str | None = None
    lease: int = 600
    per_minute: int = 600
    holds: bool = True
    no_later: int | None = None
    longest_wait: int | None = None
    ask: Callable[[], SlurmState] = ask_slurm
    user: int | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What one look came to: starts, those that could not be, jobs newly leased, and jobs left to Slurm."""

    seen: Seen
    starts: list[Start] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)
    given_back: list[str] = field(default_factory=list)


class Actor(ABC):
    """Looks at a Slurm again and again: follows what became of its jobs, decides if something has changed, and acts.

    Parameters
    ----------
    adviser : what decides.
    terms : how.
    audit : where everything is written first; what an earlier run of the same log left is taken over. None for a dry
        run, in which nothing is changed.
    """

    def __init__(self, adviser: Adviser, terms: Terms, audit: Audit | None) -> None:
        self._adviser, self._terms, self._audit = adviser, terms, audit
        self._refused = Counter[str]()  # actions in a row
        self._latest = None if terms.no_later is None else LatestStarts(terms.no_later)
        self._pace = Pace(terms.per_minute)
        self._decided: Any = None

    def look(self) -> Look:
        """Look once.

        Raises
        ------
        SlurmError : Slurm does not answer.
        """
        state = look(self._terms.ask)
        if self._audit is not None and self._audit.others_wrote:
            self._believe(self._audit.catch_up())
            self._decided = None
        return self._look_at(state)

    @abstractmethod
    def _believe(self, ledger: Ledger) -> None:
        """Take over what a log says after the lines of another process."""

    @abstractmethod
    def _look_at(self, state: SlurmState) -> Look:
        """Follow, decide and act."""

    def _window(
        self,
        state: SlurmState,
        order: str | None = None,
        held: bool = False,
        only: Callable[[SlurmJob], bool] | None = None,
    ) -> Seen:
        adviser = self._adviser
        return window_of(state, self._terms.partition, order, held, only, adviser.keeps_limits, adviser.keeps_types)

    def _slurms_plan(
        self, as_if: SlurmState, jobs: Sequence[SlurmJob], stated: Callable[[SlurmJob], bool] = lambda job: False
    ) -> Seen | None:
        """All that waits, in the order of Slurm's priorities; None where starts have no bound."""
        if self._latest is None:
            return None
        plan = self._window(as_if)
        self._latest.note(plan, jobs, stated)
        return plan

    def _new(self, seen: Seen, plan: Seen | None = None) -> bool:
        """Whether something has happened since the last decision, as in a replay; or to jobs that hold back others."""
        if self._pace.spent:
            return False
        window = seen.window
        queue, running, available = (each.tolist() for each in (window.queue.id, window.running.id, window.available))
        others = None if plan is None else plan.window.queue.id.tolist()
        before, self._decided = self._decided, (queue, running, seen.idle.tolist(), available, others)
        return bool(before != self._decided) and len(queue) > 0


class Starter(Actor):
    """Carries starts out that a policy decides."""

    def _start_all(
        self, seen: Seen, advised: list[Start], starts: list[Start], kept_back: Sequence[str] = ()
    ) -> tuple[list[Start], list[str]]:
        """Carry starts out that were decided; those that were made, and the jobs that were not as they had been.

        Parameters
        ----------
        advised : what the policy decided.
        starts : those of them that are made.
        kept_back : jobs whose starts are not made, as these would delay others.
        """
        if self._audit is None:
            return starts, []
        self._decided, decided = None, self._decided  # where Slurm does not answer, it is decided again
        digest, now = note_decision(self._audit, seen, advised, kept_back), seen.window.now
        made, stale = [], []
        for start in starts:
            name = start.job.name
            if self._stands(start, now):
                continue
            others = self._audit.others_wrote  # as one that has given all jobs back while this process was stopped
            if not others and not self._pace.spent and self._is_ready(start):
                self._pace.note()
                if self._carry_out(self._audit, start, now, digest):
                    made.append(start)
                    del self._refused[name]
                    continue
                self._refused[name] += 1
            stale.append(name)
        if not starts:
            self._decided = decided  # what was started counts as running from now on
        return made, stale

    def _stands(self, start: Start, now: int) -> bool:
        """Whether a start has been carried out already; it is wanted again."""
        return False

    @abstractmethod
    def _is_ready(self, start: Start) -> bool:
        """Whether job and nodes are as they were when a start was decided."""

    @abstractmethod
    def _carry_out(self, audit: Audit, start: Start, now: int, digest: str) -> bool:
        """Carry a start out; False if Slurm refused it."""
