"""Recipes of placements: random families, and windows of a replay of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any

from transom._system.settings import Natural, Positive, setting
from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.instances.placements import (
    PLACEMENT_FAMILIES,
    alibaba_placement,
    replayed_windows,
    uniform_placement,
)
from transom.models import Placement
from transom.models.placement import OBJECTIVES
from transom.registry import unknown
from transom.rng import stream
from transom.traces.tasks import TaskWorkload, parse_machines, read_tasks


class FamilyPlacements(InstanceGenerator, frozen=True, kw_only=True):
    """Random placements."""

    family: Annotated[str, setting("uniform or alibaba.")] = "uniform"
    tasks: Annotated[Positive, setting("Number of waiting tasks.")] = 20
    machines: Annotated[Positive, setting("Number of machines.")] = 5
    number: Annotated[Positive | None, setting("Number of resources, with uniform. By default 2.")] = None
    largest: Annotated[Positive | None, setting("The largest demand, with uniform. By default 100.")] = None
    tightness: Annotated[
        float | None, setting("Capacity as a share of the total demand, with uniform. By default 0.5.")
    ] = None
    kinds: Annotated[Positive | None, setting("Number of machine sizes, with uniform. By default 2.")] = None
    busy: Annotated[
        float | None,
        setting("Probability that a batch of tasks on full machines still runs, with alibaba. By default 0.9."),
    ] = None
    objective: Annotated[str, setting("Value of a placed instance: count, area or area-duration.")] = "area"
    maximal: Annotated[bool, setting("Require that no instance that still fits is left out.")] = False

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
    """

    like: str
    cluster: Annotated[str, setting("The machines; of several kinds with blanks between.")] = "count=5,cpu=64,memory=1"
    jobs: Annotated[Positive, setting("Number of jobs in a chunk.")] = 10
    skip: Annotated[Natural, setting("Number of chunks to skip at the beginning.")] = 0
    solver: Annotated[str, setting("Solver that places the tasks in the replay.")] = "first-fit"
    every: Annotated[Positive, setting("Minimum time between two windows.", "DURATION")] = 60
    minimum: Annotated[Natural, setting("Skip windows with fewer waiting tasks.")] = 2
    objective: Annotated[str, setting("Value of a placed instance: count, area or area-duration.")] = "area"
    maximal: Annotated[bool, setting("Require that no instance that still fits is left out.")] = False

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
