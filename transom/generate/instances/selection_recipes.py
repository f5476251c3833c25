"""Recipes of selections: random families, and windows of a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from transom._system.settings import Natural, Positive, setting
from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator
from transom.generate.instances.replays import ReplayRecipe
from transom.generate.instances.selections import FAMILIES, Marked, family_selection, replayed_selections
from transom.io.objective_names import named_terms
from transom.models import Cluster, Selection
from transom.registry import unknown
from transom.rng import stream
from transom.simulation import Schedule


class FamilySelections(InstanceGenerator, frozen=True, kw_only=True):
    """Random selections; several families take turns.

    The parameters are those of :func:`~transom.generate.family_selection` and :class:`~transom.generate.Marked`.
    """

    family: Annotated[str | tuple[str, ...], setting("uniform, correlated, inverse, ties, heavy, sparse, or all.")] = (
        "uniform"
    )
    jobs: Annotated[Natural, setting("Number of jobs of a window. With --like, the maximum.")] = 20
    number: Annotated[Positive, setting("Number of resources, nodes included.")] = 3
    largest: Annotated[Positive, setting("The largest demand.")] = 100
    tightness: Annotated[float, setting("Capacity as a share of the total demand.")] = 0.5
    objectives: Annotated[str, setting("Objectives, such as nodes/r1/waited/priority. By default, every resource.")] = (
        ""
    )
    forced: Annotated[float, setting("Share of jobs that must be chosen.")] = 0.0
    excluded: Annotated[float, setting("Share of jobs that must not be chosen.")] = 0.0
    requires: Annotated[float, setting("Share of jobs that require an earlier one.")] = 0.0

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
    """Heads of the queue during a replay, with the free resources; an epoch is the replay of one workload."""

    jobs: Annotated[Positive, setting("Maximum number of jobs of a window.")] = 20
    minimum: Annotated[Natural, setting("Skip windows with fewer undecided jobs.")] = 2
    objectives: Annotated[str, setting("Objectives. By default, every resource.")] = ""

    def check(self) -> None:
        super().check()
        names = self.resource_names()
        named_terms(self.objectives, Cluster(1, names, (1,) * len(names)))

    def cut(self, schedule: Schedule) -> Iterator[Selection]:
        return replayed_selections(schedule, self.every, self.jobs, self.minimum, self.objectives, self.ordered())


def recipe_for(given: Mapping[str, Any]) -> type[InstanceGenerator]:
    """The recipe class for these parameters."""
    return ReplayedSelections if "workload" in given else FamilySelections
