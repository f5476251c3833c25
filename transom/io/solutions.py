"""How solutions stand in the documents of results: in the terms of their problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transom.errors import DocumentError
from transom.io.codec import SolutionCodec
from transom.io.formats import FrontDocument
from transom.models import ParetoFront
from transom.models.arrays import BoolArray, IntArray

_LARGEST_FRONT = 10**9  # points times jobs that are believed before memory is set aside


def _encode_positions(solution: Any) -> tuple[Any, ...]:
    return tuple(np.flatnonzero(np.asarray(solution, bool)).tolist())


def _decode_positions(stated: tuple[Any, ...], items: int) -> BoolArray:
    solution = np.zeros(items, bool)
    solution[_positions(_ints(stated, 0), items, "solution")] = True
    solution.flags.writeable = False
    return solution


def _positions(stated: Sequence[int], items: int, where: str) -> IntArray:
    positions = np.array(stated, np.int64)
    if (np.diff(positions) <= 0).any():
        raise DocumentError(f"{where}: the positions must be ascending and distinct")
    if positions.size and positions[-1] >= items:
        raise DocumentError(f"{where}: position {positions[-1]} is not below items = {items}")
    return positions


def _encode_front(front: ParetoFront) -> FrontDocument:
    return FrontDocument(
        values=tuple(map(tuple, front.values.tolist())),
        jobs=tuple(_encode_positions(chosen) for chosen in front.selections),
    )


def _decode_front(stated: FrontDocument, items: int) -> ParetoFront:
    points = len(stated.jobs)
    if points != len(stated.values):
        raise DocumentError(f"$.solution: {len(stated.values)} values, but {points} points")
    if points * items > _LARGEST_FRONT:
        raise DocumentError(f"$.solution: {points} points of {items} jobs are more than can be read")
    for point, value in enumerate(stated.values):
        if len(value) != len(stated.values[0]):
            raise DocumentError(
                f"$.solution.values[{point}]: {len(value)} objectives, but {len(stated.values[0])} before"
            )
    selections = np.zeros((points, items), bool)
    for point, jobs in enumerate(stated.jobs):
        selections[point, _positions(jobs, items, f"$.solution.jobs[{point}]")] = True
    return ParetoFront(np.array(stated.values, np.int64).reshape(points, -1 if points else 0), selections)


def _encode_owners(solution: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(solution, np.int64).tolist())


def _decode_owners(stated: tuple[Any, ...], items: int) -> IntArray:
    if len(stated) != items:
        raise DocumentError(f"solution: {len(stated)} owners, but items = {items} idle nodes")
    owners = np.array(_ints(stated, -1), np.int64)
    owners.flags.writeable = False
    return owners


def _decode_starts(stated: tuple[Any, ...], items: int) -> IntArray:
    if len(stated) != items:
        raise DocumentError(f"solution: {len(stated)} starts, but items = {items} tasks")
    starts = np.array(_ints(stated, 0), np.int64)
    starts.flags.writeable = False
    return starts


def _encode_arcs(solution: Any) -> tuple[Any, ...]:
    return tuple(tuple(arc) for arc in np.asarray(solution, np.int64).reshape(-1, 2).tolist())


def _decode_arcs(stated: tuple[Any, ...], items: int) -> IntArray:
    if len(stated) != items:
        raise DocumentError(f"solution: {len(stated)} arcs, but items = {items}")
    for i, arc in enumerate(stated):
        if not isinstance(arc, tuple):
            raise DocumentError(f"$.solution[{i}]: expected `array` [start, size], got {arc!r}")
        if len(arc) != 2:
            raise DocumentError(f"$.solution[{i}]: expected `array` of length {'>=' if len(arc) < 2 else '<='} 2")
        for k, value in enumerate(arc):
            if value < 0:
                raise DocumentError(f"$.solution[{i}][{k}]: expected `int` >= 0, got {value}")
    arcs = np.array(stated, np.int64).reshape(-1, 2)
    arcs.flags.writeable = False
    return arcs


def _encode_matrix(solution: Any) -> tuple[Any, ...]:
    return tuple(tuple(row) for row in np.asarray(solution, np.int64).tolist())


def _decode_matrix(stated: tuple[Any, ...], items: int) -> IntArray:
    if len(stated) != items:
        raise DocumentError(f"solution: {len(stated)} rows, but items = {items}")
    for i, row in enumerate(stated):
        if not isinstance(row, tuple):
            raise DocumentError(f"$.solution[{i}]: expected `array`, got {row!r}")
        if len(row) != len(stated[0]):
            raise DocumentError(f"$.solution[{i}]: {len(row)} numbers, but {len(stated[0])} before")
    matrix = np.array(stated, np.int64).reshape(items, -1 if items else 0)
    matrix.flags.writeable = False
    return matrix


def _ints(stated: tuple[Any, ...], least: int) -> list[int]:
    for i, value in enumerate(stated):
        if isinstance(value, tuple):
            raise DocumentError(f"$.solution[{i}]: expected `int`, got `array`")
        if value < least:
            raise DocumentError(f"$.solution[{i}]: expected `int` >= {least}, got {value}")
    return list(stated)


POSITIONS = SolutionCodec(_encode_positions, len, _decode_positions)
OWNERS = SolutionCodec(_encode_owners, len, _decode_owners)
STARTS = SolutionCodec(_encode_owners, len, _decode_starts)
MATRIX = SolutionCodec(_encode_matrix, len, _decode_matrix)
ARCS = SolutionCodec(_encode_arcs, lambda arcs: len(np.reshape(arcs, (-1, 2))), _decode_arcs)
FRONT = SolutionCodec(_encode_front, lambda front: front.selections.shape[1], _decode_front, front=True)
