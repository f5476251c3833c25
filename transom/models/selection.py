"""Selection: which jobs of a window to start, seen from several resources at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError, shown
from transom.models.arrays import (
    NONE,
    BoolArray,
    FloatArray,
    Frozen,
    IntArray,
    Like,
    Several,
    expected,
    frozen_ints,
    frozen_marks,
    model,
    whole,
)
from transom.models.objectives import SCALE, Objective
from transom.models.pareto_front import ParetoFront, hypervolume_share, nondominated, pareto_front, prepare
from transom.models.task_graph import adjacency, cycle, topological_order
from transom.models.window import Window

_EXACT = 2**53  # sums below it are exact in double precision, in which fronts are filtered
_DEFAULT: Any = None  # what a field that may be left out is until the constructor has filled it in
_AT_ONCE = 2**18  # pairs of a selection and a job that are compared at once
_ONE_BY_ONE = 500  # jobs that are asked whether they fit until it is asked again which may fit at all
_SHOWN = 3  # broken conditions of one kind that a message names


@model
class Selection(Frozen):
    r"""Choose jobs that fit together such that no other selection is better in every objective.

    .. math:: \max \left(o_1 \cdot x, \dots, o_p \cdot x\right) \quad\text{s.t.}\quad
        d_r \cdot x \le C_r\ (r = 1 \dots m),\ x_j \le x_i \text{ where } j \text{ requires } i,\ x \in \{0, 1\}^n

    A solution is a :class:`~transom.models.ParetoFront` of feasible selections with distinct values. None dominates
    another, and no further job can be added to any. For gaps and curves, its value is the
    :func:`~transom.models.pareto_front.hypervolume_share` relative to :attr:`ceiling`.

    Parameters
    ----------
    demands : the requests of each job, int64, >= 0, shape ``(jobs, resources)``.
    capacity : the free amount of each resource, >= 0, shape ``(resources,)``.
    objectives : value of each job in each objective, int64, >= 0, shape ``(jobs, objectives)``; the demands by default.
    resources : names of the resources, distinct; ``r0``, ``r1`` ... by default.
    terms : names of the objectives, distinct; by default those of the resources. An objective with the name of a
        resource is the demand on it and is shown as its utilisation.
    scales : the factor by which each objective was multiplied before rounding, > 0; 1 by default.
    totals : the reference of utilisation, >= capacity, shape ``(resources,)``; the capacity by default.
    forced, excluded : jobs that must or must not be chosen, bool, shape ``(jobs,)``; none by default.
    requires : pairs ``(job, other)`` of positions: the job may only be chosen together with the other one.

    Raises
    ------
    ModelError : shapes differ, an amount is negative, a sum does not stay below 2**53, a name stands twice, an
        objective named after a resource is something else, or jobs require each other in a circle.

    References
    ----------
    Fan and Lan (2019), section 2.2.
    """

    kind: ClassVar[str] = "selection"
    sense: ClassVar[str] = "max"

    demands: Like[IntArray]
    capacity: Like[IntArray]
    objectives: Like[IntArray] = _DEFAULT
    resources: Several[str] = NONE
    terms: Several[str] = NONE
    scales: Several[int] = NONE
    totals: Like[IntArray] = _DEFAULT
    forced: Like[BoolArray] = _DEFAULT
    excluded: Like[BoolArray] = _DEFAULT
    requires: Several[tuple[int, int]] = NONE

    def __post_init__(self) -> None:
        demands = _amounts(self.demands, "demands", (-1, -1))
        jobs, resources = demands.shape
        capacity = _amounts(self.capacity, "capacity", (resources,))
        objectives = demands if self.objectives is None else _amounts(self.objectives, "objectives", (jobs, -1))
        totals = capacity if self.totals is None else _amounts(self.totals, "totals", (resources,))
        if resources == 0 or objectives.shape[1] == 0:
            raise ModelError("selection: it needs a resource and an objective at least")
        if (totals < capacity).any():
            raise ModelError(f"selection: totals {totals.tolist()} are less than the capacity {capacity.tolist()}")
        names = _names(self.resources, "resources", tuple(f"r{r}" for r in range(resources)))
        default = names if self.objectives is None else tuple(f"o{k}" for k in range(objectives.shape[1]))
        terms = _names(self.terms, "terms", default)
        scales = tuple(frozen_ints(self.scales, "selection: scales", (-1,)).tolist()) or (1,) * len(terms)
        if len(scales) != len(terms) or min(scales) < 1:
            raise ModelError(f"selection: expected a scale > 0 for each of {len(terms)} objectives, got {scales}")
        for k, term in enumerate(terms):
            if term in names and not np.array_equal(objectives[:, k], demands[:, names.index(term)]):
                raise ModelError(f"selection: the objective {term!r} is not the demand on that resource")
        for name, value in (("demands", demands), ("capacity", capacity), ("objectives", objectives)):
            object.__setattr__(self, name, value)
        for name in ("forced", "excluded"):
            object.__setattr__(self, name, frozen_marks(getattr(self, name), f"selection: {name}", jobs))
        object.__setattr__(self, "totals", totals)
        object.__setattr__(self, "resources", names)
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "scales", scales)
        object.__setattr__(self, "requires", _pairs(self.requires, jobs))

    @classmethod
    def from_window(
        cls,
        window: Window,
        objectives: Mapping[str, Objective | None] | Iterable[str] | None = None,
        jobs: ArrayLike | None = None,
        forced: ArrayLike = (),
    ) -> Selection:
        """The selection of a window: its queued jobs, nodes and further resources.

        Parameters
        ----------
        window : the window. A job whose parent waits or runs in it cannot start now: it is excluded.
        objectives : what to maximise, by name: names of resources (``nodes`` is the first), or objectives of any
            name, whose floats are scaled by :data:`~transom.models.objectives.SCALE` and rounded, positive ones
            to 1 at least. By default every resource.
        jobs : positions in the queue that can be chosen, shape ``(jobs,)``, by default all.
        forced : positions in the queue, among ``jobs``, that have to be chosen, shape ``(forced,)``.

        Raises
        ------
        ModelError : a name is not that of a resource, or the window has no such job.
        """
        expected(window, Window, "selection: window", "a Window")
        names = ("nodes", *window.cluster.resources)
        wanted = _wanted(objectives, names)
        index = window.positions(jobs)
        requests = window.requests()[index]
        columns, scales = [], []
        for term, objective in wanted.items():
            values = requests[:, names.index(term)] if objective is None else np.asarray(objective(window))[index]
            scales.append(SCALE if values.dtype.kind == "f" else 1)
            if scales[-1] > 1:
                # What is worth something stays worth something, or the job would not count at all.
                values = np.where(values > 0, np.maximum(np.rint(values * SCALE), 1), np.rint(values * SCALE))
            columns.append(values)
        ids = window.queue.id[index].tolist()
        present = {*window.queue.id.tolist(), *window.running.id.tolist()}
        parents = window.queue.depends_on
        needed = frozen_ints(forced, "selection: forced", (-1,))
        must = np.isin(index, needed)
        if must.sum() != len(set(needed.tolist())):
            raise ModelError(f"selection: forced jobs {needed.tolist()} are not all among the jobs")
        return cls(
            demands=requests,
            capacity=window.available,
            objectives=frozen_ints(np.column_stack(columns), "selection: objectives"),
            resources=names,
            terms=tuple(wanted),
            scales=tuple(scales),
            totals=frozen_ints([window.cluster.num_nodes, *window.cluster.capacities], "selection: totals"),
            forced=must,
            excluded=np.array([bool(present.intersection(parents.get(job, ()))) for job in ids], bool),
        )

    def __len__(self) -> int:
        return len(self.demands)

    @property
    def ceiling(self) -> IntArray:
        """An upper bound of each objective, shape ``(objectives,)``: all jobs, or for a demand what is free."""
        bound: IntArray = self.objectives.sum(axis=0)
        for k, term in enumerate(self.terms):
            if term in self.resources:
                bound[k] = min(bound[k], self.capacity[self.resources.index(term)])
        return bound

    def evaluate(self, selections: ArrayLike) -> IntArray:
        """Values of selections of shape ``(points, jobs)``, shape ``(points, objectives)``."""
        return _total(selections, self.objectives)

    def used(self, selections: ArrayLike) -> IntArray:
        """What selections of shape ``(points, jobs)`` take of each resource, shape ``(points, resources)``."""
        return _total(selections, self.demands)

    def in_display_units(self, values: ArrayLike) -> FloatArray:
        """Values as people read them: utilisation from 0 to 1 for a resource, else without the scale.

        Parameters
        ----------
        values : shape ``(points, objectives)``.
        """
        divisor = [
            float(max(1, self.totals[self.resources.index(term)])) if term in self.resources else float(scale)
            for term, scale in zip(self.terms, self.scales, strict=True)
        ]
        shown: FloatArray = np.asarray(values) / np.array(divisor)
        return shown

    def feasible(self, selections: ArrayLike) -> BoolArray:
        """Which selections of shape ``(points, jobs)`` break no condition, shape ``(points,)``."""
        chosen = np.asarray(selections, bool)
        fine: BoolArray = np.all(self.used(chosen) <= self.capacity, axis=1)
        fine &= np.all(chosen[:, self.forced], axis=1) & ~np.any(chosen[:, self.excluded], axis=1)
        for job, other in self.requires:
            fine &= ~chosen[:, job] | chosen[:, other]
        return fine

    def greedy_complete(self, selections: ArrayLike) -> BoolArray:
        """Feasible selections of shape ``(points, jobs)``, each with every further job that fits, in queue order."""
        chosen = np.array(selections, dtype=bool)
        room = self.capacity - self.used(chosen)
        while True:
            added, jobs = False, self._addable(chosen, room)
            while jobs:
                some, jobs = jobs[:_ONE_BY_ONE], jobs[_ONE_BY_ONE:]
                for job in some:
                    fits = self._fits(job, chosen, room)
                    if fits.any():
                        chosen[fits, job] = True
                        room[fits] -= self.demands[job]
                        added = True
                if jobs:  # of thousands most fit nowhere once hundreds have been added
                    jobs = [job for job in self._addable(chosen, room) if job > some[-1]]
            # A job may come before one that it requires: once more, then.
            if not added or not self.requires:
                return chosen

    def front(self, selections: ArrayLike) -> ParetoFront:
        """The front of some feasible selections of shape ``(points, jobs)``, completed first."""
        chosen = self.greedy_complete(selections)
        return pareto_front(self.evaluate(chosen), chosen)

    def merged(self, known: ParetoFront, new: ParetoFront) -> ParetoFront:
        """What is left of two fronts together; ``known`` itself where the other adds nothing."""
        both = np.concatenate((known.values, new.values))
        kept = nondominated(both)  # once: with many objectives it takes longer than all the rest
        if kept[: len(known)].all() and not kept[len(known) :].any():
            return known
        points, chosen = both[kept], np.concatenate((known.selections, new.selections))[kept]
        order = np.lexsort(-points.T[::-1])
        return ParetoFront(points[order], chosen[order])

    def value(self, solution: ParetoFront) -> float:
        """The share of hypervolume that a front dominates."""
        return hypervolume_share(solution.values, self.ceiling)

    def violations(self, solution: Any) -> list[str]:
        """Everything that is wrong with a front, in words; empty if it is one."""
        if not isinstance(solution, ParetoFront):
            return [f"a solution is a ParetoFront, got {type(solution).__name__}"]
        points, chosen = len(solution), solution.selections
        if chosen.shape[1] != len(self):
            return [f"selections have shape ({points}, {len(self)}), got {chosen.shape}"]
        if solution.values.shape[1] != len(self.terms):
            return [f"values have shape ({points}, {len(self.terms)}), got {solution.values.shape}"]
        used = self.used(chosen)
        broken = _violation(np.any(solution.values != self.evaluate(chosen), axis=1), "is not worth what is stated")
        for r, name in enumerate(self.resources):
            broken += _violation(
                used[:, r] > self.capacity[r], f"takes more than the {self.capacity[r]} that are free of {name}"
            )
        broken += _violation(~np.all(chosen[:, self.forced], axis=1), "lacks a forced job")
        broken += _violation(np.any(chosen[:, self.excluded], axis=1), "holds an excluded job")
        for job, other in self.requires:
            broken += _violation(
                chosen[:, job] & ~chosen[:, other], f"holds job {job} without job {other}, which it requires"
            )
        if broken:
            return broken
        room = self.capacity - used
        for job in self._addable(chosen, room):
            broken += _violation(self._fits(job, chosen, room), f"leaves out job {job}, which still fits")
        return broken + _violation(~nondominated(solution.values), "is no better than another point in any objective")

    def frozen(self, solution: ParetoFront) -> ParetoFront:
        """The front: it is immutable already."""
        return solution

    def trivial(self) -> ParetoFront | str | None:
        """The only point where every job that fits beside the forced ones fits at once, or where those jobs are all
        equal; ``infeasible`` where the forced ones do not fit, else None.
        """
        must = self.forced.copy()
        while more := [other for job, other in self.requires if must[job] and not must[other]]:
            must[more] = True
        room = self.capacity - self.demands[must].sum(axis=0)
        if (room < 0).any() or (must & self.excluded).any():
            return "infeasible"
        fits = (self.demands <= room).all(axis=1) & ~self.excluded & ~must
        open_ = np.hstack((self.demands, self.objectives))[fits]
        # As many equal jobs as fit are worth the same, whichever they are.
        equal = not self.requires and bool((open_ == open_[:1]).all())
        if not equal and (self.demands[fits].sum(axis=0) > room).any():
            return None
        chosen = self.greedy_complete(must[None, :])
        return self.front(chosen) if equal or not (fits & ~chosen[0]).any() else None

    def warm_up(self) -> None:
        """Import and compile what fronts are judged with, which is no part of a solver's time."""
        prepare(len(self.terms))

    def _addable(self, chosen: BoolArray, room: IntArray) -> list[int]:
        """Jobs that fit into what a selection leaves that lacks them, of which ``room`` says what each leaves."""
        if not len(chosen):
            return []
        jobs = np.flatnonzero(
            (self.demands <= room.max(axis=0)).all(axis=1) & ~self.excluded & ~chosen.all(axis=0)
        )  # most jobs of a window fit nowhere
        found, step = [jobs[:0]], max(1, _AT_ONCE // max(1, len(jobs)))
        for first in range(0, len(chosen), step):
            here = slice(first, first + step)
            fits = ~chosen[here, jobs]
            for demand, left in zip(self.demands[jobs].T, room[here].T, strict=True):
                fits &= demand <= left[:, None]
            some = fits.any(axis=0)
            found.append(jobs[some])
            jobs = jobs[~some]
        addable: list[int] = np.sort(np.concatenate(found)).tolist()
        return addable

    def _fits(self, job: int, chosen: BoolArray, room: IntArray) -> BoolArray:
        """To which selections a job can be added, of which ``room`` says what they leave."""
        fits: BoolArray = np.all(self.demands[job] <= room, axis=1)
        if fits.any():  # few do, of most jobs
            fits &= ~chosen[:, job]
            fits &= np.all(chosen[:, [other for child, other in self.requires if child == job]], axis=1)
        return fits


def _amounts(values: ArrayLike, name: str, shape: tuple[int, ...]) -> IntArray:
    array = frozen_ints(values, f"selection: {name}", shape)
    if array.size and array.min() < 0:
        at = np.unravel_index(int(array.argmin()), array.shape)
        where = f"job {at[0]}: " if array.ndim == 2 else ""
        raise ModelError(f"selection: {where}{name} must be >= 0, got {array[at]}")
    # Jobs are added up, resources are not.
    if array.size and (array.astype(np.float64).sum(axis=0) if array.ndim == 2 else array).max() >= _EXACT:
        what = f"the sum of the {name}" if array.ndim == 2 else name
        raise ModelError(f"selection: {what} does not stay below 2**53")
    return array


def _names(given: Sequence[str], what: str, default: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(given) or default if isinstance(given, (tuple, list)) else ()
    if not all(isinstance(name, str) for name in names) or not names:
        raise ModelError(f"selection: {what} must be {len(default)} distinct names, got {shown(given)}")
    if len(names) != len(default) or len(set(names)) != len(names) or "" in names:
        raise ModelError(f"selection: {what} must be {len(default)} distinct names, got {names}")
    return names


def _pairs(given: Iterable[tuple[int, int]], jobs: int) -> tuple[tuple[int, int], ...]:
    try:
        pairs = tuple(sorted({(whole(job, "job"), whole(other, "job")) for job, other in given}))
    except (TypeError, ValueError):
        raise ModelError(f"selection: requires must be pairs (job, job), got {shown(given)}") from None
    for job, other in pairs:
        if not (0 <= job < jobs and 0 <= other < jobs):
            raise ModelError(f"selection: job {job} requires job {other}, but there are {jobs}")
    if not pairs:
        return pairs
    parents, children = adjacency(np.array(pairs, np.int64)[:, ::-1], jobs)
    if (circle := cycle(parents, topological_order(parents, children))) is not None:
        raise ModelError(f"selection: job {circle[0]} requires itself, in a circle")
    return pairs


def _wanted(
    objectives: Mapping[str, Objective | None] | Iterable[str] | None, names: tuple[str, ...]
) -> Mapping[str, Objective | None]:
    if objectives is None:
        return dict.fromkeys(names)
    expected(objectives, Iterable, "selection: objectives", "names of resources, or objectives by name")
    if not objectives:
        raise ModelError("selection: it needs an objective at least")
    for term in objectives:
        expected(term, str, "selection: objectives", "names")
    wanted = objectives if isinstance(objectives, Mapping) else dict.fromkeys(objectives)
    for term, objective in wanted.items():
        if objective is None and term not in names:
            raise ModelError(f"selection: {term!r} is no resource of the cluster; it has {', '.join(names)}")
        if objective is not None and term in names:
            raise ModelError(f"selection: the objective {term!r} has the name of a resource")
    return wanted


def _total(selections: ArrayLike, columns: IntArray) -> IntArray:
    chosen = np.asarray(selections, bool)
    # In double precision, which is exact below 2**53 and much faster than integers.
    total: IntArray = (chosen.astype(np.float64) @ columns.astype(np.float64)).astype(np.int64)
    return total


def _violation(wrong: BoolArray, what: str) -> list[str]:
    if not wrong.any():
        return []
    at = np.flatnonzero(wrong)
    more = f" and {len(at) - _SHOWN} more points" if len(at) > _SHOWN else ""
    return [f"point {point} {what}" + (more if n == _SHOWN - 1 else "") for n, point in enumerate(at[:_SHOWN].tolist())]
