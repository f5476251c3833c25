"""Records of numbers that compiled functions change."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from transom._system.compiling import no_refcount
from transom._system.records import record, records


class Progress:
    entry: int
    bound: float
    done: bool


class Label:
    paid: float
    parent: int


class Search(NamedTuple):
    progress: Progress
    labels: NDArray[Any]


@no_refcount
def advance(search: Search) -> float:
    search.progress.entry += 2
    search.progress.bound = search.labels[search.progress.entry].paid
    search.progress.done = search.progress.entry == len(search.labels) - 1
    search.labels[0].parent = search.progress.entry
    return search.progress.bound


def test_a_kernel_changes_a_record_by_name() -> None:
    progress, labels = record(Progress), records(Label, 5)
    assert (progress.entry, progress.bound, progress.done) == (0, 0.0, False)
    labels["paid"] = np.arange(5) / 2
    assert advance(Search(progress, labels)) == 1.0
    assert (progress.entry, progress.bound, progress.done, labels[0].parent) == (2, 1.0, False, 2)
    assert advance(Search(progress, labels)) == 2.0
    assert progress.done


def test_no_field_hides_behind_what_a_record_has_itself() -> None:
    class Sized:
        entry: int
        size: int

    with pytest.raises(TypeError, match="attributes of its own named size"):
        record(Sized)
