"""What choosing is worth: ``auto`` against the best single solver and the best solver for each instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from transom.bench.score.limits import share_limits
from transom.bench.score.score import references, scored
from transom.problems import known_type

if TYPE_CHECKING:
    import polars as pl

_SAME = 1e-7
"""Gaps that differ by no more are the same [%]."""

_EARLY = 0.95
"""A result that says ``time`` has used at least this share of its budget."""

By = Literal["problem", "set"]
"""What is scored apart: kinds of problems, or the families of instances within them."""


@dataclass(frozen=True)
class Score:
    """Mean primal gaps [%] and shares proved over the instances of one problem or family under one budget.

    Parameters
    ----------
    problem : its kind; ``tjap`` for allocations under all rules together.
    family : the set of instances, empty for all of them.
    seconds : the budget [s].
    instances : how many there are.
    auto, virtual : gap of ``auto``, and of the best solver for each instance.
    single, name : gap of the solver that is best over these instances, with hindsight, and which it is; of those that
        are level, the first by name.
    proved, most : share of the instances that ``auto`` proves, and the largest one of a single solver, 0 to 1.
    closed : share of the way from ``single`` to ``virtual`` that ``auto`` goes; nan where these are equal.
    better, worse : share of the instances on which ``auto`` has a smaller gap than that single solver, and a larger
        one, each with its 95 % limits (:func:`~transom.bench.score.limits.share_limits`).
    early : runs of any solver that say ``time`` before 95 % of it were used.
    part : whether these are the allocations under one rule, which stand in ``tjap`` as well.
    """

    problem: str
    family: str
    seconds: float
    instances: int
    auto: float
    virtual: float
    single: float
    name: str
    proved: float
    most: float
    closed: float
    better: tuple[float, float, float]
    worse: tuple[float, float, float]
    early: int = 0
    part: bool = False

    @property
    def behind(self) -> float:
        """Points that ``auto`` loses against the best single solver; negative where it wins."""
        return self.auto - self.single

    def holds(self, points: float, proofs: float) -> bool:
        """Whether ``auto`` loses at most so many points against the best single solver, and so many of its proofs.

        Parameters
        ----------
        points : of the mean gap [%].
        proofs : of the share proved [%].
        """
        fewer = 100 * (self.most - self.proved)
        return self.behind <= points + _SAME and fewer <= proofs + _SAME and not self.early


def scores(frame: pl.DataFrame, chooser: str = "auto", by: By = "problem") -> list[Score]:
    """Score the runs of ``auto`` for each problem and budget; allocations for each rule and together.

    A solver that does not take an instance has no value there: that counts as well where it takes one rule alone.
    An instance counts with the mean of its seeds; a run without a value counts 100 %. Gaps are those of
    :func:`transom.bench.score.score.scored`: what came when the budget was over does not count. The reference is the
    best value of any run of the instance under any budget.

    Parameters
    ----------
    frame : results with the columns of :func:`transom.bench.store.frame.schema`: of ``auto`` and of single solvers.
    chooser : name of the solver that chooses.
    by : what is scored apart.
    """
    import polars as pl

    table = scored(frame.filter(pl.col("budget_seconds").is_not_null()), references(frame))
    # An instance that no run solved says nothing about choosing.
    table = table.filter(pl.col("reference").is_not_null())
    early = (pl.col("reason") == "time") & (pl.col("seconds") < _EARLY * pl.col("budget_seconds"))
    keys = ("problem", "set", "budget_seconds", "instance", "spec")
    mean = table.group_by(keys, maintain_order=True).agg(
        gap=100 * pl.col("primal_gap").mean(), proved=pl.col("proved").mean(), early=early.fill_null(False).sum()
    )
    if by == "problem":
        mean = mean.with_columns(set=pl.lit(""))
    rules = _made_together(mean["problem"].unique().to_list()) if by == "problem" else {}
    if rules:
        together = mean.filter(pl.col("problem").is_in(list(rules)))
        mean = pl.concat([mean, together.with_columns(pl.col("problem").replace_strict(rules))])
    found = []
    for (problem, family, seconds), runs in mean.group_by("problem", "set", "budget_seconds"):
        score = _scored(str(problem), str(family), _number(seconds), runs, chooser, problem in rules)
        found += [score] if score is not None else []
    return sorted(found, key=lambda score: (score.problem, score.family, score.seconds))


def _made_together(kinds: list[str]) -> dict[str, str]:
    """Those of some kinds that one recipe makes several of, with its name."""
    recipes = {kind: next(iter(known.recipes), kind) for kind in kinds if (known := known_type(kind)) is not None}
    return {kind: name for kind, name in recipes.items() if list(recipes.values()).count(name) > 1}


def _scored(problem: str, family: str, seconds: float, runs: pl.DataFrame, chooser: str, part: bool) -> Score | None:
    gaps = runs.pivot("spec", index="instance", values="gap").drop("instance").fill_null(100.0)
    proofs = runs.pivot("spec", index="instance", values="proved").drop("instance").fill_null(0.0)
    mine = [name for name in gaps.columns if name.partition(":")[0] == chooser]
    names = [name for name in gaps.columns if name not in mine]
    if len(mine) != 1 or not names:
        return None
    theirs = gaps.select(names)  # one that was not run does not take the instance
    means = theirs.select(sorted(names)).mean().row(0, named=True)
    least = min(means.values())
    best = next(name for name, mean in means.items() if mean <= least + _SAME)  # sums of level ones differ in a bit
    sample = np.column_stack((gaps[best], gaps[mine[0]], theirs.min_horizontal()))
    single, auto, virtual = sample.mean(axis=0).tolist()
    ahead = sample[:, 0] - sample[:, 1]
    way = single - virtual
    return Score(
        problem=problem,
        family=family,
        seconds=seconds,
        instances=len(gaps),
        auto=auto,
        virtual=virtual,
        single=single,
        name=best,
        proved=float(proofs[mine[0]].mean() or 0.0),  # type: ignore[arg-type]  # of floats
        most=float(proofs.select(names).mean().to_numpy().max()),
        closed=(single - auto) / way if way > _SAME else float("nan"),
        better=_share(int((ahead > _SAME).sum()), len(gaps)),
        worse=_share(int((ahead < -_SAME).sum()), len(gaps)),
        early=int(runs["early"].sum()),
        part=part,
    )


def _share(count: int, of: int) -> tuple[float, float, float]:
    limits = share_limits(count, of)
    assert limits is not None  # of no instances there is no score
    return count / of, float(limits.low), float(limits.high)


def _number(value: Any) -> float:
    return float(value)
