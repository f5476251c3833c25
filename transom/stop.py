"""When to stop: :class:`Stop` is data, :class:`Budget` is the state of one run.

A native solver translates a ``Stop`` into its own limits, a loop counts the ``Budget`` down.
Solvers hand solutions and proved bounds to the budget while they run; the budget has the problem
check and score each solution, so that no solver reports its own value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Protocol

from transom._system.cpu_clock import cpu_time
from transom.errors import StopError, shown

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    SolutionT = TypeVar("SolutionT", default=Any, covariant=True)
else:  # typing has no defaults before Python 3.13
    from typing import TypeVar

    SolutionT = TypeVar("SolutionT", covariant=True)


class Problem(Protocol[SolutionT]):
    """What every formal problem offers to the judge.

    A problem may also have ``trivial()``: the best solution where there is nothing to search for, the word
    ``"infeasible"`` where there plainly is none, else None. Solvers are then not called at all. One whose solutions
    are sets, such as a front, may have ``merged(known, new)``: all that is good in both, or ``known`` itself where
    the other adds nothing; nothing that was handed over is then ever lost. ``warm_up()``, where there is one, imports
    and compiles what answers are judged with; :func:`~transom.solving.solve` calls it before the clock starts.
    """

    @property
    def kind(self) -> str:
        """The problem's name, such as ``knapsack``."""

    @property
    def sense(self) -> str:
        """``"max"`` or ``"min"``."""

    def value(self, solution: Any, /) -> float:
        """The objective value of a feasible solution; an int where it is exact."""

    def violations(self, solution: Any, /) -> list[str]:
        """Every condition that the solution breaks, in words."""

    def frozen(self, solution: Any, /) -> SolutionT:
        """The solution, immutable."""

    def digest(self) -> str:
        """A digest of all data of the problem."""


class WrongAnswer(Exception):
    """A solver handed over a solution that is not feasible: a fault of the solver, not of the user."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Stopping criteria. A solver stops at the first one that holds, and at a proof in any case.

    Parameters
    ----------
    seconds : wall-clock time of the whole call of ``solve``, > 0 [s].
    iterations : steps of an iterative solver (its docstring defines a step), >= 0.
    target : stop at a value at least as good.
    gap : stop at ``|bound - value| / max(|value|, 1e-9)`` at most this, >= 0.
    stall : stop after this many iterations without an improvement, > 0.

    Raises
    ------
    StopError : a condition above does not hold.
    """

    seconds: float | None = None
    iterations: int | None = None
    target: float | None = None
    gap: float | None = None
    stall: int | None = None

    def __post_init__(self) -> None:
        for name, kind, words in (
            ("seconds", Real, "a number"), ("iterations", Integral, "a whole number"), ("target", Real, "a number"),
            ("gap", Real, "a number"), ("stall", Integral, "a whole number"),
        ):  # fmt: skip
            limit = getattr(self, name)
            if limit is not None and not isinstance(limit, kind):
                raise StopError(f"stop: {name} must be {words}, got {shown(limit)}")
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise StopError(f"stop: seconds must be > 0 and finite, got {self.seconds}")
        if self.iterations is not None and self.iterations < 0:
            raise StopError(f"stop: iterations must be >= 0, got {self.iterations}")
        if self.target is not None and math.isnan(self.target):
            raise StopError("stop: target must be a number, got nan")
        if self.gap is not None and not self.gap >= 0:
            raise StopError(f"stop: gap must be >= 0, got {self.gap}")
        if self.stall is not None and self.stall <= 0:
            raise StopError(f"stop: stall must be > 0, got {self.stall}")

    def start(
        self,
        problem: Problem,
        threads: int = 1,
        clock: Callable[[], float] = perf_counter,
        report: Callable[[Budget], Any] | None = None,
    ) -> Budget:
        """A fresh budget for one run on ``problem``; its clock starts now, and it is reported as it gets better."""
        return Budget(self, problem, threads, clock, report)


def relative_gap(value: float | None, bound: float | None) -> float | None:
    """``|bound - value| / max(|value|, 1e-9)``, or None while one of them is unknown."""
    if value is None or bound is None:
        return None
    return abs(bound - value) / max(abs(value), 1e-9)


class Budget:
    """The state of a run: what remains of a :class:`Stop`, the incumbent and the best bound.

    Attributes
    ----------
    stop : the criteria.
    threads : how many threads a solver may use.
    clock : the source of the time; in place of :func:`time.process_time` one that is never coarse.
    solution, value : the incumbent and its value; None before the first solution.
    bound : the best proved bound so far; None while nothing is proved.
    infeasible : whether a solver proved that no solution exists.
    reason : why :meth:`done` returned True; None before.
    ran_short : whether the remaining time was too short for a solver's next step (:meth:`short`).
    curve : (seconds, value, bound) at every improvement of either.
    notes : what a solver reports, such as the method that ``auto`` chose.
    """

    def __init__(
        self,
        stop: Stop,
        problem: Problem,
        threads: int = 1,
        clock: Callable[[], float] = perf_counter,
        report: Callable[[Budget], Any] | None = None,
    ) -> None:
        self.stop = stop
        self.threads = threads
        self.solution: Any = None
        self.value: float | None = None
        self.bound: float | None = None
        self.infeasible = False
        self.reason: str | None = None
        self.ran_short = False
        self.curve: list[tuple[float, float | None, float | None]] = []
        self.notes: dict[str, Any] = {}
        self.iterations = 0
        self._improved_at = 0
        self._problem = problem
        self._report = report
        self._maximise = problem.sense == "max"
        self.clock = cpu_time if clock is process_time else clock
        self._started = self.clock()

    def seconds(self) -> float:
        """Wall-clock time since the start [s]."""
        return self.clock() - self._started

    def seconds_left(self) -> float:
        """Wall-clock time left [s], never negative, infinite without a limit."""
        if self.stop.seconds is None:
            return math.inf
        return max(0.0, self.stop.seconds - self.seconds())

    def wall_seconds_left(self) -> float:
        """What a native solver that looks at the wall clock may be given as its own limit [s].

        The time left, infinite without a limit and where seconds are read from another clock: a machine with other
        work would cut it short. Whoever waits for such a solver asks this budget, and stops it.
        """
        return self.seconds_left() if self.wall else math.inf

    @property
    def wall(self) -> bool:
        """Whether seconds are of the wall clock."""
        return self.clock is perf_counter

    def short(self, seconds: float) -> bool:
        """Whether less time is left than a solver needs for its next step or for its answer [s].

        A solver that then ends says so by this call: its result is noted to have ended early.
        """
        self.ran_short = self.seconds_left() < seconds
        return self.ran_short

    def nested(self, stop: Stop, problem: Problem) -> Budget:
        """A budget of its own, on the same clock, for a solver that is called by a solver; it starts now."""
        return stop.start(problem, self.threads, self.clock)

    def part(
        self,
        problem: Problem | None = None,
        *,
        seconds: float | None = None,
        iterations: int | None = None,
        stall: int | None = None,
        found: Callable[[Any], Any] | None = None,
        prove: Callable[[float], Any] | None = None,
    ) -> Budget:
        """A part of what is left, for one of several solvers that share this budget; it ends when the whole does.

        What it spends and notes counts for the whole, and so does a proof that there is no solution.

        Parameters
        ----------
        problem : another one that the solver solves on the way; by default that of the whole, which then judges what
            is found and proved.
        seconds, iterations : at most so much of what is left; all of it by default.
        stall : its own limit in place of that of the whole.
        found, prove : called with each better solution and each better bound of another problem.
        """
        limits = [limit for limit in (seconds, self.seconds_left()) if limit is not None and limit < math.inf]
        counts = [count for count in (iterations, self.iterations_left()) if count is not None]
        own = Stop(
            max(min(limits), 1e-9) if limits else None,
            min(counts, default=None),
            self.stop.target if problem is None else None,
            self.stop.gap if problem is None else None,
            stall,
        )
        return _Part(own, self, problem, found, prove)

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """A stretch that the clock does not count: imports and compilation, which no later run has."""
        began = self.clock()
        try:
            yield
        finally:
            self._started += self.clock() - began

    def iterations_left(self) -> int | None:
        """Iterations left until the limit or the stall, None without either."""
        limits = []
        if self.stop.iterations is not None:
            limits.append(self.stop.iterations - self.iterations)
        if self.stop.stall is not None:
            limits.append(self._improved_at + self.stop.stall - self.iterations)
        return max(0, min(limits)) if limits else None

    def spend(self, iterations: int = 1) -> None:
        """Count iterations."""
        self.iterations += iterations

    def found(self, solution: Any) -> bool:
        """Hand over a solution; the problem checks and scores it.

        Parameters
        ----------
        solution : None, as of a part of the search that found nothing, is passed over.

        Returns
        -------
        Whether it is better than everything handed over before, or adds to it.

        Raises
        ------
        WrongAnswer : the solution is not feasible.
        """
        if solution is None:
            return False
        broken = self._problem.violations(solution)
        if broken:
            raise WrongAnswer("; ".join(broken))
        merged = getattr(self._problem, "merged", None)
        if merged is not None and self.solution is not None:
            solution = merged(self.solution, solution)
            if solution is self.solution:
                return False
            value = self._problem.value(solution)
        else:
            value = self._problem.value(solution)
            if self.value is not None and not self._better(value, self.value):
                return False
        self.solution = self._problem.frozen(solution)
        self.value = value
        self._improved_at = self.iterations
        self._record()
        return True

    def prove(self, bound: float) -> None:
        """Hand over a proved bound: no solution is better than it. Weaker ones are ignored."""
        if math.isfinite(bound) and (self.bound is None or self._better(self.bound, bound)):
            self.bound = bound
            self._record()

    def prove_infeasible(self) -> None:
        """Say that there is no feasible solution."""
        self.infeasible = True
        if self._report is not None:
            self._report(self)

    @property
    def optimal(self) -> bool:
        """Whether the best value meets the proved bound."""
        return self.value is not None and self.bound is not None and not self._better(self.bound, self.value)

    def done(self) -> bool:
        """Whether to stop now; ``reason`` then says why (proof, target, gap, iterations, stall, time)."""
        self.reason = self._why()
        return self.reason is not None

    def _why(self) -> str | None:
        stop = self.stop
        if self.optimal or self.infeasible:
            return "proof"
        if stop.target is not None and self.value is not None and not self._better(stop.target, self.value):
            return "target"
        gap = relative_gap(self.value, self.bound)
        if stop.gap is not None and gap is not None and gap <= stop.gap:
            return "gap"
        if stop.iterations is not None and self.iterations >= stop.iterations:
            return "iterations"
        if stop.stall is not None and self.iterations - self._improved_at >= stop.stall:
            return "stall"
        if stop.seconds is not None and self.seconds() >= stop.seconds:
            return "time"
        return None

    def _better(self, a: float, b: float) -> bool:
        return a > b if self._maximise else a < b

    def _record(self) -> None:
        self.curve.append((self.seconds(), self.value, self.bound))
        if self._report is not None:
            self._report(self)


class _Part(Budget):
    """What :meth:`Budget.part` returns."""

    def __init__(
        self,
        stop: Stop,
        whole: Budget,
        problem: Problem | None,
        found: Callable[[Any], Any] | None,
        prove: Callable[[float], Any] | None,
    ) -> None:
        super().__init__(stop, problem or whole._problem, whole.threads, whole.clock)
        self._whole, self._same, self.notes = whole, problem is None, whole.notes
        self._on_found, self._on_proved = found, prove
        self._sync()

    def _sync(self) -> None:
        if self._same:
            self.solution, self.value, self.bound = self._whole.solution, self._whole.value, self._whole.bound

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        with self._whole.uncounted(), super().uncounted():
            yield

    def spend(self, iterations: int = 1) -> None:
        super().spend(iterations)
        self._whole.spend(iterations)

    def found(self, solution: Any) -> bool:
        better = self._whole.found(solution) if self._same else super().found(solution)
        if better:
            self._improved_at = self.iterations
            if self._on_found is not None:
                self._on_found(solution)
        self._sync()
        return better

    def prove(self, bound: float) -> None:
        before = self.bound
        if self._same:
            self._whole.prove(bound)
        else:
            super().prove(bound)
        self._sync()
        if self._on_proved is not None and self.bound is not None and self.bound != before:
            self._on_proved(self.bound)

    def prove_infeasible(self) -> None:
        super().prove_infeasible()
        self._whole.prove_infeasible()

    def _why(self) -> str | None:
        self._sync()
        return super()._why() or self._whole._why()
