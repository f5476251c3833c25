"""Facts of a card against what contradicts them; what does not fit is one line that names the field."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from transom.errors import DocumentError

_MOST = 1_000_000


def same(field: str, said: Any, found: Any, who: str) -> None:
    """Refuse a fact of which ``who`` (such as "the weights have") says something else.

    Raises
    ------
    DocumentError : they differ, in value or in type.
    """
    if type(said) is not type(found) or said != found:
        raise DocumentError(f"card: {field} is {_brief(said)}, and {who} {_brief(found)}")


def must(field: str, said: Any, holds: bool, wanted: str) -> None:
    """Refuse a fact that is not what it must be.

    Raises
    ------
    DocumentError : it does not hold.
    """
    if not holds:
        raise DocumentError(f"card: {field} must be {wanted}, got {_brief(said)}")


def whole(field: str, said: Any, least: int = 1, most: int = _MOST) -> int:
    """A fact that must be a whole number within limits.

    Raises
    ------
    DocumentError : it is something else.
    """
    must(field, said, type(said) is int and least <= said <= most, f"a whole number from {least} to {most}")
    return int(said)


def text(field: str, said: Any, pattern: str, wanted: str) -> None:
    """Refuse a fact that is no text of a form.

    Raises
    ------
    DocumentError : it is something else.
    """
    must(field, said, isinstance(said, str) and re.fullmatch(pattern, said) is not None, wanted)


def finite(field: str, said: Mapping[str, float]) -> None:
    """Refuse figures that are no finite numbers.

    Raises
    ------
    DocumentError : one is not.
    """
    for name, value in said.items():
        must(f"{field}.{name!a}", value, math.isfinite(value), "a finite number")


def keys(field: str, said: Mapping[str, Any], *wanted: Collection[str]) -> int:
    """Which of some sets of keys a mapping has, by number.

    Raises
    ------
    DocumentError : it has others; the error names those that are too many or missing beside the nearest set.
    """
    here = set(said)
    differences = [here ^ set(each) for each in wanted]
    number = min(range(len(wanted)), key=lambda each: len(differences[each]))
    if differences[number]:
        more, less = sorted(here - set(wanted[number])), sorted(set(wanted[number]) - here)
        rows = [f"states {name!a:.60}, which it may not" for name in more] + [f"lacks {name!r}" for name in less]
        raise DocumentError(f"card: {field} {'; '.join(rows[:3])}")
    return number


def _brief(value: Any) -> str:
    said = ascii(value)
    return said if len(said) <= 80 else f"{said[:77]}..."
