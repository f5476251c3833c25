"""A digest of what a compiled function depends on: its own code, and that of all functions and constants it reaches.

Texts, comments, line numbers and everything that a function never mentions leave it as it is, so that compiled code
outlives an edit elsewhere; an edit of a function changes the digests of all its callers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from inspect import unwrap
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = {"math", "numba", "numpy"}  # the compiler has its own code for their functions
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


def kernel_digest(kernel: Callable[..., Any], otherwise: Callable[[], str]) -> str:
    """32 hexadecimal digits that depend on everything that the machine code of a function depends on.

    Parameters
    ----------
    kernel : a function, or an object that wraps one.
    otherwise : what stands for a value of a type that is unknown here: a digest of all sources is never too little.
    """
    texts: dict[int, str] = {}
    reached = [kernel]
    while reached:
        wrapped = reached.pop()
        if id(wrapped) not in texts:
            called: list[Callable[..., Any]] = []
            texts[id(wrapped)] = "\n".join([_name(wrapped), *_mentions(wrapped, called, otherwise)])
            reached += called
    return blake2b("\n".join([_name(kernel), *sorted(texts.values())]).encode(), digest_size=16).hexdigest()


def _name(wrapped: Callable[..., Any]) -> str:
    function = unwrap(wrapped)
    how = getattr(wrapped, "options", "")  # options of the compiler
    return f"{type(wrapped).__name__} {how} {function.__module__}.{function.__qualname__}"


def _mentions(wrapped: Callable[..., Any], found: list[Callable[..., Any]], otherwise: Callable[[], str]) -> list[str]:
    """The code of one function and the values of all global names in it; functions go to ``found`` instead."""
    function = unwrap(wrapped)
    lines = [_described(each, found, otherwise) for each in (function.__defaults__, function.__kwdefaults__)]
    cells = function.__closure__ or ()
    lines += [_described(cell.cell_contents, found, otherwise) for cell in cells]
    names: set[str] = set()
    for code in _codes(function.__code__):
        names.update(code.co_names)
        constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
        if code is function.__code__ and function.__doc__ is not None and constants[:1] == [function.__doc__]:
            del constants[0]
        lines.append(f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}")
        lines.append(_described(constants, found, otherwise))
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        lines.append(f"{name} = {_described(value, found, otherwise)}")
        if isinstance(value, ModuleType) and _ours(value.__name__):
            for inner in sorted(names & vars(value).keys()):
                lines.append(f"{name}.{inner} = {_described(vars(value)[inner], found, otherwise)}")
    return lines


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _described(value: Any, found: list[Callable[..., Any]], otherwise: Callable[[], str]) -> str:
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} ({', '.join(_described(each, found, otherwise) for each in value)})"
    if isinstance(value, frozenset):
        return f"frozenset {sorted(_described(each, found, otherwise) for each in value)}"
    if isinstance(value, dict):
        inside = (f"{key!r}: {_described(each, found, otherwise)}" for key, each in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, ModuleType | BuiltinFunctionType | np.ufunc):
        return value.__name__
    if isinstance(value, type):
        fields = getattr(value, "_fields", ())
        return f"{value.__module__}.{value.__qualname__}{fields}"
    if isinstance(unwrap(value), FunctionType):
        function = unwrap(value)
        if function.__module__.partition(".")[0] in _LIBRARIES:
            return f"{function.__module__}.{function.__qualname__}"
        found.append(value)
        return _name(value)
    return otherwise()


def _ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE
