"""Makespans of policies on the chunks of a trace."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from benchmarks.learned_priority import with_errors
from transom import registry
from transom.learned.checkpoints import load
from transom.models.arrays import IntArray
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.replay import make_task_policy, simulate_tasks
from transom.traces.tasks import TaskWorkload

RULES = {
    "first-fit": "first-fit",
    "Tetris as coded": "tetris:as-coded=yes",
    "Tetris normalised": "tetris:as-coded=no",
    "uniform random": "random",
    "longest-first": "longest-first",
    "learned-priority, no rollouts": "learned-priority:rollouts=0",
    "learned-priority": "learned-priority",
}
KEY = ("policy", "weights", "rules", "factor")
UNTRAINED = {f"untrained, seed {seed}": f"deepjs:model=untrained,seed={seed}" for seed in range(5)}


class Against(NamedTuple):
    """On how many chunks makespans are shorter, equal and longer than those of another policy, and the two-sided sign
    test on those that differ."""

    shorter: int
    equal: int
    longer: int

    @property
    def p(self) -> float:
        """Of the sign test."""
        return float(binomtest(self.shorter, self.shorter + self.longer).pvalue) if self.shorter + self.longer else 1.0

    def __str__(self) -> str:
        return f"{self.shorter} / {self.equal} / {self.longer}"


def against(found: IntArray, theirs: IntArray) -> Against:
    """Makespans of a policy beside those of another."""
    shorter, longer = int((found < theirs).sum()), int((found > theirs).sum())
    return Against(shorter, len(found) - shorter - longer, longer)


class Replays:
    """Makespans on some chunks, each computed once.

    Parameters
    ----------
    chunks : numbered from ``first``.
    rows : a file of all makespans, from which later runs take what they find there.
    """

    def __init__(self, chunks: Sequence[TaskWorkload], first: int, rows: Path | None = None) -> None:
        self.chunks, self.first, self._rows = chunks, first, rows
        self.bounds = np.array([makespan_bound(each) for each in chunks])
        self._found: dict[tuple[str, ...], IntArray] = {}
        if rows is not None and rows.is_file():
            kept: dict[tuple[str, ...], dict[int, int]] = {}
            with rows.open() as file:
                for row in csv.DictReader(file):
                    kept.setdefault(tuple(row[name] for name in KEY), {})[int(row["chunk"])] = int(row["makespan"])
            numbers = range(first, first + len(chunks))
            self._found = {
                key: np.array([ends[each] for each in numbers])
                for key, ends in kept.items()
                if all(each in ends for each in numbers)
            }

    def makespans(self, spec: str, rules: str = "textbook", factor: float = 1) -> IntArray:
        """Those of a policy, which knows durations to a factor [s]."""
        policy = make_task_policy(spec)
        key = (spec, registry.weights_of(policy), rules, f"{factor:g}")
        if key not in self._found:
            told = (with_errors(each, factor, self.first + k) for k, each in enumerate(self.chunks))
            runs = [simulate_tasks(each, policy, seed=self.first + k, rules=rules) for k, each in enumerate(told)]
            self._found[key] = np.array([each.makespan for each in runs])
            self._keep(key)
        return self._found[key]

    def _keep(self, key: tuple[str, ...]) -> None:
        if self._rows is None:
            return
        self._rows.parent.mkdir(parents=True, exist_ok=True)
        fresh = not self._rows.is_file()
        with self._rows.open("a") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([(*KEY, "chunk", "makespan")] if fresh else [])
            writer.writerows((*key, self.first + k, int(end)) for k, end in enumerate(self._found[key]))


def checkpoint(folder: str) -> Path:
    """That of a training."""
    path = Path(folder)
    return path / "deepjs.safetensors" if path.is_dir() else path


def agents(folders: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """Specification of each agent by the seed of its training, and whether it was better by the highest score there."""
    found = {}
    for folder in folders:
        path = checkpoint(folder)
        card = load(path, "deepjs").card
        found[f"seed {card.seed}"] = f"deepjs:model=[{path}]", bool(card.settings["greedy"])
    return found
