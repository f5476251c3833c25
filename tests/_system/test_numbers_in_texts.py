"""Numbers that people and files spell."""

from __future__ import annotations

import pytest

from transom._system.wording import digits, real_number, whole_number
from transom.errors import SpecError
from transom.registry import build
from transom.traces.records.hostlist import hosts
from transom.traces.records.pbs.resources import ASSIGNED, assigned
from transom.traces.records.values import count, instant, seconds

ODD = ("1_0", " 5", "5 ", "٣", "1\u00a00", "５")


@pytest.mark.parametrize("text", ODD)
def test_what_python_takes_for_a_number_and_nobody_means_as_one_is_none(text: str) -> None:
    assert not digits(text)
    for read in (whole_number, real_number):
        with pytest.raises(ValueError, match="expected a"):
            read(text)

    def made(steps: int, share: float) -> None: ...

    for name in ("steps", "share"):
        with pytest.raises(SpecError, match=f"made:{name}: expected"):
            build(made, "made", {"steps": "1", "share": "1", name: text})


def test_plain_numbers_are_read() -> None:
    assert (whole_number("-12"), whole_number("+7"), real_number("1.5e3"), digits("007")) == (-12, 7, 1500.0, True)


def test_more_digits_than_a_number_may_have_are_none() -> None:
    assert (digits("9" * 4300), digits("9" * 4301)) == (True, False)


def test_digits_of_other_scripts_are_no_numbers_of_records() -> None:
    assert (count("٣"), seconds("٣:00:00"), instant("٢٠٢٦-01-01T00:00:00")) == (None, None, None)
    with pytest.raises(ValueError, match="a damaged range of hosts"):
        hosts("n[١-٣]")
    assert assigned(dict.fromkeys(ASSIGNED, "") | {"exec_host": "n1/0*٣", "hosts": "٣"}).cores == 1
