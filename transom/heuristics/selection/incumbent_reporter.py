"""Reduction before a search for fronts, and reports of incumbents in time."""

from __future__ import annotations

from transom.heuristics.selection.archive import Archive
from transom.models import Selection
from transom.models.arrays import BoolArray
from transom.models.pareto_front import EXACT_OBJECTIVES, pareto_front
from transom.models.selection_reduction import ReducedSelection, reduce_selection
from transom.solving import presolve
from transom.stop import Budget

_TOLL = 10  # reporting takes at most one part in so many of the time
_SPARE = 1.3  # how much longer than foreseen it may take
_GUESS = {True: 0.005, False: 0.03}  # seconds, whether the hypervolume is exact: before there is a measurement
_FEW = 128  # points, up to which their number makes no difference


def undecided(problem: Selection, budget: Budget) -> ReducedSelection | None:
    """What there is to search in, or None: the budget then has the whole answer."""
    if presolve(problem, budget):
        return None
    reduced = reduce_selection(problem)
    if reduced is None:
        budget.prove_infeasible()
        return None
    if len(reduced.jobs):
        budget.notes["front"] = "not complete"
        return reduced
    budget.found(problem.front(reduced.taken[None]))
    if budget.value is not None:
        budget.prove(budget.value)
    budget.notes["front"] = "complete"
    return None


class IncumbentReporter:
    """Reports points to the budget and estimates how long that takes.

    Judging a front of four or five objectives takes a time that grows with the square of its points, else a little
    more than in proportion: as much time is left for the last one.

    Parameters
    ----------
    problem, reduced : what is searched.
    budget : what the points are reported to.
    maximal : whether no further job fits beside any choice; otherwise they are completed, in queue order.
    """

    def __init__(self, problem: Selection, reduced: ReducedSelection, budget: Budget, maximal: bool) -> None:
        self._problem, self._reduced, self._budget, self._maximal = problem, reduced, budget, maximal
        objectives = reduced.objectives.shape[1]
        self._power = 2 if objectives in (4, 5) else 1.5
        self._points = _FEW
        self._took = _GUESS[objectives <= EXACT_OBJECTIVES]
        self._ended = 0.0
        self._given = 0  # additions to the archive that have been reported

    @property
    def eager(self) -> bool:
        """Whether the budget has to know about every generation."""
        return self._budget.stop.target is not None or self._budget.stop.stall is not None

    def report_rows(self, chosen: BoolArray) -> None:
        """Report choices among the undecided jobs, shape ``(points, k)``, ``points`` > 0."""
        began = self._budget.seconds()
        selections = self._reduced.selections(chosen)
        if self._maximal:
            self._budget.found(pareto_front(self._problem.evaluate(selections), selections))
        else:
            self._budget.found(self._problem.front(selections))
        self._ended = self._budget.seconds()
        self._points, self._took = max(_FEW, len(chosen)), self._ended - began

    def report(self, archive: Archive) -> None:
        """Report the archive, if it has changed since the last report."""
        if archive.additions != self._given:
            self.report_rows(archive.chosen)
            self._given = archive.additions

    def report_in_time(self, archive: Archive) -> None:
        """Report the archive where that costs little time, or where the budget needs every incumbent."""
        if self.eager or self._budget.seconds() - self._ended > _TOLL * self._took:
            self.report(archive)

    def report_before_deadline(self, archive: Archive) -> bool:
        """Whether only the time for a report is left; the archive has been reported then."""
        if archive.additions == self._given or not self.must_report(len(archive)):
            return False
        self.report(archive)
        return self.must_report(len(archive))

    def must_report(self, points: int) -> bool:
        """Whether only the time to report so many points is left."""
        grown = max(1.0, points / self._points)
        return self._budget.short(_SPARE * self._took * grown**self._power)
