"""Values that need no check cost nothing: the parser would import a library of types to find that a text is one."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from transom._system.wording import odd_number

CHECK = object()
"""Stands for what only the parser can make of a value."""


class _Light:
    """Stands for the parser's check of a parameter until a value needs it."""

    def __init__(self, check: Any) -> None:
        self._check = check

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        stated = param.type_descriptor
        plain = taken(value, stated.annotation, stated.parameter_info)
        if plain is CHECK:
            _refuse_odd_numbers(value, stated.annotation, param)
        return self._check(param).coerce(value, param=param, ctx=ctx) if plain is CHECK else plain


@cache
def take_plain_values() -> None:
    """Have the parser check only those values of which it is not plain what they are."""
    import typer.core

    parameter: Any = getattr(typer.core, "_TyperParameter", None)
    check = getattr(parameter, "get_runtime_param", None)
    if check is None:  # of another version, which is left to check by itself
        return
    light = _Light(check)
    parameter.get_runtime_param = lambda self: light


def taken(value: Any, kind: Any, stated: Any) -> Any:
    """What the parser would make of a value where a look at it says so, else :data:`CHECK`.

    Parameters
    ----------
    value : a text or a default; several in a list or tuple.
    kind : the type that the command states for the parameter.
    stated : what else it states: limits, what a path must be, a parser of its own.
    """
    if get_origin(kind) is list and isinstance(value, list | tuple):
        items = [taken(each, get_args(kind)[0], stated) for each in value]
        return CHECK if any(each is CHECK for each in items) else items
    if stated.parser is not None:
        return CHECK
    if kind is str or get_origin(kind) is Literal:
        return value if type(value) is str and (kind is str or value in get_args(kind)) else CHECK
    if kind is int or kind is float:
        return _number(value, kind, stated)
    if kind is Path and type(value) is str:
        return _path(value, stated)
    return CHECK


def _refuse_odd_numbers(value: Any, kind: Any, param: Any) -> None:
    """Refuse what Python takes for a number and nobody means as one: ``1_0``, digits of other scripts, blanks around.

    Raises
    ------
    SpecError : a text is one of these.
    """
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    for text in value if isinstance(value, list | tuple) else (value,):
        if kind in (int, float) and type(text) is str and odd_number(text):
            from transom.errors import SpecError

            name = param.opts[0] if param.param_type_name == "option" else param.metavar
            what = "a whole number" if kind is int else "a number"
            raise SpecError(f"{name}: expected {what}, got {text[:40]!r}")


def _number(value: Any, kind: type[int] | type[float], stated: Any) -> Any:
    if type(value) is str and len(value) < 16 and value.isascii() and value.replace(".", "", kind is float).isdigit():
        value = kind(value)
    elif type(value) is not kind:
        return CHECK
    inside = (stated.min is None or stated.min <= value) and (stated.max is None or value <= stated.max)
    return value if inside else CHECK


def _path(value: str, stated: Any) -> Any:
    anything = stated.file_okay and stated.dir_okay and not stated.writable
    if not anything or stated.resolve_path or stated.path_type is not None:
        return CHECK
    there = os.access(value, os.R_OK if stated.readable else os.F_OK)
    return Path(value) if there or not (stated.exists or os.access(value, os.F_OK)) else CHECK
