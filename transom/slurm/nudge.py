"""A policy that only influences the order: Slurm's own scheduler starts all jobs, and none is ever held.

The first jobs in the order that the policy would start them get a site factor, a part of their priority that only
operators may set. Without Transom the factors stay as they are until `transom slurm release` takes them back.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from transom.errors import SlurmError
from transom.slurm import actions
from transom.slurm.acting import REFUSALS, Pace, events_of
from transom.slurm.advice import Adviser
from transom.slurm.audit import Audit
from transom.slurm.commands import run_slurm
from transom.slurm.consistency import look
from transom.slurm.decisions import note_decision
from transom.slurm.drive import Look, Terms
from transom.slurm.window import window_of

_FIRST = 50  # jobs that get a factor


class Nudger:
    """Looks at a Slurm again and again, and sets site factors.

    Parameters
    ----------
    adviser, terms, audit : as of :class:`~transom.slurm.drive.Driver`.
    limit : the largest factor, of the job that should start first, > 0.

    Raises
    ------
    SlurmError : Slurm's priorities do not have several factors.
    """

    def __init__(self, adviser: Adviser, terms: Terms, audit: Audit | None, limit: int) -> None:
        self._adviser, self._terms, self._audit, self._limit = adviser, terms, audit, limit
        self._factors = {} if audit is None else audit.catch_up().factors
        self._refused = Counter[str]()
        self._pace = Pace(terms.per_minute)
        self._decided: Any = None
        if "priority/multifactor" not in run_slurm("scontrol", "show", "config"):
            raise SlurmError("nudge needs PriorityType=priority/multifactor: other priorities have no site factor")

    def look(self) -> Look:
        """Read the state, decide if something has changed, and set factors.

        Raises
        ------
        SlurmError : Slurm does not answer.
        """
        selector = self._terms.selector
        state = look(self._terms.ask)
        if self._audit is not None and self._audit.others_wrote:
            self._factors, self._decided = self._audit.catch_up().factors, None
        types, where = self._adviser.keeps_types, self._terms.partition
        seen = window_of(state, where, self._adviser.order, False, selector.takes, types=types)
        window = seen.window
        events = events_of(seen)
        if events == self._decided or not len(window.queue):
            return Look(seen, [], [], [], [])
        advice = self._adviser.advise(seen)
        if self._audit is None:
            self._decided = events
            return Look(seen, advice.starts, [], [], [])
        note_decision(self._audit, seen, advice.starts)
        first = [start.job.name for start in advice.starts]
        rest = [seen.jobs[job].name for job in window.queue.id.tolist()]
        order = list(dict.fromkeys(first + rest))[:_FIRST]
        wanted = {name: self._limit * (_FIRST - rank) // _FIRST for rank, name in enumerate(order)}
        waiting = set(rest)
        for name in [name for name, factor in self._factors.items() if factor and name in waiting]:
            wanted.setdefault(name, 0)
        for name, factor in wanted.items():
            if self._factors.get(name, 0) == factor or self._refused[name] >= REFUSALS:
                continue
            if self._pace.spent or self._audit.others_wrote:
                return Look(seen, [], [], [], [])  # the rest is for the next look
            self._pace.note()
            if actions.nudge(self._audit, name, factor):
                self._factors[name] = factor
            else:
                self._refused[name] += 1
        self._decided = events
        return Look(seen, [], [], [], [])
