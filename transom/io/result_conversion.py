"""From results to their documents, and back: a solution is told in the terms of its problem."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from transom.errors import DocumentError
from transom.io.formats import LARGEST, FrontDocument, ResultDocument, StopDocument
from transom.models import ConstrainedPath, Knapsack, ParetoFront, Selection
from transom.models.allocation import KINDS
from transom.models.arrays import BoolArray, IntArray
from transom.result import Result
from transom.stop import Stop

_Told = tuple[Any, ...]
_LARGEST_FRONT = 10**9  # points times jobs that are believed before memory is set aside


class _Read(Protocol):
    def __call__(self, told: Any, items: int) -> Any: ...


class _Form(NamedTuple):
    """How a solution is told: what is written, how long what it chooses from is, and the way back."""

    tell: Any
    items: Any
    read: _Read


def result_document(result: Result) -> ResultDocument:
    """The typed document of a result.

    Raises
    ------
    DocumentError : the problem has no form, or a number is not finite.
    """
    form, solution = _form(result.problem), result.solution
    return ResultDocument(
        instance=result.instance,
        problem=result.problem,
        solver=result.solver,
        parameters={name: _plain(value) for name, value in result.parameters.items()},
        status=result.status,
        reason=result.reason,
        solution=None if solution is None else form.tell(solution),
        items=None if solution is None else form.items(solution),
        value=_number(result.value, "value"),
        bound=_number(result.bound, "bound"),
        gap=_number(result.gap, "gap"),
        seconds=float(_number(result.seconds, "seconds") or 0.0),
        seed=int(result.seed),
        threads=int(result.threads),
        stop=_stop_document(result.stop),
        curve=tuple((float(t), _number(v, "curve"), _number(b, "curve")) for t, v, b in result.curve),
        error=result.error,
        versions=dict(result.versions),
    )


def result_of(document: ResultDocument) -> Result:
    """The result of a typed document.

    Raises
    ------
    DocumentError : the solution is not told as its problem's are, or the gap fits neither value nor bound.
    """
    form, solution = _form(document.problem), None
    if document.solution is not None:
        if document.items is None:
            raise DocumentError("items must be stated with a solution")
        if isinstance(document.solution, FrontDocument) != (document.problem == Selection.kind):
            got = "front" if isinstance(document.solution, FrontDocument) else "array"
            raise DocumentError(f"$.solution: that is not how solutions of {document.problem} are told, got {got}")
        solution = form.read(document.solution, document.items)
    result = Result(
        instance=document.instance,
        problem=document.problem,
        solver=document.solver,
        parameters=document.parameters,
        status=document.status,
        reason=document.reason,
        solution=solution,
        value=document.value,
        bound=document.bound,
        seconds=document.seconds,
        seed=document.seed,
        threads=document.threads,
        stop=_stop(document.stop),
        curve=document.curve,
        error=document.error,
        versions=document.versions,
    )
    gap, stated = result.gap, document.gap
    if (gap is None) != (stated is None) or (
        gap is not None and stated is not None and not math.isclose(gap, stated, rel_tol=1e-9, abs_tol=1e-12)
    ):
        raise DocumentError(f"gap {stated} does not fit value {document.value} and bound {document.bound}")
    return result


def _form(kind: str) -> _Form:
    if kind not in _FORMS:
        raise DocumentError(f"problem {kind!r} is not known; known: {', '.join(_FORMS)}")
    return _FORMS[kind]


def _tell_positions(solution: Any) -> _Told:
    return tuple(np.flatnonzero(np.asarray(solution, bool)).tolist())


def _read_positions(told: _Told, items: int) -> BoolArray:
    solution = np.zeros(items, bool)
    solution[_positions(_ints(told, 0), items, "solution")] = True
    solution.flags.writeable = False
    return solution


def _positions(told: Sequence[int], items: int, where: str) -> IntArray:
    positions = np.array(told, np.int64)
    if (np.diff(positions) <= 0).any():
        raise DocumentError(f"{where}: the positions must be ascending and distinct")
    if positions.size and positions[-1] >= items:
        raise DocumentError(f"{where}: position {positions[-1]} is not below items = {items}")
    return positions


def _tell_front(front: ParetoFront) -> FrontDocument:
    return FrontDocument(
        values=tuple(map(tuple, front.values.tolist())),
        jobs=tuple(_tell_positions(chosen) for chosen in front.selections),
    )


def _read_front(told: FrontDocument, items: int) -> ParetoFront:
    points = len(told.jobs)
    if points != len(told.values):
        raise DocumentError(f"$.solution: {len(told.values)} values, but {points} points")
    if points * items > _LARGEST_FRONT:
        raise DocumentError(f"$.solution: {points} points of {items} jobs are more than can be read")
    for point, value in enumerate(told.values):
        if len(value) != len(told.values[0]):
            raise DocumentError(
                f"$.solution.values[{point}]: {len(value)} objectives, but {len(told.values[0])} before"
            )
    selections = np.zeros((points, items), bool)
    for point, jobs in enumerate(told.jobs):
        selections[point, _positions(jobs, items, f"$.solution.jobs[{point}]")] = True
    return ParetoFront(np.array(told.values, np.int64).reshape(points, -1 if points else 0), selections)


def _tell_owners(solution: Any) -> _Told:
    return tuple(np.asarray(solution, np.int64).tolist())


def _read_owners(told: _Told, items: int) -> IntArray:
    if len(told) != items:
        raise DocumentError(f"solution: {len(told)} owners, but items = {items} idle nodes")
    owners = np.array(_ints(told, -1), np.int64)
    owners.flags.writeable = False
    return owners


def _tell_arcs(solution: Any) -> _Told:
    return tuple(tuple(arc) for arc in np.asarray(solution, np.int64).reshape(-1, 2).tolist())


def _read_arcs(told: _Told, items: int) -> IntArray:
    if len(told) != items:
        raise DocumentError(f"solution: {len(told)} arcs, but items = {items}")
    for i, arc in enumerate(told):
        if not isinstance(arc, tuple):
            raise DocumentError(f"$.solution[{i}]: expected `array` [start, size], got {arc!r}")
    arcs = np.array(told, np.int64).reshape(-1, 2)
    arcs.flags.writeable = False
    return arcs


def _ints(told: _Told, least: int) -> list[int]:
    for i, value in enumerate(told):
        if isinstance(value, tuple):
            raise DocumentError(f"$.solution[{i}]: expected `int`, got `array`")
        if value < least:
            raise DocumentError(f"$.solution[{i}]: expected `int` >= {least}, got {value}")
    return list(told)


_OWNERS = _Form(_tell_owners, len, _read_owners)
_FORMS: dict[str, _Form] = {
    Knapsack.kind: _Form(_tell_positions, len, _read_positions),
    **dict.fromkeys(KINDS.values(), _OWNERS),
    ConstrainedPath.kind: _Form(_tell_arcs, lambda arcs: len(np.reshape(arcs, (-1, 2))), _read_arcs),
    Selection.kind: _Form(_tell_front, lambda front: front.selections.shape[1], _read_front),
}


def _stop_document(stop: Stop) -> StopDocument:
    return StopDocument(**{field.name: _number(getattr(stop, field.name), field.name) for field in fields(stop)})


def _stop(document: StopDocument) -> Stop:
    return Stop(**{field.name: getattr(document, field.name) for field in fields(Stop)})


def _number(value: Any, what: str) -> Any:
    """An int where it is one, else a finite float; JSON has neither NaN nor infinity."""
    if value is None:
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if not math.isfinite(value):
        raise DocumentError(f"result: {what} must be finite, got {value}")
    return float(value)


def _plain(value: Any) -> Any:
    """A parameter in JSON's terms; what JSON cannot express becomes text."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, int):
        return value if -LARGEST - 1 <= value <= LARGEST else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(of) for key, of in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(of) for of in value]
    if is_dataclass(value) and not isinstance(value, type):
        name = getattr(value, "name", type(value).__name__)
        return {"name": str(name), **{field.name: _plain(getattr(value, field.name)) for field in fields(value)}}
    return str(value)
