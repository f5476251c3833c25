"""Random selections, in families, and selections from a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from transom.errors import SpecError
from transom.io.objective_names import named_terms
from transom.models import Cluster, JobTable, Objective, Selection, Window
from transom.models.arrays import BoolArray, IntArray
from transom.models.selection_reduction import reduce_selection
from transom.simulation import Schedule
from transom.simulation.snapshots import snapshots

_LONGEST_WAIT = 12 * 3600  # [s]
_LONGEST_WALLTIME = 24  # [h]
_PRIORITIES = 10


def _uniform(rng: np.random.Generator, jobs: int, resources: int, largest: int) -> IntArray:
    """Everything from 1 to the largest demand alike, the resources independent."""
    return rng.integers(1, largest, (jobs, resources), endpoint=True)


def _correlated(rng: np.random.Generator, jobs: int, resources: int, largest: int) -> IntArray:
    """Large jobs ask for much of everything: a size of the job, give or take a fifth for each resource."""
    size = rng.uniform(0.05, 1.0, (jobs, 1)) * largest
    return _whole(size * rng.uniform(0.8, 1.2, (jobs, resources)), largest)


def _inverse(rng: np.random.Generator, jobs: int, resources: int, largest: int) -> IntArray:
    """Who asks for much of one resource asks for little of the others: a random split of much the same size."""
    size = rng.uniform(0.6, 1.0, (jobs, 1)) * largest
    return _whole(size * rng.dirichlet(np.ones(resources), jobs), largest)


def _ties(rng: np.random.Generator, jobs: int, resources: int, largest: int) -> IntArray:
    """From 1 to 3, whatever the largest demand: many jobs and many choices are worth the same."""
    return rng.integers(1, min(3, largest), (jobs, resources), endpoint=True)


def _heavy(rng: np.random.Generator, jobs: int, resources: int, largest: int) -> IntArray:
    """Pareto amounts of shape 1.2, cut at the largest demand: many small ones, a few of the size of the machine."""
    return _whole(largest / 50 * (1 - rng.random((jobs, resources))) ** (-1 / 1.2), largest)


def _sparse(rng: np.random.Generator, jobs: int, resources: int, largest: int) -> IntArray:
    """Of the resources after the first, a job asks for each with a chance of 2 in 5, as for GPUs or burst buffer."""
    amounts = rng.integers(1, largest, (jobs, resources), endpoint=True)
    amounts[:, 1:] *= rng.random((jobs, resources - 1)) < 0.4
    return amounts


FAMILIES: dict[str, Callable[[np.random.Generator, int, int, int], IntArray]] = {
    "uniform": _uniform,
    "correlated": _correlated,
    "inverse": _inverse,
    "ties": _ties,
    "heavy": _heavy,
    "sparse": _sparse,
}
"""How demands of random selections come about, by name."""


class Marked(NamedTuple):
    """Shares of the jobs that are special, each from 0 to 1.

    Parameters
    ----------
    forced, excluded : those that are chosen in any case (as long as they fit together), or in none.
    requires : of the jobs after the first, those that require an earlier one.
    """

    forced: float = 0.0
    excluded: float = 0.0
    requires: float = 0.0


def family_selection(
    family: str,
    rng: np.random.Generator,
    jobs: int = 20,
    resources: int = 3,
    largest: int = 100,
    tightness: float = 0.5,
    objectives: str = "",
    marked: Marked = Marked(),  # noqa: B008
) -> Selection:
    """A random selection: a window of jobs of a family before an idle machine.

    The first resource is ``nodes``, the others are ``r1``, ``r2`` ... Jobs have waited up to 12 hours, ask for 1 to 24
    hours and have priorities from 0 to 10, so that there are values for every objective.

    Parameters
    ----------
    family : a name of :data:`FAMILIES`.
    rng : source of all random numbers.
    jobs : how many, >= 0.
    resources : how many, ``nodes`` included, > 0.
    largest : the largest demand, > 0.
    tightness : capacity as a share of the total demand, > 0.
    objectives : names with slashes between, as :func:`~transom.io.objective_names.named_terms` takes them; by
        default every resource.
    marked : shares of special jobs.

    Raises
    ------
    SpecError : a name is unknown or a number out of range.
    """
    if family not in FAMILIES:
        raise SpecError(f"selection family {family!r} is unknown. Known: {', '.join(FAMILIES)}")
    if jobs < 0 or resources < 1 or not 0 < largest < 2**31:
        raise SpecError(
            "selection: expected jobs >= 0, resources > 0 and largest from 1 to below 2**31, "
            f"got {jobs}, {resources} and {largest}"
        )
    if not 0 < tightness < 2**10:
        raise SpecError(f"selection: tightness must be > 0 and below 1024, got {tightness:g}")
    if not all(0 <= share <= 1 for share in marked):
        raise SpecError("selection: shares must be from 0 to 1, got {:g}, {:g} and {:g}".format(*marked))
    demands = FAMILIES[family](rng, jobs, resources, largest)
    wait = rng.integers(0, _LONGEST_WAIT, jobs, endpoint=True)
    walltime = 3600 * rng.integers(1, _LONGEST_WALLTIME, jobs, endpoint=True)
    priority = rng.integers(0, _PRIORITIES, jobs, endpoint=True)
    capacity = np.maximum(1, np.rint(tightness * demands.sum(axis=0))).astype(np.int64)
    cluster = Cluster(int(capacity[0]), tuple(f"r{r}" for r in range(1, resources)), tuple(capacity[1:].tolist()))
    wait = -np.sort(-wait)  # the queue stands by submission
    ids, users = np.arange(1, jobs + 1), np.full(jobs, -1)
    table = np.column_stack((ids, _LONGEST_WAIT - wait, demands[:, 0], walltime, users, priority, demands[:, 1:]))
    nobody = JobTable(np.empty((0, table.shape[1]), np.int64))
    window = Window(_LONGEST_WAIT, cluster, JobTable(table), nobody, np.empty(0, np.int64), capacity)
    plain = Selection.from_window(window, named_terms(objectives, cluster))
    return _marked(plain, rng, *marked) if any(marked) else plain


def replayed_selections(
    schedule: Schedule,
    every: int = 3600,
    size: int = 20,
    minimum: int = 2,
    objectives: str = "",
    order: str = "fcfs",
) -> Iterator[Selection]:
    """Selections from a replay: the head of the queue and the free resources just before a decision.

    Parameters
    ----------
    schedule : a replay with its decisions.
    every : minimum time between two selections [s], > 0.
    size : maximum number of jobs in the window, > 0.
    minimum : windows are left out in which fewer jobs are undecided, once those that do not fit alone and those that
        take nothing away from others are set aside.
    objectives : names with slashes between, as :func:`~transom.io.objective_names.named_terms` takes them; by
        default every resource.
    order : priority rule that orders the queue.

    Raises
    ------
    SpecError : a name is unknown or a number out of range.
    """
    if size < 1:
        raise SpecError(f"selection: size must be > 0, got {size}")
    terms = named_terms(objectives, schedule.cluster)
    return _replayed(snapshots(schedule, every, order), size, minimum, terms)


def _replayed(
    windows: Iterator[Window], size: int, minimum: int, terms: dict[str, Objective | None]
) -> Iterator[Selection]:
    for window in windows:
        problem = Selection.from_window(window, terms, np.arange(min(size, len(window.queue))))
        reduced = reduce_selection(problem)
        if reduced is not None and len(reduced.jobs) >= minimum:
            yield problem


def _marked(plain: Selection, rng: np.random.Generator, forced: float, excluded: float, requires: float) -> Selection:
    """The selection with forced and excluded jobs, and jobs that require earlier ones."""
    jobs = len(plain)
    kind = rng.random(jobs)
    out = kind > 1 - excluded
    child, other = rng.random(jobs) < requires, rng.integers(0, np.maximum(np.arange(jobs), 1))
    pairs = tuple((job, int(other[job])) for job in range(1, jobs) if child[job])
    must = _held(plain, (kind < forced) & ~out, dict(pairs), out)
    return replace(plain, forced=must, excluded=out, requires=pairs)


def _held(plain: Selection, wanted: BoolArray, parent: dict[int, int], out: BoolArray) -> BoolArray:
    """Those of the wanted jobs, one after another, that fit together with all that they require."""
    must, room = np.zeros(len(plain), bool), plain.capacity.copy()
    for job in np.flatnonzero(wanted).tolist():
        needed: list[int] = []
        at: int | None = job
        while at is not None and not must[at]:
            needed.append(at)
            at = parent.get(at)
        asked = plain.demands[needed].sum(axis=0)
        if (asked <= room).all() and not out[needed].any():
            must[needed] = True
            room -= asked
    must &= wanted
    return must


def _whole(amounts: np.ndarray, largest: int) -> IntArray:
    whole: IntArray = np.clip(np.rint(amounts), 1, largest).astype(np.int64)
    return whole
