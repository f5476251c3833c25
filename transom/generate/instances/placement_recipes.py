"""Recipes of placements: random families, and windows of a replay of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.instances.placements import (
    PLACEMENT_FAMILIES,
    alibaba_placement,
    replayed_windows,
    uniform_placement,
)
from transom.generate.workload.workload_recipe import Natural, Positive
from transom.models import Placement
from transom.models.placement import OBJECTIVES
from transom.registry import unknown
from transom.rng import stream
from transom.traces.tasks import TaskWorkload, parse_machines, read_tasks


class FamilyPlacements(InstanceGenerator, frozen=True, kw_only=True):
    """Random placements.

    Parameters
    ----------
    family : ``uniform`` or ``alibaba``.
    tasks, machines : how many; by default 20 and 5.
    number : number of resources for ``uniform``; by default 2.
    largest, tightness, kinds : as in :func:`~transom.generate.instances.placements.uniform_placement`.
    busy : as in :func:`~transom.generate.instances.placements.alibaba_placement`.
    objective : ``count``, ``area`` or ``area-duration``.
    maximal : whether an instance that still fits must not be left out.
    """

    family: str = "uniform"
    tasks: Positive = 20
    machines: Positive = 5
    number: Positive | None = None
    largest: Positive | None = None
    tightness: float | None = None
    kinds: Positive | None = None
    busy: float | None = None
    objective: str = "area"
    maximal: bool = False

    def check(self) -> None:
        if self.family not in PLACEMENT_FAMILIES:
            raise unknown("placement family", self.family, PLACEMENT_FAMILIES)
        _check_objective(self.objective)
        alien = ("number", "largest", "tightness", "kinds") if self.family == "alibaba" else ("busy",)
        for name in alien:
            if getattr(self, name) is not None:
                raise SpecError(f"placement: {name} does not go with the family {self.family}")
        next(self.block(0, 1))

    def block(self, seed: int, number: int) -> Iterator[Placement]:
        rng = stream(seed, "placement", self.family, number)
        if self.family == "alibaba":
            busy = 0.9 if self.busy is None else self.busy
            made = alibaba_placement(rng, self.tasks, self.machines, busy)
        else:
            tightness = 0.5 if self.tightness is None else self.tightness
            number, largest, kinds = self.number or 2, self.largest or 100, self.kinds or 2
            made = uniform_placement(rng, self.tasks, self.machines, number, largest, tightness, kinds)
        yield replace(made, maximal=self.maximal).with_objective(self.objective)


class ReplayedPlacements(InstanceGenerator, frozen=True, kw_only=True):
    """Windows of replays of tasks; an epoch is a chunk of consecutive jobs on initially empty machines.

    Parameters
    ----------
    like : a file of tasks (:func:`~transom.traces.tasks.read_tasks`).
    cluster : the machines, as ``count=5,cpu=64,memory=1``; of several kinds with blanks between.
    jobs : number of jobs in a chunk.
    skip : number of chunks to skip at the beginning.
    solver : solver that places the tasks in the replay.
    every : minimum time between two windows [s].
    minimum : minimum number of tasks; other windows are skipped.
    objective, maximal : as in :class:`FamilyPlacements`.
    """

    like: str
    cluster: str = "count=5,cpu=64,memory=1"
    jobs: Positive = 10
    skip: Natural = 0
    solver: str = "first-fit"
    every: Positive = 60
    minimum: Natural = 2
    objective: str = "area"
    maximal: bool = False

    @property
    def sequential(self) -> bool:
        return True

    @property
    def num_blocks(self) -> int | None:
        return max(0, -(-len(_tasks(self.like, self.cluster).job_ids) // self.jobs) - self.skip)

    def check(self) -> None:
        _check_objective(self.objective)
        if not self.num_blocks:
            raise SpecError(f"placement: {self.like} has no more than {self.skip} chunks")

    def block(self, seed: int, number: int) -> Iterator[Placement]:
        chunk = _tasks(self.like, self.cluster).take((self.skip + number - 1) * self.jobs, self.jobs)
        for window in replayed_windows(chunk, self.solver, self.every):
            if len(window.waiting) >= self.minimum:
                yield window.placement(self.objective, self.maximal)


def _check_objective(name: str) -> None:
    if name not in OBJECTIVES:
        raise unknown("objective of placements", name, OBJECTIVES)


@lru_cache(maxsize=2)
def _tasks(like: str, cluster: str) -> TaskWorkload:
    return read_tasks(like, parse_machines(cluster.split()))


def recipe_for(given: Mapping[str, Any]) -> type[InstanceGenerator]:
    """The recipe class for these parameters."""
    return ReplayedPlacements if "like" in given else FamilyPlacements
