"""Recipes of selections: random families, and windows of a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.instances.replays import ReplayRecipe
from transom.generate.instances.selections import FAMILIES, Marked, family_selection, replayed_selections
from transom.generate.workload.workload_recipe import Natural, Positive
from transom.io.objective_names import named_terms
from transom.models import Cluster, Selection
from transom.registry import unknown
from transom.rng import stream
from transom.simulation import Schedule


class FamilySelections(InstanceGenerator, frozen=True, kw_only=True):
    """Random selections; several families take turns.

    Parameters
    ----------
    family : a name of :data:`~transom.generate.FAMILIES`, several, or ``all``.
    number : resources, nodes included.
    jobs, largest, tightness, objectives : as in :func:`~transom.generate.family_selection`.
    forced, excluded, requires : as in :class:`~transom.generate.Marked`.
    """

    family: str | tuple[str, ...] = "uniform"
    jobs: Natural = 20
    number: Positive = 3
    largest: Positive = 100
    tightness: float = 0.5
    objectives: str = ""
    forced: float = 0.0
    excluded: float = 0.0
    requires: float = 0.0

    @property
    def families(self) -> tuple[str, ...]:
        """The families, in their order."""
        if self.family == "all":
            return tuple(FAMILIES)
        return (self.family,) if isinstance(self.family, str) else self.family

    def check(self) -> None:
        for name in self.families:
            if name not in FAMILIES:
                raise unknown("selection family", name, (*FAMILIES, "all"))
        if not self.families:
            raise SpecError("selection: there is no family")
        next(self.block(0, 1))

    def block(self, seed: int, number: int) -> Iterator[Selection]:
        turn, at = divmod(number - 1, len(self.families))
        yield family_selection(
            self.families[at],
            stream(seed, "selection", self.families[at], turn + 1),
            self.jobs,
            self.number,
            self.largest,
            self.tightness,
            self.objectives,
            Marked(self.forced, self.excluded, self.requires),
        )


class ReplayedSelections(ReplayRecipe, frozen=True, kw_only=True):
    """Heads of the queue during a replay, with the free resources; an epoch is the replay of one workload.

    Parameters
    ----------
    jobs : maximum number of jobs in a window.
    minimum : minimum number of undecided jobs; other windows are skipped.
    objectives : what to maximise, every resource by default.
    """

    jobs: Positive = 20
    minimum: Natural = 2
    objectives: str = ""

    def check(self) -> None:
        super().check()
        names = self.resource_names()
        named_terms(self.objectives, Cluster(1, names, (1,) * len(names)))

    def cut(self, schedule: Schedule) -> Iterator[Selection]:
        return replayed_selections(schedule, self.every, self.jobs, self.minimum, self.objectives, self.ordered())


def recipe_for(given: Mapping[str, Any]) -> type[InstanceGenerator]:
    """The recipe class for these parameters."""
    return ReplayedSelections if "workload" in given else FamilySelections
