"""From results to their documents, and back: a solution is told in the terms of its problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from transom.errors import DocumentError
from transom.io.codec import solution_codec, solution_codec_of
from transom.io.formats import LARGEST, FrontDocument, ResultDocument, StopDocument
from transom.problems import known_type
from transom.result import Result
from transom.stop import Stop


def result_document(result: Result) -> ResultDocument:
    """The typed document of a result.

    Raises
    ------
    DocumentError : the solution cannot be expressed, or a number is not finite.
    """
    codec, solution = solution_codec_of(known_type(result.problem)), result.solution
    return ResultDocument(
        instance=result.instance,
        problem=result.problem,
        solver=result.solver,
        parameters={name: _plain(value) for name, value in result.parameters.items()},
        status=result.status,
        reason=result.reason,
        solution=None if solution is None else codec.encode(solution),
        items=None if solution is None else codec.items(solution),
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
    codec, solution = solution_codec(document.problem), None
    if document.solution is not None:
        if document.items is None:
            raise DocumentError("items must be stated with a solution")
        if isinstance(document.solution, FrontDocument) != codec.front:
            got = "front" if isinstance(document.solution, FrontDocument) else "array"
            raise DocumentError(f"$.solution: that is not how solutions of {document.problem} are written, got {got}")
        solution = codec.decode(document.solution, document.items)
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
