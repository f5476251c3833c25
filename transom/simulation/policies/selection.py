"""Selection policies: window, selection, front, decision rule, start; promises keep jobs from starving."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom.errors import PolicyError, SpecError
from transom.io.objective_names import named_terms
from transom.models import Objective, Selection, Window
from transom.models.arrays import BoolArray, IntArray
from transom.models.decision_rules import DecisionRule
from transom.rng import stream
from transom.simulation.core.decision import Decision
from transom.simulation.core.site_order import load_rule
from transom.simulation.policies.reservation_table import ReservationTable
from transom.solving import Solver, answer, warm_up
from transom.stop import Stop

SIZE = 20
"""Jobs in a window of which nothing else is stated, as in BBSched."""

_NOTHING = np.empty(0, np.int64)


@dataclass(slots=True)
class SelectionPolicy:
    """Solve a selection over the first jobs of the queue, and start one point of its front.

    The window holds the first waiting jobs, in the site's order, that nothing is promised to. What the decision
    rule takes of the front is placed in queue order, then whatever else of the window fits.

    Starvation is kept out of the optimisation: a job is *passed over* by a pass in which it waits and a job behind
    it in the site's order starts. The pass that passes it over for the ``bound``-th time promises it the earliest
    start in the free profile of all resources that delays no running job and no earlier promise. With walltimes that
    jobs do not outrun it starts then or earlier: a promise never gets later (:class:`ReservationTable`), and several
    queue in the order in which they were made. Jobs that would delay one are not offered to the solver, and where
    those that it chose would only together, the last of them in queue order are cut.

    Parameters
    ----------
    order : priority rule that orders the queue.
    size : jobs in the window, > 0; 20 where neither it nor ``k`` is stated.
    k : instead, the knob: ``ceil(k * queue)`` jobs, from 0 to 1. 0 is the plain order of the site, in which jobs start
        until one does not fit.
    objectives : resources and registered objectives with slashes between; every resource by default.
    solver : a registered solver of selections or a specification.
    rule : a registered decision rule or a specification.
    seconds, iterations : the solver's :class:`~transom.stop.Stop` per window.
    bound : passes over a job before it is promised its start, > 0; None lets jobs starve.
    backfill : whether jobs behind the window start too, in queue order, where they fit and delay no promise.

    Raises
    ------
    SpecError : a condition above does not hold, a name is unknown, or the solver does not take selections.

    Notes
    -----
    Columns of its decisions: ``window`` (jobs in it), ``pruned`` (of those, jobs that do not fit alone), ``barred``
    (jobs that fit, but would delay a promise), ``points`` (of the front; 0 where the solver was not asked),
    ``status`` (of its result; ``none`` where no job could start, ``order`` where k is 0), ``seconds`` (of the
    solver), ``cut`` (jobs chosen that would delay a promise together) and ``promised`` (promises that hold then).

    References
    ----------
    Fan, Lan, MultiSched, section 2. The poster has no protection from starvation; BBSched has a bound of passes.
    """

    own_bound: ClassVar[str] = "bound=N says how many passes may pass over a job"

    order: str = "fcfs"
    size: int | None = None
    k: float | None = None
    objectives: str = ""
    solver: str = "auto"
    rule: str = "trade-off"
    seconds: registry.Seconds | None = 1.0
    iterations: int | None = None
    bound: int | None = 50
    backfill: bool = False

    _solver: Solver = field(init=False, repr=False)
    _rule: DecisionRule = field(init=False, repr=False)
    _stop: Stop = field(init=False, repr=False)
    _terms: dict[tuple[str, ...], dict[str, Objective | None]] = field(default_factory=dict, init=False, repr=False)
    _seeds: np.random.Generator = field(init=False, repr=False)
    _promises: ReservationTable = field(init=False, repr=False)
    _passed: dict[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.size is not None and self.size < 1:
            raise SpecError(f"selection: size must be > 0, got {self.size}")
        if self.size is not None and self.k is not None:
            raise SpecError("selection: size and k both say how many jobs the window holds; state one of them")
        if self.k is not None and not 0 <= self.k <= 1:
            raise SpecError(f"selection: k must be from 0 to 1, got {self.k}")
        if self.bound is not None and self.bound < 1:
            raise SpecError(f"selection: bound must be > 0 or none, got {self.bound}")
        load_rule(self.order)
        self._solver = registry.make(registry.SOLVERS, self.solver, Selection)
        self._rule = registry.make(registry.DECISION_RULES, self.rule)
        self._stop = Stop(seconds=self.seconds, iterations=self.iterations)
        if not issubclass(Selection, self._solver.solves):
            raise SpecError(f"selection: solver {self.solver!r} does not solve selections")
        self._forget(stream(0, "selection"))

    def reset(self, rng: np.random.Generator) -> None:
        """Forget promises and passes, draw the solver's seeds from ``rng``, load the solver."""
        self._forget(rng)
        warm_up(self._solver, Selection)

    def _forget(self, rng: np.random.Generator) -> None:
        self._seeds = rng
        self._promises = ReservationTable()
        self._passed = {}

    def decide(self, window: Window, /) -> Decision:
        """Start what was promised for now, then what was chosen of the window, then what else of it fits."""
        due, kept = self._promises.update(window)
        waiting = np.ones(len(window.queue), bool)
        waiting[due] = False
        free = waiting.copy()
        free[kept] = False
        candidates = np.flatnonzero(free)
        if self.k == 0:
            started, notes = self._in_order(candidates)
        else:
            length = (self.size or SIZE) if self.k is None else math.ceil(round(self.k * len(window.queue), 9))
            started, notes = self._optimised(window, candidates[:length], bool(due))
        if self.backfill:
            started += self._promises.start(candidates[~np.isin(candidates, started)])
        waiting[started] = False
        at_once = self._promise(window, waiting, kept)
        chosen = sorted(started + at_once)
        ids = window.queue.id
        # Ahead of a job that held a promise when the pass began.
        first = min(kept, default=len(ids))
        return Decision(
            start=tuple(ids[due + [job for job in chosen if job < first]].tolist()),
            backfill=tuple(ids[[job for job in chosen if job > first]].tolist()),
            reserve=self._promises.reservations,
            notes={**notes, "promised": len(self._promises)},
        )

    def _in_order(self, candidates: IntArray) -> tuple[list[int], dict[str, Any]]:
        started: list[int] = []
        for at in range(len(candidates)):
            if not self._promises.start(candidates[at : at + 1]):
                break
            started.append(int(candidates[at]))
        return started, _notes(status="order")

    def _optimised(self, window: Window, jobs: IntArray, claimed: bool) -> tuple[list[int], dict[str, Any]]:
        """Start jobs of the window; ``claimed`` says that promised jobs took some of what the window states as free."""
        promises = self._promises
        fits = (window.requests()[jobs] <= promises.free).all(axis=1)
        startable = promises.startable(jobs)
        notes = _notes(len(jobs), int((~fits).sum()), int((fits & ~startable).sum()))
        seed = int(self._seeds.integers(2**31))
        if not startable.any():
            return [], notes
        chosen = self._choose(window, jobs[startable | ~fits], claimed, seed, notes)
        started = promises.start(chosen)
        notes["cut"] = len(chosen) - len(started)
        rest = jobs[startable]
        return started + promises.start(rest[~np.isin(rest, started)]), notes

    def _choose(self, window: Window, jobs: IntArray, claimed: bool, seed: int, notes: dict[str, Any]) -> IntArray:
        problem = Selection.from_window(window, self._objectives(window), jobs)
        if claimed:
            problem = replace(problem, capacity=self._promises.free)
        result = answer(problem, self._solver, self._stop, seed)
        if result.error is not None:
            raise PolicyError(f"at {window.now} s: solver {self.solver!r} failed: {result.error}")
        notes.update(status=result.status, seconds=result.seconds)
        if result.solution is None:
            return _NOTHING
        notes["points"] = len(result.solution)
        taken: IntArray = jobs[result.solution.selections[self._rule(result.solution, problem)]]
        return taken

    def _objectives(self, window: Window) -> dict[str, Objective | None]:
        names = window.cluster.resources
        if names not in self._terms:
            self._terms[names] = named_terms(self.objectives, window.cluster)
        return self._terms[names]

    def _promise(self, window: Window, waiting: BoolArray, kept: list[int]) -> list[int]:
        """Count who was passed over and promise a start to those it is time for; those who can start at once do."""
        if self.bound is None:
            return []
        ids = window.queue.id
        started = np.flatnonzero(~waiting)
        for job in ids[started].tolist():
            self._passed.pop(job, None)
        over = waiting[: int(started[-1]) if len(started) else 0].copy()
        over[[job for job in kept if job < len(over)]] = False
        at_once: list[int] = []
        for position in np.flatnonzero(over).tolist():
            job = int(ids[position])
            times = self._passed.get(job, 0) + 1
            if times < self.bound:
                self._passed[job] = times
                continue
            self._passed.pop(job, None)
            if self._promises.reserve(position) is None:
                at_once.append(position)
        return at_once


def _notes(window: int = 0, pruned: int = 0, barred: int = 0, status: str = "none") -> dict[str, Any]:
    return {
        "window": window,
        "pruned": pruned,
        "barred": barred,
        "points": 0,
        "status": status,
        "seconds": 0.0,
        "cut": 0,
    }
