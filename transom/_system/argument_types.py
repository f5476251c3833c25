"""What the machine code of a function depends on in its arguments: types, and the layout of arrays.

For each call :func:`type_of` makes a key as fast as Python can; for the index of functions that were built ahead of
time, :func:`described` says the same in JSON, and :func:`example` makes a value of such a description again.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.random import Generator

from transom._system.records import Record

_LAYOUT = 0x1 | 0x2 | 0x100 | 0x400  # NumPy's flags: contiguous in C's or Fortran's order, aligned, writeable
_SCALARS = {
    bool: "bool",
    np.bool_: "bool",
    int: "int",
    np.int64: "int",
    float: "float",
    np.float64: "float",
    type(None): "none",
    Generator: "generator",
}


def type_of(value: Any) -> Any:
    """A key that is the same for two values only if compiled code takes one as it takes the other."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & _LAYOUT
    if issubclass(kind, tuple):
        return kind, *[type_of(each) for each in value]
    return value.dtype if issubclass(kind, np.void) else kind


def described(value: Any) -> Any:
    """The type of a value, for JSON.

    Raises
    ------
    TypeError : a type of which nothing is known here.
    """
    if type(value) is np.ndarray:
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        if not flags.aligned:
            raise TypeError("an array that is not aligned")
        return ["array", _fields(value.dtype), value.ndim, layout, bool(flags.writeable)]
    if isinstance(value, tuple):
        kind = type(value)
        return ["tuple", f"{kind.__module__}:{kind.__qualname__}", [described(each) for each in value]]
    if isinstance(value, np.void):
        return ["record", _fields(value.dtype)]
    if type(value) in _SCALARS:
        return _SCALARS[type(value)]
    raise TypeError(f"arguments of type {type(value).__name__}")


def example(description: Any) -> Any:
    """A value of the type that was described."""
    if isinstance(description, str):
        return {"bool": True, "int": 1, "float": 1.0, "none": None, "generator": np.random.default_rng(0)}[description]
    match description:
        case "array", fields, dimensions, layout, writeable:
            array = np.zeros((4,) * dimensions, _dtype(fields), "F" if layout == "F" else "C")
            array = array[(slice(None, None, 2),) * dimensions] if layout == "A" else array
            array.flags.writeable = writeable
            return array
        case "record", fields:
            return np.zeros(1, _dtype(fields))[0]
        case "tuple", name, inside:
            module, _, kind = name.partition(":")
            values = [example(each) for each in inside]
            return tuple(values) if kind == "tuple" else getattr(import_module(module), kind)(*values)
    raise TypeError(f"no type: {description}")


def _fields(dtype: np.dtype[Any]) -> Any:
    if dtype.names is None:
        return dtype.str
    return [issubclass(dtype.type, Record), dtype.isalignedstruct, [[name, dtype[name].str] for name in dtype.names]]


def _dtype(fields: Any) -> np.dtype[Any]:
    if isinstance(fields, str):
        return np.dtype(fields)
    as_record, aligned, inside = fields
    kinds = np.dtype([(name, kind) for name, kind in inside], align=aligned)
    return np.dtype((Record, kinds)) if as_record else kinds
