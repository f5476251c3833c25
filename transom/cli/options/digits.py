"""Numbers on the command line are digits: the parser also takes ``1_0``, digits of other scripts and blanks around."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, get_args, get_origin

from transom._system.wording import odd_number


def with_digits(command: Any) -> Any:
    """A command, and those below it, that refuses other spellings of numbers."""
    for below in getattr(command, "commands", {}).values():
        with_digits(below)
    for parameter in command.params:
        annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
        kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
        if kind in (int, float):
            parameter.process_value = partial(_checked, parameter.process_value, parameter, kind)
    return command


def _checked(process: Callable[..., Any], parameter: Any, kind: type, context: Any, value: Any) -> Any:
    for text in value if isinstance(value, list | tuple) else (value,):
        if isinstance(text, str) and odd_number(text):
            from transom.errors import SpecError

            name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar
            what = "a whole number" if kind is int else "a number"
            raise SpecError(f"{name}: expected {what}, got {text[:40]!r}")
    return process(context, value)
