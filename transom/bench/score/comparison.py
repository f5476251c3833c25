"""Two stores of the same plan, before and after a change: what became faster, slower, better, worse or wrong.

Runs are joined by their key: all that decides a result but code, versions and machine. Possible noise is not reported
as a change:

- A run that the clock did not end (one thread, stopped for a reason other than time, nor early for want of time for its
  next step, in both stores) gives the same answer every time: any other value is a change.
- Runs that the clock ended are compared by their gaps, averaged over seeds, in a paired rank test over instances.
- A solution, or a proof, that took more than a quarter of the budget may be late by chance another time, as machines
  that are shared become slower by some factor; one that came earlier and is now missing is a change.
- Times are compared where one of the two runs ended by itself, by the geometric mean of their ratio: a change is one of
  more than 10 % that the rank test confirms; 1 ms is added to every time, so that microseconds decide nothing. The
  other one counts what it had when the clock ended it, which is less than it would have needed. Where the clock ended
  both they are compared by their primal integral in the same way.

P-values are corrected after Holm for all solvers, problems and budgets that were tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import msgspec
import numpy as np

from transom.bench.plan.task import FAILED
from transom.bench.score.differing import differing
from transom.bench.score.score import BestKnown, references, scored
from transom.bench.score.statistics import LEVEL, TOLERANCE, holm, leaning, signed_rank
from transom.errors import DocumentError
from transom.models.arrays import FloatArray

if TYPE_CHECKING:
    import polars as pl

SLOWER = 1.1
"""Ratio of times from which on a difference is reported."""
SHIFT = 1e-3
"""Added to times before their ratio is taken [s]."""

Kind = Literal[
    "wrong", "failing", "solution lost", "proof lost", "value worse",
    "recovered", "solution new", "proof new", "value better", "metric changed",
]  # fmt: skip
WORSE: tuple[Kind, ...] = ("wrong", "failing", "solution lost", "proof lost", "value worse")
"""Changes of single runs that count against the second store."""

EARLY = 0.25
"""What came within this share of the budget should come inside the budget another time."""

_GROUP = ("problem", "budget", "threads", "solver")


class Event(NamedTuple):
    """A run with a different outcome.

    Attributes
    ----------
    kind : what changed.
    key : of the run in both stores.
    problem, solver, budget, label, seed : the run.
    before, after : in words.
    """

    kind: Kind
    key: str
    problem: str
    solver: str
    budget: str
    label: str
    seed: int
    before: str
    after: str


class Change(NamedTuple):
    """A solver under a budget, over the instances that both stores have.

    Attributes
    ----------
    problem, budget, threads, solver : what is compared.
    instances, runs : in both stores.
    gap_before, gap_after : mean primal gap to the best value of both.
    quality : ``better``, ``worse``, ``same``, or ``unclear``: the means differ, and no test shows that this is more
        than chance (or the mean and the test disagree).
    integral_before, integral_after : mean primal integral of the runs that the clock ended both times; None without
        any.
    time_ratio : geometric mean of time after over time before, of the runs that ended by themselves at least once; None
        without any.
    timed : how many instances these were on.
    speed : ``faster``, ``slower``, ``same`` or ``unclear``; by the ratio, or where there is none by the integral.
    """

    problem: str
    budget: str
    threads: int
    solver: str
    instances: int
    runs: int
    gap_before: float
    gap_after: float
    quality: str
    integral_before: float | None
    integral_after: float | None
    time_ratio: float | None
    timed: int
    speed: str


class Comparison(NamedTuple):
    """What changed from one store to another.

    Attributes
    ----------
    provenance : in which machine, versions and code differ, in words.
    shared : how many runs both have.
    missing, added : runs of the first store that the second lacks, and the other way round, in words, one for each
        set and solver.
    changes : one for each solver, problem and budget.
    events : single runs that came out another way, the worst first.
    """

    provenance: list[str]
    shared: int
    missing: list[str]
    added: list[str]
    changes: list[Change]
    events: list[Event]

    @property
    def regressed(self) -> bool:
        """Whether something became wrong, worse or failed, beyond the noise."""
        return any(event.kind in WORSE for event in self.events) or any(c.quality == "worse" for c in self.changes)


def compare(before: pl.DataFrame, after: pl.DataFrame, library: BestKnown | None = None) -> Comparison:
    """Compare two stores.

    Parameters
    ----------
    before, after : their rows.
    library : best-known values, beside the best of both.

    Raises
    ------
    DocumentError : no run is in both.
    """
    import polars as pl

    common = before.select("key").join(after.select("key"), on="key", how="semi")
    if not len(common):
        raise DocumentError("the two have no run in common: other instances, solvers, budgets, seeds or threads")
    known = references(pl.concat([before, after]), library)
    before_common, after_common = (rows.join(common, on="key", how="semi") for rows in (before, after))
    old, new = (scored(rows, known).sort("key") for rows in (before_common, after_common))
    new = new.with_columns(old["solver"])  # a label may have changed, what it stands for has not
    order = {kind: place for place, kind in enumerate(get_args(Kind))}
    events = _events(old, new) + _metric_events(before_common, after_common)
    return Comparison(
        provenance=differing(before.join(common, on="key", how="semi"), after.join(common, on="key", how="semi")),
        shared=len(common),
        missing=_only(before, common),
        added=_only(after, common),
        changes=_changes(old, new),
        events=sorted(
            events, key=lambda event: (order[event.kind], event.problem, event.solver, event.label, event.seed)
        ),
    )


def _only(rows: pl.DataFrame, common: pl.DataFrame) -> list[str]:
    import polars as pl

    alone = rows.join(common, on="key", how="anti").group_by("set", "name", maintain_order=True).agg(pl.len())
    return [f"{count} of {name} on {where}" for where, name, count in alone.iter_rows()]


def _events(old: pl.DataFrame, new: pl.DataFrame) -> list[Event]:
    """Runs, in the same order in both tables, that came out another way beyond what can be noise."""
    found = []
    columns = (
        "key", "problem", "solver", "budget", "label", "seed", "outcome", "cause", "status", "reason", "counted",
        "solved", "proved", "disproved", "primal_gap", "seconds", "budget_seconds", "threads", "reference_infeasible",
        "first", "clocked",
    )  # fmt: skip
    old, new = (rows.with_columns(first=_first(), clocked=_clocked()).select(columns) for rows in (old, new))
    for a, b in zip(old.iter_rows(named=True), new.iter_rows(named=True), strict=True):
        kind = _kind(a, b)
        if kind is not None:
            run = (a[name] for name in ("key", "problem", "solver", "budget", "label", "seed"))
            found.append(Event(kind, *run, before=_in_words(a), after=_in_words(b)))  # type: ignore[misc]
    return found


def _first() -> pl.Expr:
    """When a run had its first solution, however long it went on; its end where it came without one [s]."""
    import polars as pl

    value, seconds = (pl.element().struct.field(name) for name in ("value", "seconds"))
    return pl.coalesce(pl.col("curve").list.eval(seconds.filter(value.is_not_null())).list.first(), "seconds")


def _clocked() -> pl.Expr:
    """Whether the clock ended a run: its time was up, or too short for its next step, which ``solve`` notes."""
    import polars as pl

    early = pl.col("parameters").str.contains('"ended":"early', literal=True)
    return (pl.col("reason").eq("time") | early).fill_null(False)


def _kind(a: dict[str, Any], b: dict[str, Any]) -> Kind | None:
    """The gravest change from one run to the other, if there is any."""
    if _wrong(a) != _wrong(b):
        return "wrong" if _wrong(b) else "recovered"
    if _failed(a) != _failed(b):
        return "failing" if _failed(b) else "recovered"
    if a["solved"] != b["solved"] and _meaningful(*((a, b) if a["solved"] else (b, a)), "first"):
        return "solution new" if b["solved"] else "solution lost"
    if a["proved"] != b["proved"] and _meaningful(*((a, b) if a["proved"] else (b, a)), "seconds"):
        return "proof new" if b["proved"] else "proof lost"
    if _repeatable(a) and _repeatable(b) and abs(a["primal_gap"] - b["primal_gap"]) > _LEAST:
        return "value better" if b["primal_gap"] < a["primal_gap"] else "value worse"
    return None


_LEAST = 1e-9  # of a gap that is one


def _wrong(run: dict[str, Any]) -> bool:
    return run["outcome"] == "wrong" or bool(run["disproved"])


def _failed(run: dict[str, Any]) -> bool:
    return run["outcome"] in (*FAILED, "refused")


def _repeatable(run: dict[str, Any]) -> bool:
    """Whether the run would end the same way once more, however busy the machine."""
    ended = not run["clocked"] and run["reason"] not in ("error", None)
    return run["threads"] == 1 and run["outcome"] == "ok" and ended


def _meaningful(having: dict[str, Any], lacking: dict[str, Any], came: Literal["first", "seconds"]) -> bool:
    """Whether it is no matter of chance that one run has what the other lacks, and when it came."""
    budget = having["budget_seconds"]
    if budget is None or (_repeatable(having) and _repeatable(lacking)):
        return True
    return having[came] is not None and having[came] < EARLY * budget


def _in_words(run: dict[str, Any]) -> str:
    if run["disproved"]:
        return "a bound or a proof that a solution contradicts"
    if run["outcome"] != "ok":
        return f"{run['outcome']}: {run['cause']}" if run["cause"] else str(run["outcome"])
    if not run["solved"]:
        return "no solution"
    value = "infeasible" if run["counted"] is None else f"{run['counted']:.12g}"
    return f"{value}, proved" if run["proved"] else value


def _metric_events(before: pl.DataFrame, after: pl.DataFrame) -> list[Event]:
    """Replays whose outcome or figures changed."""
    import polars as pl

    columns = ("key", "problem", "name", "label", "seed", "outcome", "cause", "metrics")
    old, new = (rows.filter(pl.col("what") == "replay").sort("key").select(columns) for rows in (before, after))
    found = []
    for a, b in zip(old.iter_rows(named=True), new.iter_rows(named=True), strict=True):
        kind: Kind | None = None
        words = ["", ""]
        if a["outcome"] != b["outcome"]:
            words = [f"{run['outcome']}: {run['cause']}" if run["cause"] else str(run["outcome"]) for run in (a, b)]
            kind = "wrong" if b["outcome"] == "wrong" else "failing" if _failed(b) else "recovered"
        else:
            first, second = msgspec.json.decode(a["metrics"]), msgspec.json.decode(b["metrics"])
            other = [name for name in first if name in second and not _as_good_as_equal(first[name], second[name])]
            if other:
                kind = "metric changed"
                words = [", ".join(f"{name} {each[name]:.6g}" for name in other) for each in (first, second)]
        if kind is not None:
            found.append(Event(kind, a["key"], a["problem"], a["name"], "", a["label"], a["seed"], *words))
    return found


def _as_good_as_equal(a: float, b: float) -> bool:
    return abs(a - b) <= _LEAST * max(abs(a), abs(b))


def _changes(old: pl.DataFrame, new: pl.DataFrame) -> list[Change]:
    import polars as pl

    columns = ("instance", "primal_gap", "primal_integral", "seconds", "clocked", "outcome", "solved")
    old, new = (rows.with_columns(clocked=_clocked()) for rows in (old, new))
    both = old.select(*_GROUP, "budget_seconds", *columns).hstack(new.select(pl.col(columns[1:]).name.suffix("_after")))
    by_itself = [~pl.col(f"clocked{end}") for end in ("", "_after")]
    ok = pl.col("outcome").eq("ok") & pl.col("outcome_after").eq("ok")
    both = both.with_columns(
        # One that did not come to an end took at least its budget: that is less of a change than there was.
        timed=ok & (by_itself[0] | by_itself[1]) & pl.col("solved") & pl.col("solved_after"),
        ratio=((pl.col("seconds_after") + SHIFT) / (pl.col("seconds") + SHIFT)).log(),
    ).with_columns(timed=pl.col("timed").fill_null(False))
    timed = pl.col("timed")
    averaged = both.group_by(*_GROUP, "instance", maintain_order=True).agg(
        pl.len().alias("runs"),
        pl.col("budget_seconds").first(),
        pl.col("primal_gap", "primal_gap_after").mean(),
        pl.col("primal_integral", "primal_integral_after").filter(~timed).mean(),
        pl.col("ratio").filter(timed).mean(),
    )
    averaged = averaged.sort("problem", "budget_seconds", *_GROUP[1:], nulls_last=True, maintain_order=True)
    groups = list(averaged.group_by(_GROUP, maintain_order=True))
    quality = [_difference(rows, "primal_gap") for _, rows in groups]
    ratios = [rows["ratio"].drop_nulls().to_numpy() for _, rows in groups]
    integrals = [_difference(rows, "primal_integral") for _, rows in groups]
    speeds = [ratio if len(ratio) else integral for ratio, integral in zip(ratios, integrals, strict=True)]
    p_quality, p_speed = _corrected(quality), _corrected(speeds)
    changes = []
    for i, ((problem, budget, threads, solver), rows) in enumerate(groups):
        timed_here = len(ratios[i]) > 0
        least = float(np.log(SLOWER)) if timed_here else TOLERANCE["primal_integral"]
        changes.append(
            Change(
                problem=str(problem),
                budget=str(budget),
                threads=int(str(threads)),
                solver=str(solver),
                instances=len(rows),
                runs=int(rows["runs"].sum()),
                gap_before=float(rows["primal_gap"].to_numpy().mean()),
                gap_after=float(rows["primal_gap_after"].to_numpy().mean()),
                quality=_verdict(quality[i], p_quality[i], TOLERANCE["primal_gap"], ("better", "worse")),
                integral_before=_mean(rows["primal_integral"]),
                integral_after=_mean(rows["primal_integral_after"]),
                time_ratio=float(np.exp(ratios[i].mean())) if timed_here else None,
                timed=len(ratios[i]),
                speed=_verdict(speeds[i], p_speed[i], least, ("faster", "slower")),
            )
        )
    return changes


def _difference(rows: pl.DataFrame, column: str) -> FloatArray:
    """After less before on each instance, what is within the tolerance as 0."""
    differences = (rows[f"{column}_after"] - rows[column]).drop_nulls().to_numpy()
    return np.where(np.abs(differences) <= TOLERANCE[column], 0.0, differences)


def _corrected(samples: Sequence[FloatArray]) -> list[float | None]:
    p_values = [signed_rank(sample) for sample in samples]
    tested = [i for i, p in enumerate(p_values) if p is not None]
    for i, corrected in zip(tested, holm([p_values[i] or 0.0 for i in tested]), strict=True):
        p_values[i] = corrected
    return p_values


def _verdict(sample: FloatArray, p: float | None, least: float, words: tuple[str, str]) -> str:
    """Which way a sample of differences goes; up to ``least`` its mean is none."""
    mean = float(sample.mean()) if len(sample) else 0.0
    if abs(mean) <= least:
        return "same"
    if p is None or p >= LEVEL:
        return "unclear"
    # Many instances one way and a few far the other way are no verdict.
    return words[int(mean > 0)] if mean * leaning(sample) > 0 else "unclear"


def _mean(column: pl.Series) -> float | None:
    values = column.drop_nulls().to_numpy()
    return float(values.mean()) if len(values) else None
