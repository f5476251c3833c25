"""What a tuned policy has to keep to, relative to today's: ``max_wait <= 1.5``."""

from __future__ import annotations

import re
from typing import NamedTuple

from transom._system.wording import real_number
from transom.errors import SpecError
from transom.tune.figures import FIGURES, Figures

_KEEP = re.compile(r"\s*([a-z_]+)\s*<=\s*(\S+)\s*")


class Keep(NamedTuple):
    """A figure that may be at most so many times today's, on the same jobs."""

    figure: str
    most: float

    def ratio(self, found: Figures, today: Figures) -> float:
        """The figure over today's; a figure of today's below 1 counts as 1."""
        return float(getattr(found, self.figure)) / max(float(getattr(today, self.figure)), 1.0)

    def excess(self, found: Figures, today: Figures, whole: Figures) -> float:
        """By how much the condition is exceeded on a part, relative to it, 0 if it is kept.

        Parameters
        ----------
        found, today : figures on the part.
        whole : today's figures on the whole tuning part; a part where jobs wait less is no reason to exclude a policy.
        """
        return max(0.0, min(self.ratio(found, today), self.ratio(found, whole)) / self.most - 1)

    def __str__(self) -> str:
        return f"{self.figure} <= {self.most:g}"


def parse_keep(text: str) -> Keep:
    """The condition that a text states.

    Raises
    ------
    SpecError : it states none.
    """
    found = _KEEP.fullmatch(text)
    try:
        most = real_number(found[2]) if found else 0.0
    except ValueError:
        most = 0.0
    if found is None or found[1] not in FIGURES or not 0 < most < float("inf"):
        raise SpecError(f"--keep: expected FIGURE <= FACTOR with one of {', '.join(FIGURES)}, got {text[:60]!r}")
    return Keep(found[1], most)
