"""Numbers of things in sentences."""

from __future__ import annotations

import numpy as np
import pytest

from transom._system.wording import counted

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1_000_000, "1,000,000 jobs"), (np.int64(3), "3 jobs")],
)
def test_one_thing_is_singular(number: int, words: str) -> None:
    assert counted(number, "job") == words
