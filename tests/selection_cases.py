"""Small selections and their fronts by plain enumeration, for the tests of everything that solves them."""

from __future__ import annotations

from itertools import product

import numpy as np

from transom.models import ParetoFront, Selection

Values = set[tuple[int, ...]]


def true_front(problem: Selection) -> Values:
    """The values of the front, in plain Python: every subset of the jobs, every pair of values."""
    demands, capacity = problem.demands.tolist(), problem.capacity.tolist()
    objectives = problem.objectives.tolist()
    values: Values = set()
    for chosen in product((0, 1), repeat=len(problem)):
        jobs = [job for job, taken in enumerate(chosen) if taken]
        if any(not chosen[job] for job in np.flatnonzero(problem.forced)) or any(problem.excluded[job] for job in jobs):
            continue
        if any(chosen[job] and not chosen[other] for job, other in problem.requires):
            continue
        if all(sum(demands[job][r] for job in jobs) <= limit for r, limit in enumerate(capacity)):
            values.add(tuple(sum(objectives[job][k] for job in jobs) for k in range(len(problem.terms))))
    return {value for value in values if not any(_dominates(other, value) for other in values)}


def _dominates(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return a != b and all(x >= y for x, y in zip(a, b, strict=True))


def values_of(front: ParetoFront) -> Values:
    """The values of a front."""
    return {tuple(value) for value in front.values.tolist()}


def random_selection(
    rng: np.random.Generator,
    jobs: int | None = None,
    resources: int | None = None,
    *,
    largest: int | None = None,
    terms: bool | None = None,
    marks: bool | None = None,
    tightness: float | None = None,
) -> Selection:
    """A random selection, many of them with ties, jobs that ask for nothing, and resources that cannot run out.

    Parameters
    ----------
    rng : where it comes from; what is None below is drawn from it.
    jobs, resources : how many, by default 0-9 and 1-4.
    largest : largest demand; small ones give many ties.
    terms : whether the objectives are other numbers than the demands.
    marks : whether there are forced and excluded jobs, and jobs that require others.
    tightness : capacity over the sum of the demands.
    """
    jobs = int(rng.integers(0, 10)) if jobs is None else jobs
    resources = int(rng.integers(1, 5)) if resources is None else resources
    largest = int(rng.choice([1, 3, 10, 1000])) if largest is None else largest
    terms = bool(rng.random() < 0.4) if terms is None else terms
    marks = bool(rng.random() < 0.4) if marks is None else marks
    demands = rng.integers(0, largest + 1, (jobs, resources))
    share = rng.uniform(0.1, 1.1, resources) if tightness is None else np.full(resources, tightness)
    capacity = (demands.sum(axis=0) * share).astype(int)
    objectives = rng.integers(0, largest + 1, (jobs, int(rng.integers(1, 5)))) if terms else None
    if not marks or jobs < 3:
        return Selection(demands, capacity, objectives)
    order = rng.permutation(jobs)
    pairs = [(int(order[i]), int(order[j])) for i in range(jobs) for j in range(i) if rng.random() < 0.5 / jobs]
    kind = rng.random(jobs)
    return Selection(demands, capacity, objectives, forced=kind < 0.08, excluded=kind > 0.92, requires=tuple(pairs))
