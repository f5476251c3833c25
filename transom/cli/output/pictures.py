"""The picture of a solution, drawn by what the type of the problem names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from transom.cli.output.console import check_writable

if TYPE_CHECKING:
    from transom.io.instances import Instance
    from transom.models.decision_rules import DecisionRule
    from transom.result import Result

_FORMATS = (".png", ".pdf", ".svg")


def check_picture(path: Path, instances: Sequence[Instance]) -> None:
    """Find out before the search that there will be no picture.

    Raises
    ------
    SpecError, DocumentError : the name of the file is not that of a picture, it cannot be written, there is not exactly
        one instance to draw, or no picture of its kind.
    """
    from transom.errors import SpecError
    from transom.problems import problem_type

    if path.suffix.lower() not in _FORMATS:
        raise SpecError(f"--picture: the name must end in {', '.join(_FORMATS)}, got {str(path)!r}")
    for each in instances:
        if (kind := problem_type(each.problem.kind)).figure is None:
            raise SpecError(f"--picture does not go with these files: there is no picture of {kind.plural}")
    if len(instances) != 1:
        raise SpecError(f"--picture draws one instance; there are {len(instances)}")
    check_writable(path, path.suffix)


def draw(path: Path, instance: Instance, result: Result, rules: Mapping[str, DecisionRule]) -> None:
    """Write the picture of a solution; of a front, with the points that rules take of it."""
    from transom.cli.output.fronts import taken
    from transom.plot import save
    from transom.problems import problem_type

    kind, solutions = problem_type(instance.problem.kind), {result.solver: result.solution}
    chosen = (
        {spec: (result.solver, point) for spec, point in taken(instance, result, rules).items()} if kind.fronts else {}
    )
    save(kind.part("figure")(instance.problem, solutions, **({"chosen": chosen} if chosen else {})), path)
