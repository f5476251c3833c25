"""The solver that a specification names, for whatever problems come."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transom.solving import Solver


class NamedSolver:
    """One solver for each type of problem: a name may stand for several.

    Parameters
    ----------
    spec : the specification.

    Raises
    ------
    SpecError : the name is unknown; or, where it stands for one solver only, a parameter is unknown or does not fit.
    """

    def __init__(self, spec: str) -> None:
        from transom import registry

        self._spec = spec
        self._made: dict[type, Solver] = {}
        self._weights: dict[type, str] = {}
        self.name, _ = registry.parse(spec)
        if "." in self.name or len(registry.entries(registry.SOLVERS, self.name)) == 1:
            only = registry.make(registry.SOLVERS, spec)
            self.name = only.name
            self._only: Solver | None = only
        else:
            self._only = None

    def for_type(self, problem: type) -> Solver:
        """The solver for problems of a type, or one that refuses them.

        Raises
        ------
        SpecError : a parameter is unknown or does not fit.
        """
        from transom import registry

        if self._only is not None:
            return self._only
        if problem not in self._made:
            self._made[problem] = registry.make(registry.SOLVERS, self._spec, problem)
        return self._made[problem]

    def weights(self, problem: type) -> str:
        """What decides beside the specification (:func:`~transom.registry.weights_of`), read once.

        Raises
        ------
        SpecError, DocumentError : as of :meth:`for_type`; or there are no such weights, or they cannot be read.
        """
        from transom import registry

        if problem not in self._weights:
            self._weights[problem] = registry.weights_of(self.for_type(problem), spec=self._spec)
        return self._weights[problem]
