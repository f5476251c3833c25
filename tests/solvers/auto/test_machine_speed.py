"""The probe of the machine's speed."""

from typing import Any

import numpy as np
import pytest

from transom.solvers.auto import machine_speed


def test_no_search_of_the_probe_repeats_another(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is repeated is learnt by heart, on some processors all of it and on others the half.
    search, seen = np.searchsorted, []

    def watched(numbers: Any, wanted: Any) -> Any:
        seen.append(wanted.tobytes())
        return search(numbers, wanted)

    monkeypatch.setattr(np, "searchsorted", watched)
    assert 0 < machine_speed.seconds_of_a_probe.__wrapped__() < 1
    assert len(set(seen)) == len(seen) > 10
