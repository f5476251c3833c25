"""Options that nobody gives cost nothing: the parser would import a library of types to check that they are absent."""

from __future__ import annotations

from functools import cache
from typing import Any


class _Unset:
    """Stands for the check of a parameter until it has a value."""

    def __init__(self, check: Any) -> None:
        self._check = check

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is not None:
            return self._check(param).coerce(value, param=param, ctx=ctx)
        return () if param.multiple or param.nargs == -1 else None


@cache
def check_given_only() -> None:
    """Have the parser make the check of a parameter when there is something to check."""
    import typer.core

    parameter: Any = getattr(typer.core, "_TyperParameter", None)
    if parameter is None:  # of an older version, which checks without that library
        return
    unset = _Unset(parameter.get_runtime_param)
    parameter.get_runtime_param = lambda self: self._runtime_param or unset
