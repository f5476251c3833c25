"""From placements to their documents, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transom.errors import ModelError
from transom.io.codec import Codec
from transom.io.formats import PlacementDocument
from transom.io.selection_conversion import amounts
from transom.models import Placement
from transom.models.arrays import IntArray


def placement_document(problem: Placement) -> PlacementDocument:
    """The typed document of a placement."""
    empty = np.array_equal(problem.capacities, problem.free)
    return PlacementDocument(
        free=_rows(problem.free),
        demands=_rows(problem.demands),
        waiting=tuple(problem.waiting.tolist()),
        values=None if (problem.values == 1).all() else tuple(problem.values.tolist()),
        durations=None if (problem.durations == 1).all() else tuple(problem.durations.tolist()),
        maximal=problem.maximal,
        scale=problem.scale,
        capacities=None if empty else _rows(problem.capacities),
        resources=problem.resources,
    )


def placement_of(document: PlacementDocument) -> Placement:
    """The placement of a typed document.

    Raises
    ------
    ModelError : what it states breaks a condition; the message names the machine or the task.
    """
    if not document.free or not (document.free[0] or document.resources):
        raise ModelError("placement: there must be a machine and a resource")
    names = document.resources or tuple(f"r{r}" for r in range(len(document.free[0])))
    given: dict[str, Any] = {}
    if document.capacities is not None:
        given["capacities"] = _table(document.capacities, names, "machine", "capacities")
    if document.values is not None:
        given["values"] = np.array(document.values, np.int64)
    if document.durations is not None:
        given["durations"] = np.array(document.durations, np.int64)
    return Placement(
        free=_table(document.free, names, "machine", "free"),
        demands=_table(document.demands, names, "task", "demands"),
        waiting=np.array(document.waiting, np.int64),
        maximal=document.maximal,
        scale=document.scale,
        resources=document.resources,
        **given,
    )


def _rows(array: IntArray) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, array.tolist()))


def _table(stated: Sequence[Any], names: Sequence[str], row: str, what: str) -> IntArray:
    rows = [amounts(each, names, f"placement: {row} {i}: {what}", "the instance") for i, each in enumerate(stated)]
    return np.array(rows, np.int64).reshape(len(rows), len(names))


PLACEMENT = Codec(PlacementDocument, placement_document, placement_of)
