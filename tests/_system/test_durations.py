"""Durations as they are spelled and said, and days."""

from __future__ import annotations

import math

import pytest

from transom._system.durations import column_unit, day, from_now, minute, seconds_in, times


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


def test_durations_of_a_sentence_share_a_unit_in_which_they_differ() -> None:
    assert times(0) == ["0 s"]
    assert times(90) == ["90 s"]
    assert times(36.6 * 3600, 71 * 3600) == ["37 h", "71 h"]
    assert times(4363, 4361.1) == ["72.72 min", "72.69 min"]
    assert times(36.5 * 3600, 210 * 3600) == ["1.5 d", "8.8 d"]
    assert times(20, 36000) == ["20 s", "10 h"], "not 0 h"


def test_a_column_has_the_unit_of_its_longest_duration_unless_another_would_read_as_zero() -> None:
    assert column_unit((7200, 60), 2) == ("h", 3600)
    assert column_unit((7200, 1), 2) == ("min", 60)
    assert column_unit((7199, math.nan), 2) == ("min", 60)
    assert column_unit((9 * 86_400, 43_200), 1) == ("d", 86_400)
    assert column_unit((9 * 86_400, 3600), 1) == ("h", 3600)
    assert column_unit((0, math.nan), 2) == ("h", 3600)
    assert column_unit((5, 0.001), 2) == ("s", 1)


def test_days_are_those_of_utc() -> None:
    assert [day(each) for each in (0, 86_399, 86_400, 1_027_839_845, 2**62)] == [
        "1970-01-01", "1970-01-01", "1970-01-02", "2002-07-28", "day 53,375,995,583,650",
    ]  # fmt: skip


def test_instants_are_dates_or_days_of_the_trace() -> None:
    assert minute(3 * 86_400 + 3660, None) == "day 3, 01:01"
    assert minute(60, 1_027_839_845) == "2002-07-28 07:05"
    assert [from_now(each) for each in (0, 2400, -7200)] == ["now", "in 40 min", "2 h ago"]
