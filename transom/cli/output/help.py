"""What the help says beside what the commands state: words for values, and whole sentences in lists of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

_NAMED = {
    **dict.fromkeys(("solver", "allocate", "policy", "against", "cost-model", "decide", "objective"), "SPEC"),
    **dict.fromkeys(("seconds", "period", "tau", "jitter", "warm-up", "cool-down", "grace", "longest"), "SECONDS"),
    **dict.fromkeys(("allocate-seconds", "epoch"), "SECONDS"),
    "objectives": "NAME/NAME",
    "cluster": "TREE",
    "memory": "MIB",
    "minutes": "MINUTES",
    "picture": "FILE",
}
_TYPED = {int: "N", float: "X", str: "NAME", Path: "PATH"}


def explain(command: Any) -> Any:
    """Give a command, and those below it, a word for the value of each option and a whole sentence in the list."""
    for below in getattr(command, "commands", {}).values():
        explain(below)
    command.short_help = " ".join((command.help or "").partition("\n\n")[0].split())
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.metavar = parameter.metavar or parameter.name.upper()
            parameter.display_type_rich = lambda ctx: None  # its name says enough
        elif parameter.metavar is None and not parameter.is_flag:
            annotation = parameter.type_descriptor.annotation
            kind = next(iter(get_args(annotation)), annotation)  # of one value, where several may be given
            parameter.metavar = _NAMED.get(parameter.opts[0].removeprefix("--")) or _TYPED.get(kind)
    return command
