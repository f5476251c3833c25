"""What runs of the bench say about a case, an instance under a budget: of one solver, and of several in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from transom.bench.score.gaps import primal_gap
from transom.bench.score.score import ALLOWANCE
from transom.models.arrays import FloatArray

if TYPE_CHECKING:
    import polars as pl

Schedule = tuple[tuple[str, float], ...]
"""Solvers in turn, each with the share of the time that is left when it begins; the last one takes all."""

_SHARES = (0.05, 0.1, 0.25, 0.5, 0.8)
"""Of the time that is left, for the first of two."""

_OF_THREE = ((0.05, 0.3), (0.1, 0.5), (0.25, 0.5), (0.5, 0.5), (0.5, 0.8))
"""Of the time that is left, for the first and the second of three."""


@dataclass(frozen=True)
class Run:
    """One run: what it had found when.

    Parameters
    ----------
    budget : its limit of time [s].
    takes : whether the solver took the instance at all.
    seconds : how long it ran [s].
    proved : whether it ended with a proof.
    times, values : its curve, one entry for each better value; empty if it failed.
    """

    budget: float
    takes: bool
    seconds: float
    proved: bool
    times: FloatArray
    values: FloatArray

    def value_at(self, seconds: float) -> float:
        """The best value by then, nan before the first."""
        known = int(np.searchsorted(self.times, seconds, side="right"))
        return float(self.values[known - 1]) if known else float("nan")


@dataclass(frozen=True)
class Case:
    """An instance under a budget, on a machine of some speed.

    Parameters
    ----------
    kind, set, instance : problem, set and digest of the instance.
    maximise : whether larger values are better.
    seconds : the time there really is [s].
    facts : features of the instance, by name.
    reference : the best value that is known.
    runs : runs of each solver on it, all budgets, ascending.
    slowdown : how much longer the budget is than that: the machine is slower, or busy with other things.
    """

    kind: str
    set: str
    instance: str
    maximise: bool
    seconds: float
    facts: Mapping[str, float]
    reference: float
    runs: Mapping[str, Sequence[Run]]
    slowdown: float = 1.0

    @property
    def budget(self) -> float:
        """The budget as it is stated [s]."""
        return self.seconds * self.slowdown


class PipelineResult(NamedTuple):
    """Where a schedule gets: primal gap [%], whether it proves, and after how many seconds it ends."""

    gap: float
    proved: bool
    seconds: float


def read_cases(
    frame: pl.DataFrame,
    facts: Mapping[str, Mapping[str, float]],
    skip: str = "auto",
    slowdowns: Sequence[float] = (1.0,),
) -> list[Case]:
    """All cases of some results with a limit of time and nothing else.

    Each seed is a case of its own. Instances of which no run has a value are left out: there is nothing to learn.

    Parameters
    ----------
    frame : results, with the columns of :func:`transom.bench.store.frame.schema`.
    facts : features of each instance, by digest; rows of other instances are left out.
    skip : name of the solver that chooses; it cannot be chosen.
    slowdowns : a case is made for each.
    """
    import polars as pl

    rows = frame.filter(
        (pl.col("what") == "solve")
        & pl.col("budget_seconds").is_not_null()
        & pl.all_horizontal(pl.col(f"budget_{each}").is_null() for each in ("iterations", "target", "gap", "stall"))
        & pl.col("instance").is_in(list(facts))
    )
    found: list[Case] = []
    for _, group in rows.group_by("instance", "seed", "threads", maintain_order=True):
        first = group.row(0, named=True)
        maximise = first["sense"] == "max"
        values = group.filter(pl.col("outcome") == "ok")["value"].drop_nulls()
        if values.is_empty():
            continue
        reference = float(values.max() if maximise else values.min())  # type: ignore[arg-type]
        runs: dict[str, list[Run]] = {}
        for row in group.sort("budget_seconds").iter_rows(named=True):
            if row["spec"].partition(":")[0] != skip:
                runs.setdefault(row["spec"], []).append(_run(row))
        budgets = sorted({run.budget for each in runs.values() for run in each})
        found += [
            Case(
                first["problem"], first["set"], first["instance"], maximise, budget / slowdown,
                facts[first["instance"]], reference, runs, slowdown,
            )
            for budget in budgets
            for slowdown in slowdowns
        ]  # fmt: skip
    return found


def simulate_pipeline(case: Case, schedule: Schedule) -> PipelineResult:
    """Where a schedule gets on a case, out of runs of its solvers alone.

    No run knew what another had found, so the best of their values counts. With a start a solver mostly gets further;
    but it may also miss what it finds from its own, as SCIP's heuristics do where a root solution that they would
    improve is no improvement of the start. A solver gets the run with the least budget that is not below its time, up
    to that time.
    """
    left, used, best = case.seconds, 0.0, float("nan")
    for spec, share in schedule:
        allotted = share * left
        run = _with(case.runs.get(spec, ()), allotted)
        if run is None or not run.takes:
            continue
        ends = min(run.seconds, allotted)
        value = run.value_at(allotted)
        if np.isnan(best) or (value > best if case.maximise else value < best):
            best = value
        used, left = used + ends, left - ends
        if run.proved and run.seconds <= allotted:
            return PipelineResult(_gap(best, case), True, used)
        if left <= 0:
            break
    return PipelineResult(_gap(best, case), False, case.seconds)


def schedules(specs: Sequence[str], first: Sequence[str], then: Sequence[str]) -> Iterator[Schedule]:
    """Every solver alone, and every two and three in turn with some shares of the time.

    Parameters
    ----------
    specs : specifications of solvers.
    first, then : those that may stand at the head of others, and those that may stand between two.
    """
    yield from (((spec, 1.0),) for spec in specs)
    for one, two in permutations(specs, 2):
        if one in first:
            yield from (((one, share), (two, 1.0)) for share in _SHARES)
            if two in then:  # what the first one does not prove in a moment it goes on with in the end
                a, b = _OF_THREE[0]
                yield (one, a), (two, b), (one, 1.0)
    for one, two, three in permutations(specs, 3):
        if one in first and two in then:
            yield from (((one, a), (two, b), (three, 1.0)) for a, b in _OF_THREE)


def _run(row: dict[str, Any]) -> Run:
    ok = row["outcome"] == "ok"
    budget = float(row["budget_seconds"])
    allowed = ALLOWANCE[0] + (1 + ALLOWANCE[1]) * budget  # what comes in the last step counts, as in all scores
    curve = [
        (min(p["seconds"], budget), p["value"])
        for p in row["curve"] or ()
        if ok and p["value"] is not None and p["seconds"] <= allowed
    ]
    return Run(
        budget=budget,
        takes=row["outcome"] != "refused",
        seconds=float(row["seconds"]) if ok and row["seconds"] is not None else budget,
        proved=ok and row["status"] in ("optimal", "infeasible"),
        times=np.array([seconds for seconds, _ in curve]),
        values=np.array([value for _, value in curve], np.float64),
    )


def _with(runs: Sequence[Run], seconds: float) -> Run | None:
    """The run with the least budget of at least so many seconds."""
    return next((run for run in runs if run.budget >= seconds * (1 - 1e-9)), None)


def _gap(value: float, case: Case) -> float:
    return 100.0 * float(primal_gap(value, case.reference, case.maximise)[0])
