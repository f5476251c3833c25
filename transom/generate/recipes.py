"""Recipes by name: named, validated, seeded makers of instances of every problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transom.generate.instance_generator import InstanceGenerator, read_parameters
from transom.generate.instances.window_recipe import WindowRecipe
from transom.generate.workload.workload_recipe import WorkloadRecipe
from transom.models.problem import Part, found
from transom.problems import problem_types
from transom.registry import unknown

_OTHERS: dict[str, Part] = {"workload": lambda given: WorkloadRecipe, "window": lambda given: WindowRecipe}


def recipes() -> dict[str, Part]:
    """What gives the class of each recipe for some parameters, by its name; of those of problems their types say it."""
    return _OTHERS | {name: part for each in problem_types() for name, part in each.recipes.items()}


def recipe(name: str, parameters: Mapping[str, Any] | None = None) -> InstanceGenerator:
    """The recipe of that name with these parameters; what is not stated has the defaults of ``transom generate``.

    Parameters
    ----------
    name : one of :func:`recipes`.
    parameters : plain data as it stands in a plan; docs/datasets.md lists them.

    Raises
    ------
    SpecError : the recipe or a parameter is unknown, or a value does not fit; the message names it and what is known.
    """
    known, given = recipes(), parameters or {}
    if name not in known:
        raise unknown("recipe", name, known)
    made: InstanceGenerator = read_parameters(found(known[name])(given), name, given)
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
