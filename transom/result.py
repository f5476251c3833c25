"""What came out of one call of ``solve``."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol

from transom._system.wording import html_table
from transom.models.arrays import Frozen
from transom.stop import SolutionT, Stop, relative_gap

if TYPE_CHECKING:
    import polars as pl

Status = Literal["optimal", "feasible", "infeasible", "unknown"]
Reason = Literal["proof", "target", "gap", "iterations", "stall", "time", "finished", "error"]


@cache
def versions() -> dict[str, str]:
    """Versions of Python, Transom and of every library that can decide a result."""
    found = {"python": platform.python_version()}
    for name in ("transom", "numpy", "numba", "ortools", "pyscipopt", "pymoo", "moocore"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True, eq=False, slots=True)
class Result(Frozen, Generic[SolutionT]):
    """The outcome of one call of ``solve``; status, stop reason and proved bound are separate.

    Parameters
    ----------
    instance : digest of the problem.
    problem : its kind, such as ``knapsack``.
    solver : name of the solver.
    parameters : its parameters and notes (such as ``chose`` of ``auto``).
    status : ``optimal`` (the bound meets the value; a front is complete), ``feasible``, ``infeasible`` (proved)
        or ``unknown``.
    reason : why it stopped; ``finished`` means that the method ended by itself.
    solution : the best feasible solution; None if there is none.
    value : its value, computed by the problem; None without a solution.
    bound : the best proved bound; None if nothing is proved.
    seconds : wall-clock time of the call without imports and compilation [s].
    curve : (seconds, value, bound) at each improvement of either.
    seed, threads, stop : as given.
    error : the exception or violation of the solver, in one line; None otherwise.
    """

    instance: str
    problem: str
    solver: str
    parameters: Mapping[str, Any]
    status: Status
    reason: Reason
    solution: SolutionT | None
    value: float | None
    bound: float | None
    seconds: float
    seed: int
    threads: int = 1
    stop: Stop = field(default_factory=Stop)
    curve: tuple[tuple[float, float | None, float | None], ...] = ()
    error: str | None = None
    versions: Mapping[str, str] = field(default_factory=versions)

    def __post_init__(self) -> None:
        for name in ("parameters", "versions"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def gap(self) -> float | None:
        """``|bound - value| / max(|value|, 1e-9)``; None while one of them is unknown."""
        return relative_gap(self.value, self.bound)

    def summary(self) -> dict[str, Any]:
        """What a table of results says: problem, solver, status, reason, value, bound, gap, seconds; error, if any."""
        names = ("problem", "solver", "status", "reason", "value", "bound", "gap", "seconds", "error")
        return {name: getattr(self, name) for name in names if name != "error" or self.error}

    def to_frame(self) -> pl.DataFrame:
        """The curve as a polars data frame: ``seconds``, ``value`` and ``bound`` at each improvement of either."""
        import polars as pl

        names = ("seconds", "value", "bound")
        return pl.DataFrame(self.curve, dict.fromkeys(names, pl.Float64), orient="row")

    def _repr_html_(self) -> str:
        return html_table("Result", self.summary().items())


class _Summed(Protocol):
    def summary(self) -> Mapping[str, Any]: ...


def table(things: Iterable[_Summed]) -> pl.DataFrame:
    """Results or schedules beside each other: a polars data frame, which notebooks show as a table.

    Parameters
    ----------
    things : what ``solve`` or ``simulate`` returned.

    Returns
    -------
    A row each: workload and policy of schedules, then what their ``summary()`` says, null where one does not say it.
    """
    import polars as pl

    names = ("workload", "policy")
    rows = [
        {**{name: getattr(each, name) for name in names if hasattr(each, name)}, **each.summary()} for each in things
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
