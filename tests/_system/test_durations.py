from __future__ import annotations

import pytest

from transom._system.durations import seconds_in


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90), ("90s", 90), ("30m", 1800), ("1.5h", 5400), ("1.1h", 3960), ("7d", 604_800), ("1w", 604_800),
        ("1y", 31_536_000), ("00:30:00", 1800), ("1-12:00:00", 129_600), ("0", 0), (".5m", 30), ("-1", -1),
    ],
)  # fmt: skip
def test_spellings(text: str, seconds: int) -> None:
    assert seconds_in(text) == seconds
    found = seconds_in(text, whole=True)
    assert (found, type(found)) == (seconds, int)


def test_parts_of_seconds() -> None:
    assert seconds_in("0.5") == seconds_in("0.5s") == 0.5
    with pytest.raises(ValueError, match=r"^expected whole seconds, .*30m \(minutes\).*, got '0.5s'$"):
        seconds_in("0.5s", whole=True)


@pytest.mark.parametrize("text", ["soon", "", "m", "30 m", "30M", "1h30m", "-5m", "1_0m", "٣m", "1:30", "1.2.3h"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected seconds, or a number with a unit: .*7d"):
        seconds_in(text)
