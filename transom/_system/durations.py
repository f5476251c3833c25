"""Durations as people spell them: ``90``, ``90s``, ``30m``, ``1.5h``, ``7d``, ``1w``, ``1y``, ``1-12:00:00``."""

from __future__ import annotations

import re

from transom._system.wording import real_number, whole_number

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
"""Seconds of each unit; ``m`` is minutes."""

EXPECTED = "seconds, or a number with a unit: 90, 90s, 30m (minutes), 1.5h, 7d, 1w"
"""How a duration is spelled, for messages and the help."""

_WITH_UNIT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([smhdwy])", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)", re.ASCII)


def seconds_in(text: str, whole: bool = False) -> float:
    """The seconds of a duration; also ``HH:MM:SS`` and ``D-HH:MM:SS``, as Slurm has them.

    Parameters
    ----------
    text : a number alone counts seconds.
    whole : whether only whole seconds will do, which are then an ``int``.

    Raises
    ------
    ValueError : it is no duration, or its seconds are not whole; the message says what was expected.
    """
    try:
        if found := _WITH_UNIT.fullmatch(text):
            seconds = round(float(found[1]) * UNITS[found[2]], 6)  # of 1.1h not 3960.0000000000005
        elif found := _CLOCK.fullmatch(text):
            days, hours, minutes, rest = (int(part or 0) for part in found.groups())
            seconds = ((days * 24 + hours) * 60 + minutes) * 60 + rest
        else:
            return whole_number(text) if whole else real_number(text)
        if not whole:
            return seconds
        if int(seconds) == seconds:
            return int(seconds)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"expected {'whole ' * whole}{EXPECTED}, got {text[:40]!r}")
