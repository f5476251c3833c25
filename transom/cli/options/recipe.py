"""Options made of the fields of recipes and settings: their names, ranges, defaults and help stand once, there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_origin

import typer

from transom._system.durations import seconds_in
from transom._system.settings import Field, fields_of, plain_type
from transom._system.wording import digits
from transom.cli.options.digits import DURATION
from transom.generate.instance_generator import InstanceGenerator, read_parameters

Recipes = Mapping[str, Any]
"""Classes of recipes by what one says to have them, such as ``--family stream``; the last word stands in the help."""

Command = Callable[..., None]

RANGE = f"{DURATION}-{DURATION}"
"""What stands for two durations, the least and the largest."""

Found = tuple[Field, dict[str, Any]]
"""A field of recipes, and its default in each recipe that has it."""


def with_recipes(recipes: Recipes) -> Callable[[Command], Command]:
    """A command whose parameter ``given`` is what is stated of the fields of recipes, by their names in a plan.

    Each field that has a description is an option, unless the command has one of its name. What is not stated is not
    given: the recipe has its default.
    """
    found = _described(recipes)

    def given(taken: dict[str, Any]) -> dict[str, Any]:
        fields = {name: field for name, (field, _) in found.items()}
        return {
            fields[name].key: _pair(fields[name], value) if _is_pair(plain_type(fields[name].type)) else value
            for name, value in taken.items()
        }

    return with_given({name: field_option(*each, len(recipes)) for name, each in found.items()}, given)


def with_given(
    options: Mapping[str, Parameter], given: Callable[[dict[str, Any]], dict[str, Any]]
) -> Callable[[Command], Command]:
    """A command whose parameter ``given`` stands for options, in its place.

    Parameters
    ----------
    options : by name; one that the command has itself is left out.
    given : what the parameter is, from the options that are stated.
    """

    def extend(command: Command) -> Command:
        own = signature(command, eval_str=True).parameters
        made = {name: each for name, each in options.items() if name not in own}

        @wraps(command)
        def extended(**values: Any) -> None:
            taken = {name: values.pop(name) for name in made}
            command(given=given({name: value for name, value in taken.items() if value is not None}), **values)

        parameters: list[Parameter] = []
        for name, each in own.items():
            parameters += made.values() if name == "given" else [each.replace(kind=Parameter.KEYWORD_ONLY)]
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

    keys = {field.key for field in fields_of(recipes[word])}
    for each in given:
        if each not in keys:
            raise SpecError(f"--{each.replace('_', '-')} does not go with {word}")
    made: InstanceGenerator = read_parameters(recipes[word], name, given)
    made.check()
    return made


def _described(recipes: Recipes) -> dict[str, Found]:
    """The fields that have a description, and the default in each recipe that has one."""
    found: dict[str, Found] = {}
    for word, recipe in recipes.items():
        for field in fields_of(recipe):
            if field.stated("description"):
                found.setdefault(field.name, (field, {}))[1][word.split()[-1].lstrip("-")] = field.default
    return found


def field_option(field: Field, defaults: Mapping[str, Any], recipes: int = 1) -> Parameter:
    """The option of a field that has a description.

    Parameters
    ----------
    field : its name, type and limits are those of the option.
    defaults : by recipe.
    recipes : how many there are; where some have no such field, the help names those that do.
    """
    kind, (about,) = plain_type(field.type), field.stated("description")
    if len(defaults) < recipes:
        about = f"{', '.join(defaults)}: {about[0].lower()}{about[1:]}"
    words = [extra["metavar"] for extra in field.stated("extra")]
    shown = {
        word: _shown(value, "," if words and words[0] != RANGE else "-")
        for word, value in defaults.items()
        if not (value is None or value is False or value == "")
    }
    if shown:
        alike = len({*shown.values()}) == 1 and len(shown) == len(defaults)
        said = [text if alike else f"{word} {text}" for word, text in shown.items()]
        about += f"  [default: {said[0] if alike else ', '.join(said)}]"
    flag = f"--{field.key.replace('_', '-')}"
    least = [*field.stated("ge"), *(above + 1 for above in field.stated("gt") if kind is int)]
    most = field.stated("le")
    option = typer.Option(
        flag if kind is not bool or field.default is not None else f"{flag}/--no-{flag[2:]}",
        help=about,
        min=least[0] if least and not _is_pair(kind) else None,
        max=most[0] if most and not _is_pair(kind) else None,
        metavar=words[0] if words else "A-B" if _is_pair(kind) else None,
    )
    taken: Any = str if _is_pair(kind) else kind
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[taken | None, option])


def _is_pair(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _pair(field: Field, text: str) -> tuple[int, int]:
    from transom.errors import SpecError

    least, dash, largest = text.partition("-")
    if dash and {"metavar": RANGE} in field.stated("extra"):
        try:
            return int(seconds_in(least, whole=True)), int(seconds_in(largest, whole=True))
        except ValueError as error:
            raise SpecError(f"--{field.key}: in {text!r}, {error}") from None
    if not dash or not digits(least) or not digits(largest):
        raise SpecError(f"--{field.key}: expected A-B such as {_shown(field.default)}, got {text!r}")
    return int(least), int(largest)


def _shown(value: Any, between: str = "-") -> str:
    return between.join(map(str, value)) if isinstance(value, tuple) else str(value)
