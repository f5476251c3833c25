"""What the help says beside what the commands state: words for values, and whole sentences in lists of commands."""

from __future__ import annotations

from collections.abc import Callable
from enum import EnumType
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from transom._system.durations import EXPECTED
from transom.cli.options.digits import DURATION

_NAMED = {
    **dict.fromkeys(("solver", "allocate", "policy", "against", "cost-model", "decide", "objective"), "SPEC"),
    "objectives": "NAME/NAME",
    "cluster": "TREE",
    "memory": "MIB",
    "minutes": "MINUTES",
    "picture": "FILE",
}
_TYPED = {int: "N", float: "X", str: "NAME", Path: "PATH"}


def explain(command: Any) -> Any:
    """Give a command, and those below it, words for values and whole sentences in lists, and cut no name in two."""
    for below in getattr(command, "commands", {}).values():
        explain(below)
    command.short_help = " ".join((command.help or "").partition("\n\n")[0].split())
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.metavar = parameter.metavar or parameter.name.upper()
            parameter.display_type_rich = lambda ctx: None  # its name says enough
            name = parameter.metavar.removesuffix("...").strip("[]")
            shown = name if parameter.required else f"[{name}]"
            shown += "..." * (parameter.nargs != 1)
            parameter.get_usage_pieces = partial(_usage, shown)
        elif parameter.metavar is None and not parameter.is_flag:
            annotation = parameter.type_descriptor.annotation
            kind = next(iter(get_args(annotation)), annotation)  # of one value, where several may be given
            parameter.metavar = _NAMED.get(parameter.opts[0].removeprefix("--")) or _TYPED.get(kind)
            choices = list(kind) if isinstance(kind, EnumType) else []
            if get_origin(annotation) is Literal:
                choices = list(get_args(annotation))
            if choices:
                parameter.metavar = f"<{'|'.join(map(str, choices))}>"
    if any(DURATION in (parameter.metavar or "") for parameter in command.params):
        command.epilog = f"{DURATION}: {EXPECTED}."
    _keep_whole(command)
    return command


_HYPHEN, _UNBROKEN = "-", "\N{NON-BREAKING HYPHEN}"


def _keep_whole(command: Any) -> None:
    """Break no line at a hyphen: options and names of solvers have some."""
    command.help = (command.help or "").replace(_HYPHEN, _UNBROKEN)
    command.short_help = command.short_help.replace(_HYPHEN, _UNBROKEN)
    for parameter in command.params:
        parameter.get_help_record = partial(_whole_record, parameter.get_help_record)
    made = command.get_help
    command.get_help = lambda context: made(context).replace(_UNBROKEN, _HYPHEN)


def _usage(shown: str, _: Any) -> list[str]:
    return [shown]


def _whole_record(made: Callable[[Any], Any], context: Any) -> Any:
    record = made(context)
    return record and tuple(text.replace(_HYPHEN, _UNBROKEN) for text in record)
