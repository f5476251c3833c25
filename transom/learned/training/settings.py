"""Settings of trainings: their ranges, their help, files of them, and the command that a training is.

Settings are a dataclass. The annotation of a field states its range and what it is, for the help of ``transom train``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from transom import registry
from transom._system.settings import Field, Natural, Positive, Rate, plain_type, setting
from transom.errors import SpecError

Seed = Annotated[Natural, setting("Seed of all random numbers.")]
Decisions = Annotated[Positive, setting("Number of decisions to learn from.")]
Minibatch = Annotated[Positive, setting("Minibatch size, in decisions.")]
Passes = Annotated[Positive, setting("Passes over the decisions in each update.")]
LearningRate = Annotated[Rate, setting("Initial learning rate; it falls to a tenth.")]
Discount = Annotated[Rate, setting("Discount factor, in (0, 1].")]
Threads = Annotated[Positive, setting("CPU threads of PyTorch. Another number rounds differently.")]


def read_settings(text: str, known: Sequence[Field]) -> dict[str, Any]:
    """Settings out of ``FILE.toml`` or ``KEY=VALUE,...``, of the types of their fields.

    Parameters
    ----------
    text : where they stand.
    known : the fields there may be.

    Raises
    ------
    SpecError : a setting is unknown or has a value of another type.
    DocumentError : the file cannot be read.
    """
    from transom.io.toml_files import parse_toml, read_text

    where, given = text, dict[str, Any]()
    if text.endswith(".toml"):
        given = parse_toml(read_text(text), text)
    else:
        where, given = "--settings", dict(registry.parse(f"settings:{text}")[1])
    fields = {field.name: field for field in known}
    for key in given:
        if key not in fields:
            raise SpecError(f"{where}: {registry.unknown('setting', key, fields)}")
    return {key: typed(value, fields[key], f"{where}: {key}") for key, value in given.items()}


def typed(value: Any, field: Field, where: str) -> Any:
    """A value as a file or an option has it, of the type of its field.

    Raises
    ------
    SpecError : it is none; the message begins with ``where``.
    """
    kind = plain_type(field.type)
    if isinstance(value, str) and get_origin(kind) is tuple:
        value = registry.listed(value)
    elif kind is bool and value in ("yes", "no"):
        value = value == "yes"
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        raise SpecError(f"{where}: expected {_words(kind)}, got {value!r}") from None


def _words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        inner, count = get_args(kind)[0], get_args(kind)[1:]
        return "texts" if inner is str else "two numbers such as 32,32" if count else "numbers"
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "a text")


def settings_text(given: Mapping[str, Any]) -> str:
    """Settings as ``KEY=VALUE,...``, which :func:`read_settings` takes."""
    return ",".join(f"{key}={_text(value)}" for key, value in given.items())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return f"[{','.join(map(_text, value))}]"
    return f"[{value}]" if "," in str(value) else str(value)


def option_of(field: str) -> str:
    """How ``transom train`` spells a setting: ``learning_rate`` is ``--learning-rate``."""
    return f"--{field.replace('_', '-')}"


def training_command(kind: str, settings: Any, name: str, always: Collection[str] = ("seed",)) -> str:
    """The command that trains with some settings.

    Parameters
    ----------
    kind : what is trained, as ``transom train`` calls it.
    settings : a dataclass with a default for every field; each field is an option.
    name : of the checkpoint.
    always : fields that are stated even where they have their default.
    """
    words = ["transom train", kind]
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name in always or value != field.default:
            words += [option_of(field.name), ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return " ".join([*words, "--name", name, "--out", "DIR"])
