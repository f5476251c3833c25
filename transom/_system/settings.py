"""Ranges of settings: stated once, as the annotation of a field, and checked when the settings are made.

``steps: Positive = 10`` or ``rate: Annotated[float, Meta(gt=0, le=1)] = 0.1``; a ``Literal`` is one of its words.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Meta

from transom.errors import SpecError

Positive = Annotated[int, Meta(gt=0)]
Natural = Annotated[int, Meta(ge=0)]
Several = Annotated[int, Meta(gt=1)]
Rate = Annotated[float, Meta(gt=0, le=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Above = Annotated[float, Meta(gt=0)]
AtLeast = Annotated[float, Meta(ge=0)]


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
    for name, (words, ranges) in _limits(type(settings)).items():  # type: ignore[arg-type]
        value = getattr(settings, name)
        if words and value not in words:
            raise SpecError(f"{what}: {name} must be one of {', '.join(words)}, got {value!r}")
        if value is not None and not all(math.isfinite(value) and _within(value, each) for each in ranges):
            wanted = " and ".join(range_in_words(each) for each in ranges)
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
def _limits(kind: type) -> dict[str, tuple[tuple[str, ...], list[Meta]]]:
    """By field: the words that it may be, and its ranges."""
    found: dict[str, tuple[tuple[str, ...], list[Meta]]] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        parts = [hint, *(get_args(hint) if get_origin(hint) is not Annotated else ())]
        ranges = [meta for part in parts for meta in getattr(part, "__metadata__", ()) if isinstance(meta, Meta)]
        words = get_args(hint) if get_origin(hint) is Literal else ()
        if words or ranges:
            found[name] = words, ranges
    return found
