"""Fronts of the bundled selections: proved by several methods, kept as results beside the instances."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from transom import Stop, solve
from transom.errors import UnsupportedError
from transom.io import read_documents, write_documents
from transom.models import ParetoFront, Selection
from transom.result import Result

METHODS = {"exhaustive:limit=60": 120.0, "pareto-dp": 120.0, "epsilon": 10.0}
"""The exact methods, and the seconds of each; the last takes two or three objectives and proves what it can."""

NEEDED = 2
"""How many methods have to find the same front."""

_JOBS = 14  # of what is enumerated at most


def fronts_path(folder: Path, name: str) -> Path:
    """Where the fronts of a file of selections stand: ``selection/pairs.jsonl.gz`` in ``selection/fronts``."""
    path = folder / name
    return path.parent / "fronts" / path.name


def enumerated(problem: Selection) -> set[tuple[int, ...]]:
    """The values of the front from the words of the problem: every choice, every pair of values."""
    jobs = len(problem)
    chosen = (np.arange(2**jobs)[:, None] >> np.arange(jobs)) & 1 == 1
    fits = (chosen.astype(np.int64) @ problem.demands <= problem.capacity).all(axis=1)
    fits &= chosen[:, problem.forced].all(axis=1) & ~chosen[:, problem.excluded].any(axis=1)
    for job, other in problem.requires:
        fits &= ~chosen[:, job] | chosen[:, other]
    values = np.unique(chosen[fits].astype(np.int64) @ problem.objectives, axis=0)
    best: list[Any] = []
    for value in values[::-1]:  # whoever beats it comes before it
        if not any((other >= value).all() for other in best):
            best.append(value)
    return {tuple(value.tolist()) for value in best}


def values_of(front: ParetoFront) -> set[tuple[int, ...]]:
    """The values of a front."""
    return {tuple(value) for value in front.values.tolist()}


def proved_front(label: str, problem: Selection) -> tuple[Result | None, list[str]]:
    """The front of a selection, None if too few methods prove it, and the methods that do.

    Raises
    ------
    SystemExit : two methods prove different fronts.
    """
    results: list[Result] = []
    for method, seconds in METHODS.items():
        try:
            result = solve(problem, method, Stop(seconds=seconds))
        except UnsupportedError:
            continue
        if result.status == "optimal":
            results.append(result)
    by = [result.solver for result in results]
    found = [values_of(result.solution) for result in results]
    if len(problem) <= _JOBS:
        by.append("enumeration")
        found.append(enumerated(problem))
    if any(values != found[0] for values in found):
        raise SystemExit(f"{label}: the methods disagree: {dict(zip(by, map(len, found), strict=True))}")
    if len(by) < NEEDED or not results:
        return None, by
    # What depends on the machine and the hour is no part of what is kept.
    return replace(results[0], curve=(), seconds=0.0), by


class Fronts:
    """The fronts that are proved by now, in the file of each set."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sets: dict[str, dict[str, Result]] = {}

    def of(self, name: str) -> dict[str, Result]:
        """The fronts of a set, by the digest of the instance."""
        if name not in self._sets:
            path, found = fronts_path(self._folder, name), {}
            for _, result in read_documents(path) if path.exists() else ():
                assert isinstance(result, Result)
                found[result.instance] = result
            self._sets[name] = found
        return self._sets[name]

    def write(self, order: dict[str, list[str]]) -> None:
        """Write the fronts of each set, in the order of its instances."""
        for name, digests in order.items():
            found = self.of(name)
            path = fronts_path(self._folder, name)
            path.parent.mkdir(exist_ok=True)
            write_documents(path, [found[digest] for digest in digests if digest in found])
