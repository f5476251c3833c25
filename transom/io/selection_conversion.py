"""From selections to their documents, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transom._system.wording import counted
from transom.errors import ModelError
from transom.io.codec import Codec
from transom.io.formats import SelectionDocument
from transom.models import Selection
from transom.models.arrays import BoolArray


def selection_document(problem: Selection) -> SelectionDocument:
    """The typed document of a selection."""
    own = np.array_equal(problem.objectives, problem.demands)
    return SelectionDocument(
        capacity=tuple(problem.capacity.tolist()),
        demands=tuple(map(tuple, problem.demands.tolist())),
        objectives=None if own else tuple(map(tuple, problem.objectives.tolist())),
        resources=problem.resources,
        terms=problem.terms,
        scales=problem.scales,
        totals=tuple(problem.totals.tolist()),
        forced=tuple(np.flatnonzero(problem.forced).tolist()),
        excluded=tuple(np.flatnonzero(problem.excluded).tolist()),
        requires=problem.requires,
    )


def selection_of(document: SelectionDocument) -> Selection:
    """The selection of a typed document.

    Raises
    ------
    ModelError : what it states breaks a condition; the message names the job.
    """
    jobs, resources = len(document.demands), len(document.capacity)
    names = document.resources or tuple(f"r{r}" for r in range(resources))
    if len(names) != resources:
        raise ModelError(f"selection: capacity states {resources} resources, resources {len(names)}")
    rows = [
        amounts(stated, names, f"selection: job {job}: demand", "the instance")
        for job, stated in enumerate(document.demands)
    ]
    given: dict[str, Any] = {}
    if document.objectives is not None:
        stated = _rows(document.objectives, jobs)
        given["objectives"] = np.array(stated, np.int64).reshape(jobs, -1 if jobs else len(document.terms))
    if document.totals is not None:
        given["totals"] = np.array(document.totals, np.int64)
    return Selection(
        demands=np.array(rows, np.int64).reshape(jobs, resources),
        capacity=np.array(document.capacity, np.int64),
        resources=document.resources,
        terms=document.terms,
        scales=document.scales,
        forced=_marks(document.forced, jobs, "forced"),
        excluded=_marks(document.excluded, jobs, "excluded"),
        requires=tuple((job, other) for job, other in document.requires),
        **given,
    )


def amounts(
    stated: Sequence[int] | Mapping[str, int], resources: Sequence[str], what: str, owner: str
) -> tuple[int, ...]:
    """An amount for each resource, as a document states them: one after another, or by name.

    Parameters
    ----------
    stated : the amounts.
    resources : the names of the resources.
    what, owner : what states the amounts, and what has the resources, for messages.

    Raises
    ------
    ModelError : there are not as many as resources, or a name is not that of a resource.
    """
    if not isinstance(stated, Mapping):
        if len(stated) != len(resources):
            raise ModelError(f"{what} states {len(stated)} resources, {owner} {len(resources)}")
        return tuple(stated)
    for name in stated:
        if name not in resources:
            known = ", ".join(resources) or "none"
            raise ModelError(f"{what} names {name!r}, which is no resource of {owner}; there are: {known}")
    return tuple(stated.get(name, 0) for name in resources)


def _rows(stated: Sequence[Sequence[int]], jobs: int) -> Sequence[Sequence[int]]:
    if len(stated) != jobs:
        raise ModelError(f"selection: objectives are stated for {counted(len(stated), 'job')}, demands for {jobs}")
    for job, row in enumerate(stated):
        if len(row) != len(stated[0]):
            raise ModelError(f"selection: job {job}: {len(row)} objectives, but {len(stated[0])} of job 0")
    return stated


def _marks(positions: Sequence[int], jobs: int, what: str) -> BoolArray:
    marks = np.zeros(jobs, bool)
    for job in positions:
        if job >= jobs:
            raise ModelError(f"selection: {what}: job {job}, but there are {jobs}, counted from 0")
        if marks[job]:
            raise ModelError(f"selection: {what}: job {job} stands there twice")
        marks[job] = True
    return marks


SELECTION = Codec(SelectionDocument, selection_document, selection_of)
