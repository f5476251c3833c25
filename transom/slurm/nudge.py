"""A policy that only influences the order: Slurm's own scheduler starts all jobs, and none is ever held.

The first jobs in the order that the policy would start them get a site factor, a part of their priority that only
operators may set. Without Transom the factors stay as they are until `transom slurm release` takes them back.
"""

from __future__ import annotations

from transom.errors import SlurmError
from transom.slurm import actions
from transom.slurm.acting import REFUSALS, Actor, Look, Terms
from transom.slurm.advice import Adviser
from transom.slurm.audit import Audit
from transom.slurm.commands import run_slurm
from transom.slurm.decisions import note_decision
from transom.slurm.log.ledger import Ledger
from transom.slurm.state import SlurmState
from transom.slurm.window import window_of

_FIRST = 50  # jobs that get a factor


class Nudger(Actor):
    """Sets the site factors of the first jobs.

    Parameters
    ----------
    limit : the largest factor, of the job that should start first, > 0.

    Raises
    ------
    SlurmError : Slurm's priorities do not have several factors.
    """

    def __init__(self, adviser: Adviser, terms: Terms, audit: Audit | None, limit: int) -> None:
        super().__init__(adviser, terms, audit)
        self._limit = limit
        self._factors = {} if audit is None else audit.catch_up().factors
        if "priority/multifactor" not in run_slurm("scontrol", "show", "config"):
            raise SlurmError("nudge needs PriorityType=priority/multifactor: other priorities have no site factor")

    def _believe(self, ledger: Ledger) -> None:
        self._factors = ledger.factors

    def _look_at(self, state: SlurmState) -> Look:
        types, only = self._adviser.keeps_types, self._terms.selector.takes
        seen = window_of(state, self._terms.partition, self._adviser.order, only=only, types=types)
        if not self._new(seen):
            return Look(seen)
        advice = self._adviser.advise(seen)
        if self._audit is None:
            return Look(seen, advice.starts)
        self._decided, decided = None, self._decided  # where not all is done, it is decided again
        note_decision(self._audit, seen, advice.starts)
        first = [start.job.name for start in advice.starts]
        rest = [seen.jobs[job].name for job in seen.window.queue.id.tolist()]
        order = list(dict.fromkeys(first + rest))[:_FIRST]
        wanted = {name: self._limit * (_FIRST - rank) // _FIRST for rank, name in enumerate(order)}
        waiting = set(rest)
        for name in [name for name, factor in self._factors.items() if factor and name in waiting]:
            wanted.setdefault(name, 0)
        for name, factor in wanted.items():
            if self._factors.get(name, 0) == factor or self._refused[name] >= REFUSALS:
                continue
            if self._pace.spent or self._audit.others_wrote:
                return Look(seen)  # the rest is for the next look
            self._pace.note()
            if actions.nudge(self._audit, name, factor):
                self._factors[name] = factor
            else:
                self._refused[name] += 1
        self._decided = decided
        return Look(seen)
