"""What settings may be: stated once, as the annotation of a field, and checked when the settings are made.

``steps: Positive = 10`` or ``rate: Annotated[float, Meta(gt=0, le=1)] = 0.1``; a ``Literal`` is one of its words. With
a :func:`setting` beside, ``steps: Annotated[Positive, setting("Steps of a search.")]``, a field is an option, too.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from transom.errors import SpecError

Positive = Annotated[int, Meta(gt=0)]
Natural = Annotated[int, Meta(ge=0)]
Several = Annotated[int, Meta(gt=1)]
Rate = Annotated[float, Meta(gt=0, le=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Above = Annotated[float, Meta(gt=0)]
AtLeast = Annotated[float, Meta(ge=0)]


def setting(about: str, metavar: str | None = None) -> Meta:
    """What a setting is, for the help of its option, where ``metavar`` stands for its value."""
    return Meta(description=about, extra=None if metavar is None else {"metavar": metavar})


def check_settings(what: str, settings: Any) -> None:
    """Refuse settings outside of the ranges that the annotations of their class state; all numbers must be finite.

    Parameters
    ----------
    what : what the settings are of, for the message.
    settings : a dataclass or a named tuple; fields without a range, and those that are None, are not looked at.

    Raises
    ------
    SpecError : the first field that does not fit, by its name.
    """
    for name, (words, ranges, parts) in _limits(type(settings)).items():  # type: ignore[arg-type]
        value = getattr(settings, name)
        if words and value not in words:
            raise SpecError(f"{what}: {name} must be one of {', '.join(map(str, words))}, got {value!r}")
        if parts and value is not None and len(value) != parts:
            raise SpecError(f"{what}: {name} must be {parts} numbers, got {value}")
        values = () if value is None else value if isinstance(value, tuple) else (value,)
        if not all(math.isfinite(number) and _within(number, each) for number in values for each in ranges):
            wanted = " and ".join(dict.fromkeys(filter(None, map(range_in_words, ranges)))) or "finite"
            raise SpecError(f"{what}: {name} must be {wanted}, got {value}")


def range_in_words(meta: Meta) -> str:
    """A range as messages say it: ``> 0 and at most 1``, ``from 0 to 1``, ``>= 2``."""
    if meta.ge is not None and meta.le is not None:
        return f"from {meta.ge:g} to {meta.le:g}"
    ends = [("> {:g}", meta.gt), (">= {:g}", meta.ge), ("< {:g}", meta.lt), ("at most {:g}", meta.le)]
    return " and ".join(text.format(end) for text, end in ends if end is not None)


def _within(value: float, meta: Meta) -> bool:
    return (
        (meta.gt is None or value > meta.gt)
        and (meta.ge is None or value >= meta.ge)
        and (meta.lt is None or value < meta.lt)
        and (meta.le is None or value <= meta.le)
    )


@cache
def _limits(kind: type) -> dict[str, tuple[tuple[Any, ...], list[Meta], int]]:
    """By field: the words that it may be, its ranges, and how many numbers it is, 0 for one or any number."""
    found: dict[str, tuple[tuple[Any, ...], list[Meta], int]] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        plain = plain_type(hint)
        words = get_args(plain) if get_origin(plain) is Literal else ()
        ranges = [meta for meta in _metas(hint) if plain is float or range_in_words(meta)]
        several = get_args(plain) if get_origin(plain) is tuple else ()
        if words or ranges:
            found[name] = words, ranges, 0 if ... in several else len(several)
    return found


class Field(NamedTuple):
    """A field: its name, its name in documents, its annotation and its default."""

    name: str
    key: str
    type: Any
    default: Any

    def stated(self, name: str) -> list[Any]:
        """What the annotation says under a name, such as ``ge`` or ``description``, those of parts of it too."""
        return [value for meta in _metas(self.type) if (value := getattr(meta, name)) is not None]


def fields_of(kind: Any) -> list[Field]:
    """The fields of a struct or a dataclass, in their order."""
    if issubclass(kind, msgspec.Struct):
        return [Field(each.name, each.encode_name, each.type, each.default) for each in msgspec.structs.fields(kind)]
    hints = get_type_hints(kind, include_extras=True)
    return [Field(each.name, each.name, hints[each.name], each.default) for each in dataclasses.fields(kind)]


def plain_type(kind: Any) -> Any:
    """A type without limits and None; of one that takes several texts, that of one of them."""
    kind = _bare(kind)
    if get_origin(kind) in (None, Literal, tuple):
        return kind
    return next((_bare(each) for each in get_args(kind) if each is not type(None)), kind)


def _bare(kind: Any) -> Any:
    return _bare(get_args(kind)[0]) if get_origin(kind) is Annotated else kind


def _metas(kind: Any) -> list[Meta]:
    """What annotates a type, and its parts."""
    inner = [meta for each in get_args(kind) for meta in _metas(each)]
    own = [each for each in getattr(kind, "__metadata__", ()) if isinstance(each, Meta)]
    return [*own, *inner]
