"""Recipes of constrained shortest paths: random ones, and those of static allocations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from transom._system.settings import setting
from transom.errors import SpecError
from transom.generate.instance_generator import InstanceGenerator, read_parameters
from transom.generate.instances.paths import random_path
from transom.generate.instances.tjap_recipes import FragmentedAllocations, StreamAllocations
from transom.generate.instances.tjap_recipes import recipe_for as allocations_for
from transom.models import Allocation, ConstrainedPath
from transom.rng import stream


class RandomPaths(InstanceGenerator, frozen=True, kw_only=True):
    """Constrained shortest paths with random costs; the parameters are those of :func:`random_path`."""

    length: Annotated[int, setting("Number of entries.")] = 100
    sizes: Annotated[int, setting("Number of distinct sizes of operation arcs.")] = 3
    arcs: Annotated[int, setting("Number of operation arcs of a path.")] = 6
    longest: Annotated[int, setting("Largest size.")] = 20
    most: Annotated[int, setting("Largest cost of an arc.")] = 1000
    density: Annotated[float, setting("Share of the possible arcs that exist.")] = 1.0
    load: Annotated[float, setting("Largest share of the entries that the arcs of a path span.")] = 0.9

    def block(self, seed: int, number: int) -> Iterator[ConstrainedPath]:
        rng = stream(seed, "csp", number)
        yield random_path(rng, self.length, self.sizes, self.arcs, self.longest, self.most, self.density, self.load)


class PathsOfAllocations(InstanceGenerator, frozen=True, kw_only=True):
    """Constrained paths of static allocations on a line, without wrap-around.

    Parameters
    ----------
    allocations : a table with the parameters of the recipe ``tjap``.
    """

    allocations: dict[str, Any]

    @property
    def _source(self) -> StreamAllocations | FragmentedAllocations:
        return read_parameters(allocations_for(self.allocations), "csp: allocations", self.allocations)

    @property
    def sequential(self) -> bool:
        return self._source.sequential

    def check(self) -> None:
        if self._source.form == "lines":
            raise SpecError("csp: allocations: form does not go with paths")
        self._source.check()

    def block(self, seed: int, number: int) -> Iterator[ConstrainedPath]:
        for each in self._source.block(seed, number):
            assert isinstance(each, Allocation)
            line = Allocation(each.tree, each.idle, each.sizes, "static", False, each.cost)
            yield ConstrainedPath.from_allocation(line)


def recipe_for(given: Mapping[str, Any]) -> type[InstanceGenerator]:
    """The recipe class for these parameters."""
    return PathsOfAllocations if "allocations" in given else RandomPaths
