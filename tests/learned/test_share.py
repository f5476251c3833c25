"""How much of a training is done."""

from __future__ import annotations

import pytest

from transom.learned.training.share import share_done

pytestmark = pytest.mark.fast


def test_time_counts_only_where_it_will_not_suffice() -> None:
    assert share_done(0.25, 1e6, None) == 0.25
    assert {share_done(0.0, seconds, 10) for seconds in (0.0, 9.1, 58.0)} == {0.0}
    assert share_done(0.2, 240, 10) == 0.4
    assert share_done(0.95, 600, 10) == 1.0
    assert share_done(1.0, 30, 10) == 1.0
