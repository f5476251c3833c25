"""Facts about instances that a type of problem may state, for the cards of data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Features(NamedTuple):
    """The numbers of a kind of problem: by name what each is, in order, and the function that gives them."""

    meanings: Mapping[str, str]
    of: Callable[[Any], Sequence[float]]
