"""Problems out of files: what ``solve`` and ``check`` take as instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transom.models import Knapsack

PROBLEMS = ("knapsack",)
"""The problems that files can be read as."""


def read_instances(
    files: Sequence[Path], problem: str = "knapsack", objective: str | None = None
) -> Iterator[tuple[str, Knapsack]]:
    """Read problems, one at a time, each with its label: the file, in a set with the line.

    Parameters
    ----------
    files : documents of knapsacks or windows, or kplib's.
    problem : what a window is made into.
    objective : what a job of a window is worth, by default its nodes; None where no file holds a window.

    Raises
    ------
    SpecError : the problem or the objective is unknown, or values that are given would be ignored.
    DocumentError : a file cannot be read, or holds something else.
    """
    from transom import registry
    from transom.errors import DocumentError, SpecError
    from transom.io import read_documents
    from transom.models import Knapsack, Window

    if problem not in PROBLEMS:
        raise registry.unknown("problem", problem, PROBLEMS)
    worth = registry.make(registry.OBJECTIVES, objective or "nodes")
    for path in files:
        for label, document in read_documents(path):
            if isinstance(document, Window):
                yield label, Knapsack.from_window(document, worth)
            elif not isinstance(document, Knapsack):
                raise DocumentError(f"{label}: holds a result; expected a knapsack or a window")
            elif objective is not None:
                raise SpecError(f"{label}: a knapsack states its values; --objective is for windows")
            else:
                yield label, document
