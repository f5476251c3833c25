"""Ranges of settings out of the annotations of their fields."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from msgspec import Meta

from transom._system.settings import Natural, Positive, Rate, Several, Share, check_settings, setting
from transom.errors import SpecError

pytestmark = pytest.mark.fast


@dataclass(frozen=True, kw_only=True)
class Made:
    """Fields of all kinds of ranges."""

    seed: Natural = 0
    steps: Positive = 1
    runs: Several = 2
    rate: Rate = 1.0
    share: Share = 0.0
    below: Annotated[float, Meta(gt=0, lt=10)] = 1.0
    most: Positive | None = None
    word: Literal["one", "two"] = "one"
    units: Annotated[tuple[Several, Several], setting("Units of two layers.", "H,K")] = (4, 4)
    told: Annotated[float | None, setting("What is told has to be finite.")] = None
    free: float = 0.0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seed": -1}, "made: seed must be >= 0, got -1"),
        ({"steps": 0}, "made: steps must be > 0, got 0"),
        ({"runs": 1}, "made: runs must be > 1, got 1"),
        ({"rate": 1.5}, "made: rate must be > 0 and at most 1, got 1.5"),
        ({"rate": float("nan")}, "made: rate must be > 0 and at most 1, got nan"),
        ({"share": -0.1}, "made: share must be from 0 to 1, got -0.1"),
        ({"below": 10.0}, "made: below must be > 0 and < 10, got 10.0"),
        ({"most": 0}, "made: most must be > 0, got 0"),
        ({"word": "three"}, "made: word must be one of one, two, got 'three'"),
        ({"units": (4, 1)}, "made: units must be > 1, got (4, 1)"),
        ({"units": (4,)}, "made: units must be 2 numbers, got (4,)"),
        ({"units": (4, 4, 4)}, "made: units must be 2 numbers, got (4, 4, 4)"),
        ({"told": float("nan")}, "made: told must be finite, got nan"),
    ],
)
def test_what_is_out_of_its_range_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        check_settings("made", Made(**changed))
    assert str(caught.value) == said


def test_what_fits_passes() -> None:
    check_settings("made", Made(most=3, word="two", free=float("inf")))
    check_settings("made", Made())


def test_named_tuples_have_ranges_and_numbers_are_finite() -> None:
    class Pair(NamedTuple):
        low: Annotated[float, Meta(ge=0)] = 0.0
        high: float = 0.0

    check_settings("pair", Pair(1.0, float("inf")))
    with pytest.raises(SpecError, match="pair: low must be >= 0, got inf"):
        check_settings("pair", Pair(float("inf")))
