"""The command that a training is: what cards say, and what makes the same weights again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import Any


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
