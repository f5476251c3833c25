"""Durations as people spell them: ``90``, ``90s``, ``30m``, ``1.5h``, ``7d``, ``1w``, ``1y``, ``1-12:00:00``; and as
sentences and tables say them, in one unit so that they can be compared at a glance, with days."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from transom._system.wording import real_number, whole_number

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
"""Seconds of each unit; ``m`` is minutes."""

EXPECTED = "seconds, or a number with a unit: 90, 90s, 30m (minutes), 1.5h, 7d, 1w"
"""How a duration is spelled, for messages and the help."""

_SAID = (("d", 86_400, 72 * 3600), ("h", 3600, 7200), ("min", 60, 120), ("s", 1, 0))
"""Units with their seconds, and the seconds from which on they are used: 71 h are easier to read than 3 d."""

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


def times(*seconds: float) -> list[str]:
    """Durations in the unit of the longest, with so many digits, up to two, that they differ; very short ones in their
    own unit."""
    longest = max(map(abs, seconds))
    name, unit = next((name, unit) for name, unit, least in _SAID if longest >= least)
    short = [unit > 1 and 0 < abs(each) < unit / 20 for each in seconds]
    shortest = min((abs(each) for each, own in zip(seconds, short, strict=True) if each and not own), default=0)
    least = int(shortest < 9.95 * unit and any(each % unit for each in seconds))
    ways = [[f"{each / unit:,.{digits}f}" for each in seconds] for digits in range(least, 3)]
    chosen = next((way for way in ways if len(set(way)) == len(set(seconds))), ways[0])
    return [times(each)[0] if own else f"{text} {name}" for each, text, own in zip(seconds, chosen, short, strict=True)]


def column_unit(seconds: Iterable[float], digits: int) -> tuple[str, int]:
    """The unit of a column of durations, and its seconds: by the longest, and a shorter one where a duration would
    read as zero.

    Parameters
    ----------
    seconds : all values of the column; NaN where there is none.
    digits : behind the decimal point.
    """
    known = [abs(each) for each in seconds if each and not math.isnan(each)]
    longest, shortest = max(known, default=math.inf), min(known, default=math.inf)
    if longest == math.inf:  # nothing but zeros
        return "h", 3600
    for name, unit, least in _SAID:
        if longest >= least and shortest >= 0.5 * unit / 10**digits:
            return name, unit
    return "s", 1


def day(unix: float) -> str:
    """The day of an instant [s since 1970], in UTC, such as ``2022-01-03``."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=unix)).date().isoformat()
    except OverflowError:  # beyond the year 9999, on the clock of a trace that is odd
        return f"day {int(unix) // 86_400:,}"


def minute(seconds: int, epoch: int | None) -> str:
    """An instant of a trace to the minute.

    Parameters
    ----------
    seconds : on the trace's clock.
    epoch : 0 s of that clock in Unix time [s]: the instant is then in UTC, such as ``2022-01-03 14:05``; None where it
        is not known: ``day 12, 14:05``, after so many whole days.
    """
    days, rest = divmod(seconds + (epoch or 0), 86_400)
    date = f"day {days:,}," if epoch is None else day(seconds + epoch)
    return f"{date} {rest // 3600:02}:{rest % 3600 // 60:02}"


def from_now(seconds: int) -> str:
    """How far an instant is off [s]: ``now``, ``in 40 min`` or ``3.5 h ago``."""
    if seconds == 0:
        return "now"
    said = times(abs(seconds))[0]
    return f"in {said}" if seconds > 0 else f"{said} ago"
