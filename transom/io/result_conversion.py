"""From results to their documents, and back: a solution is told in the terms of its problem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from transom.errors import DocumentError
from transom.io.codec import document, solution_codec, solution_codec_of, stated
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
    return document(
        ResultDocument,
        result,
        parameters={name: _plain(value) for name, value in result.parameters.items()},
        solution=None if solution is None else codec.encode(solution),
        items=None if solution is None else codec.items(solution),
        **{name: _number(getattr(result, name), name) for name in ("value", "bound", "gap", "seed", "threads")},
        seconds=float(_number(result.seconds, "seconds") or 0.0),
        stop=StopDocument(
            **{field.name: _number(getattr(result.stop, field.name), field.name) for field in fields(Stop)}
        ),
        curve=tuple((float(t), _number(v, "curve"), _number(b, "curve")) for t, v, b in result.curve),
        versions=dict(result.versions),
    )


def result_of(read: ResultDocument) -> Result:
    """The result of a typed document.

    Raises
    ------
    DocumentError : the solution is not told as its problem's are, or the gap fits neither value nor bound.
    """
    codec, solution = solution_codec(read.problem), None
    if read.solution is not None:
        if read.items is None:
            raise DocumentError("items must be stated with a solution")
        if isinstance(read.solution, FrontDocument) != codec.front:
            got = "front" if isinstance(read.solution, FrontDocument) else "array"
            raise DocumentError(f"$.solution: that is not how solutions of {read.problem} are written, got {got}")
        solution = codec.decode(read.solution, read.items)
    given = stated(read, solution=solution, stop=Stop(**stated(read.stop)))
    gap = given.pop("gap")
    del given["items"]
    result = Result(**given)
    if (gap is None) != (result.gap is None) or (
        gap is not None and result.gap is not None and not math.isclose(result.gap, gap, rel_tol=1e-9, abs_tol=1e-12)
    ):
        raise DocumentError(f"gap {gap} does not fit value {read.value} and bound {read.bound}")
    return result


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
