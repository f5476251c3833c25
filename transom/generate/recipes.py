"""Recipes by name: named, validated, seeded makers of instances of every problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transom.generate.instances.csp_recipes import PathsOfAllocations, RandomPaths
from transom.generate.instances.knapsack_recipes import ClassKnapsacks, WindowKnapsacks
from transom.generate.instances.selection_recipes import FamilySelections, ReplayedSelections
from transom.generate.instances.tjap_recipes import FragmentedAllocations, StreamAllocations
from transom.generate.instances.window_recipe import WindowRecipe
from transom.generate.recipe import Recipe, read_parameters
from transom.generate.workload.workload_recipe import WorkloadRecipe
from transom.registry import unknown

_KINDS: dict[str, Callable[[Mapping[str, Any]], type[Recipe]]] = {
    "workload": lambda given: WorkloadRecipe,
    "window": lambda given: WindowRecipe,
    "knapsack": lambda given: WindowKnapsacks if given.get("class") == "windows" else ClassKnapsacks,
    "selection": lambda given: ReplayedSelections if "workload" in given else FamilySelections,
    "tjap": lambda given: FragmentedAllocations if given.get("family") == "fragmented" else StreamAllocations,
    "csp": lambda given: PathsOfAllocations if "allocations" in given else RandomPaths,
}

RECIPES: tuple[str, ...] = tuple(_KINDS)
"""The names of all recipes."""


def recipe(name: str, parameters: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe of that name with these parameters; what is not stated has the defaults of ``transom generate``.

    Parameters
    ----------
    name : one of :data:`RECIPES`.
    parameters : plain data as it stands in a plan; docs/datasets.md lists them.

    Raises
    ------
    SpecError : the recipe or a parameter is unknown, or a value does not fit; the message names it and what is known.
    """
    if name not in _KINDS:
        raise unknown("recipe", name, RECIPES)
    given = parameters or {}
    made = read_parameters(_KINDS[name](given), name, given)
    made.check()
    return made


def file_of(key: str, value: Any) -> str | None:
    """The file that a parameter names: that of ``like``, or a trace that walltimes are learnt from."""
    if not isinstance(value, str):
        return None
    if key == "walltimes":
        return value.partition(":")[2] if value.startswith("trace:") else None
    return value if key == "like" else None


def rooted(parameters: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Parameters whose files (:func:`file_of`, wherever they stand) start at a folder, such as that of their plan."""

    def start(key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return rooted(value, folder)
        file = file_of(key, value)
        return value if file is None else value.removesuffix(file) + str(folder / Path(file).expanduser())

    return {key: start(key, value) for key, value in parameters.items()}
