"""Partitions of a logged machine: which jobs to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import BoolArray, IntArray


def selected(partition: IntArray, names: Mapping[int, str], wanted: Sequence[int | str], path: str) -> BoolArray:
    """Which jobs are in the partitions that are wanted; all where none is stated.

    Parameters
    ----------
    partition : of each job, shape ``(jobs,)``.
    names : of partitions in the header, by number.
    wanted : numbers or names.
    path : the file, for messages.

    Raises
    ------
    SpecError : no job is in one of them.
    """
    if not wanted:
        return np.ones(len(partition), bool)
    there = np.unique(partition).tolist()
    numbers = {name.lower(): number for number, name in names.items()} | {str(number): number for number in there}
    taken: list[int] = []
    for each in wanted:
        number = numbers.get(str(each).lower())
        if number is None or number not in there:
            known = ", ".join(" ".join(filter(None, (str(n), names.get(n, "")))) for n in there)
            raise SpecError(f"{path}: no job is in partition {each!r}. Known: {known}")
        taken.append(number)
    return np.isin(partition, taken)
