"""Policies by name."""

from __future__ import annotations

import pytest

from transom.simulation import make_policy

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("FCFS-EASY", "fcfs-easy"),
        ("Easy", "fcfs-easy"),
        ("backfill", "fcfs-easy"),
        ("conservative:depth=3", "fcfs-conservative:depth=3"),
        ("F4-Easy:clock=sequence", "f4-easy:clock=sequence"),
    ],
)
def test_case_and_common_names_are_understood(written: str, meant: str) -> None:
    assert make_policy(written) == make_policy(meant)
