"""Options made of recipes: their names, ranges, defaults and help stand once, in the fields of the recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
import typer

from transom._system.wording import digits
from transom.generate.instance_generator import InstanceGenerator, read_parameters

Recipes = Mapping[str, Any]
"""Classes of recipes by what one says to have them, such as ``--family stream``; the last word stands in the help."""

Found = tuple[msgspec.structs.FieldInfo, dict[str, Any]]
"""A field of recipes, and its default in each recipe that has it."""


def with_recipes(recipes: Recipes) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command whose parameter ``given`` is what is stated of the fields of recipes, by their names in a plan.

    Each field that has a description is an option, unless the command has one of its name. What is not stated is not
    given: the recipe has its default.
    """

    def extend(command: Callable[..., None]) -> Callable[..., None]:
        own = signature(command, eval_str=True).parameters
        made = {name: each for name, each in _described(recipes).items() if name not in own}

        @wraps(command)
        def extended(**values: Any) -> None:
            taken = {name: values.pop(name) for name in made}
            given = {
                field.encode_name: _pair(field, taken[name]) if _is_pair(_type(field)) else taken[name]
                for name, (field, _) in made.items()
                if taken[name] is not None
            }
            command(given=given, **values)

        options = [_option(*found, len(recipes)) for found in made.values()]
        parameters: list[Parameter] = []
        for name, each in own.items():
            parameters += options if name == "given" else [each.replace(kind=Parameter.KEYWORD_ONLY)]
        vars(extended)["__signature__"] = signature(command).replace(parameters=parameters)
        return extended

    return extend


def chosen_recipe(recipes: Recipes, word: str, name: str, given: Mapping[str, Any]) -> InstanceGenerator:
    """The recipe that goes by a word, checked; ``name`` is what it is called in messages.

    Raises
    ------
    SpecError : an option of another recipe is given, or a value does not fit.
    """
    from transom.errors import SpecError

    fields = {field.encode_name for field in msgspec.structs.fields(recipes[word])}
    for each in given:
        if each not in fields:
            raise SpecError(f"--{each.replace('_', '-')} does not go with {word}")
    made: InstanceGenerator = read_parameters(recipes[word], name, given)
    made.check()
    return made


def _described(recipes: Recipes) -> dict[str, Found]:
    """The fields that have a description, and the default in each recipe that has one."""
    found: dict[str, Found] = {}
    for word, recipe in recipes.items():
        for field in msgspec.structs.fields(recipe):
            if _metas(field.type, "description"):
                found.setdefault(field.name, (field, {}))[1][word.split()[-1].lstrip("-")] = field.default
    return found


def _option(field: msgspec.structs.FieldInfo, defaults: Mapping[str, Any], recipes: int) -> Parameter:
    kind, (about,) = _type(field), _metas(field.type, "description")
    if len(defaults) < recipes:
        about = f"{', '.join(defaults)}: {about[0].lower()}{about[1:]}"
    shown = {
        word: _shown(value) for word, value in defaults.items() if not (value is None or value is False or value == "")
    }
    if shown:
        alike = len({*shown.values()}) == 1 and len(shown) == len(defaults)
        said = [text if alike else f"{word} {text}" for word, text in shown.items()]
        about += f"  [default: {said[0] if alike else ', '.join(said)}]"
    flag = f"--{field.encode_name.replace('_', '-')}"
    least = _metas(field.type, "ge")
    option = typer.Option(
        flag if kind is not bool or field.default is not None else f"{flag}/--no-{flag[2:]}",
        help=about,
        min=least[0] if least else None,
        metavar="A-B" if _is_pair(kind) else None,
    )
    taken: Any = str if _is_pair(kind) else kind
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[taken | None, option])


def _type(field: msgspec.structs.FieldInfo) -> Any:
    """The type of a field without limits and None; of one that takes several texts, of one of them."""
    kind = _bare(field.type)
    if get_origin(kind) in (None, Literal, tuple):
        return kind
    return next(_bare(each) for each in get_args(kind) if each is not type(None))


def _bare(kind: Any) -> Any:
    return _bare(get_args(kind)[0]) if get_origin(kind) is Annotated else kind


def _metas(kind: Any, name: str) -> list[Any]:
    """What the annotations of a type say under a name, those inside too."""
    inner = [value for each in get_args(kind) for value in _metas(each, name)]
    if isinstance(kind, msgspec.Meta) and (value := getattr(kind, name)) is not None:
        return [value, *inner]
    return inner


def _is_pair(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _pair(field: msgspec.structs.FieldInfo, text: str) -> tuple[int, int]:
    from transom.errors import SpecError

    least, dash, largest = text.partition("-")
    if not dash or not digits(least) or not digits(largest):
        raise SpecError(f"--{field.encode_name}: expected A-B such as {_shown(field.default)}, got {text!r}")
    return int(least), int(largest)


def _shown(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
