"""What is wrong with a line of words, in one line: the wrong thing first."""

from __future__ import annotations

import re
from typing import Any

_NO_COMMAND = re.compile(r"No such command '(.*?)'")


def usage_message(error: Any) -> str:
    """The message for what the parser of the command line raised."""
    command: Any = getattr(getattr(error, "ctx", None), "command", None)
    if found := _NO_COMMAND.match(error.format_message()):
        return _unknown("command", found[1], command.commands)
    if (option := getattr(error, "option_name", None)) and type(error).__name__ == "NoSuchOption":
        return _unknown("option", option, [name for each in command.params for name in each.opts if name[:2] == "--"])
    faults = getattr(error.__cause__, "errors", None)  # what checked the value of an option
    if faults is None:
        return str(error.format_message())
    return f"{_name(error.param)}: {_condition(faults()[0])}"


def _unknown(what: str, name: str, known: Any) -> str:
    from transom.registry import unknown

    return str(unknown(what, name, known))


def _name(parameter: Any) -> str:
    return str(parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar)


def _condition(fault: dict[str, Any]) -> str:
    """The condition that a value breaks, and the value."""
    kind, bounds, given = fault["type"], fault.get("ctx", {}), fault["input"]
    if kind == "value_error":  # which quotes the value itself
        return str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    if kind.startswith("int_"):
        return f"expected a whole number, got {given!r}"
    if kind.startswith("float_"):
        return f"expected a number, got {given!r}"
    for bound, sign in (("ge", ">="), ("le", "<="), ("gt", ">"), ("lt", "<")):
        if bound in bounds:
            return f"must be {sign} {bounds[bound]}, got {given}"
    return f"{fault['msg']}, got {given!r}"
