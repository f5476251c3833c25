"""Options of the compiler that are compared quickly are the same options."""

from __future__ import annotations

import pytest

from transom._system.compiler_flags import quick

Flags = pytest.importorskip("numba.core.compiler").Flags


def test_copies_are_equal_to_the_same_options_and_to_no_others() -> None:
    plain, other = Flags(), Flags()
    plain.nrt, other.nrt = True, True
    other.no_compile = True
    for copy in (quick(plain), quick(plain).copy()):
        assert copy == plain
        assert plain == copy
        assert copy == quick(plain)
        assert copy != other
        assert copy != quick(other)
        assert len({copy, plain, quick(plain)}) == 1
        assert (copy.summary(), copy.get_mangle_string()) == (plain.summary(), plain.get_mangle_string())


def test_what_is_set_to_its_default_is_equal_to_what_is_not_set() -> None:
    stated, silent = Flags(), Flags()
    stated.no_compile = silent.no_compile
    assert quick(stated) == quick(silent)
    assert hash(quick(stated)) == hash(quick(silent)) == hash(silent)


def test_a_change_after_the_copy_counts() -> None:
    first = quick(Flags())
    second = first.copy()
    second.nrt = not first.nrt
    assert first != second
