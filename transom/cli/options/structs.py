"""Options that several commands share, as structs: a command with such a parameter has all of its fields as options."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, isclass, signature
from typing import Any, get_type_hints


def with_structs(command: Callable[..., None]) -> Callable[..., None]:
    """A command in which every parameter that is a named tuple stands for its fields, in its place.

    The fields are annotated like parameters of a command, and their defaults are those of the options.
    """
    own = signature(command, eval_str=True).parameters
    structs = {name: each.annotation for name, each in own.items() if _is_struct(each.annotation)}

    @wraps(command)
    def extended(**given: Any) -> None:
        made = {
            name: struct(**{field: given.pop(field) for field in struct._fields}) for name, struct in structs.items()
        }
        command(**given, **made)

    parameters: list[Parameter] = []
    for name, each in own.items():
        parameters += _fields(structs[name]) if name in structs else [each.replace(kind=Parameter.KEYWORD_ONLY)]
    vars(extended)["__signature__"] = signature(command).replace(parameters=parameters)
    return extended


def _is_struct(annotation: Any) -> bool:
    return isclass(annotation) and issubclass(annotation, tuple) and hasattr(annotation, "_fields")


def _fields(struct: Any) -> list[Parameter]:
    types = get_type_hints(struct, include_extras=True)
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, default=struct._field_defaults[name], annotation=types[name])
        for name in struct._fields
    ]
