"""Values that need no check cost nothing: the parser would import a library of types to find that a text is one."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

CHECK = object()
"""Stands for what only the parser can make of a value."""


class _Light:
    """Stands for the parser's check of a parameter until a value needs it."""

    def __init__(self, check: Any) -> None:
        self._check = check

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        of = param.type_descriptor
        plain = taken(value, of.annotation, of.parameter_info)
        return self._check(param).coerce(value, param=param, ctx=ctx) if plain is CHECK else plain


@cache
def take_plain_values() -> None:
    """Have the parser check only those values of which it is not plain what they are."""
    import typer.core

    parameter: Any = getattr(typer.core, "_TyperParameter", None)
    if parameter is None:  # of an older version, which checks without that library
        return
    light = _Light(parameter.get_runtime_param)
    parameter.get_runtime_param = lambda self: self._runtime_param or light


def taken(value: Any, kind: Any, of: Any) -> Any:
    """What the parser would make of a value, where no more than a look at it says so."""
    if get_origin(kind) is list and isinstance(value, list | tuple):
        items = [taken(each, get_args(kind)[0], of) for each in value]
        return CHECK if any(each is CHECK for each in items) else items
    if of.parser is not None:
        return CHECK
    if kind is str or get_origin(kind) is Literal:
        return value if type(value) is str and (kind is str or value in get_args(kind)) else CHECK
    if kind is int or kind is float:
        return _number(value, kind, of)
    if kind is Path and type(value) is str:
        return _path(value, of)
    return CHECK


def _number(value: Any, kind: type[int] | type[float], of: Any) -> Any:
    if type(value) is str and len(value) < 16 and value.isascii() and value.replace(".", "", kind is float).isdigit():
        value = kind(value)
    elif type(value) is not kind:
        return CHECK
    inside = (of.min is None or of.min <= value) and (of.max is None or value <= of.max)
    return value if inside else CHECK


def _path(value: str, of: Any) -> Any:
    if of.resolve_path or of.writable or of.path_type is not None or not (of.file_okay and of.dir_okay):
        return CHECK
    there = os.access(value, os.R_OK if of.readable else os.F_OK)
    return Path(value) if there or not (of.exists or os.access(value, os.F_OK)) else CHECK
