"""Numbers on the command line are digits, durations may have units.

The parser also takes ``1_0``, digits of other scripts and blanks around.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, get_args, get_origin

from transom._system.durations import seconds_in
from transom._system.wording import odd_number

DURATION = "DURATION"
"""The ``metavar`` of an option that counts seconds: it takes all that :func:`seconds_in` does."""


def with_digits(command: Any) -> Any:
    """A command, and those below it, that refuses other spellings of numbers and reads durations."""
    for below in getattr(command, "commands", {}).values():
        with_digits(below)
    for parameter in command.params:
        annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
        kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
        if kind in (int, float):
            read = partial(_duration if parameter.metavar == DURATION else _number, kind)
            parameter.process_value = partial(_read, parameter.process_value, parameter, read)
    return command


def _read(process: Callable[..., Any], parameter: Any, read: Callable[[str], Any], context: Any, value: Any) -> Any:
    from transom.errors import SpecError

    try:
        if isinstance(value, list | tuple):
            value = [read(text) for text in value]
        else:
            value = read(value)
    except ValueError as error:
        name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar
        raise SpecError(f"{name}: {error}") from None
    return process(context, value)


def _number(kind: type, text: Any) -> Any:
    if isinstance(text, str) and odd_number(text):
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"expected {what}, got {text[:40]!r}")
    return text


def _duration(kind: type, text: Any) -> Any:
    return seconds_in(text, whole=kind is int) if isinstance(text, str) else text
