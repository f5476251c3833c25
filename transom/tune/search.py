"""The search: generations of policies, of which the better ones are compared on more and more parts of the trace.

NSGA-II (``pymoo``) looks in every family for all objectives at once, such as low slowdowns beside low waits, so that
it comes from both sides to what has to be kept; CMA-ES (``cma``) then starts from the best policy so far. A
generation is replayed on one slice first, the better third of it on all slices, and the better third of that on the
whole tuning part and its variants. All see the same jobs, and each figure is relative to that of today's policy on
the same part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from transom.heuristics.genetic import import_pymoo
from transom.models.arrays import FloatArray
from transom.rng import stream
from transom.tune.evaluation import Evaluator
from transom.tune.figures import Figures
from transom.tune.keep import Keep
from transom.tune.objectives import Objective
from transom.tune.space import Family
from transom.tune.split import SLICE, WHOLE

_FIRST = 4  # generations of NSGA-II in every family before CMA-ES starts
_STEP = 0.15  # of CMA-ES, of the range of a gene
_KEPT = 3  # one of so many goes on to further parts
_WORST = 1e6  # the value of a policy under which jobs wait for ever


class Score(NamedTuple):
    """What is known of a policy, less is better.

    ``parts`` counts where it was replayed. ``values`` are the mean logarithms of the objectives over today's there,
    where all slices count as one part. ``excess`` says by how much it exceeds what has to be kept, 0 if it does not.
    """

    policy: str
    parts: int
    values: tuple[float, ...]
    excess: float

    @property
    def order(self) -> tuple[float, float]:
        """The better comes first: what keeps to the conditions, and then by the first objective."""
        return self.excess, self.values[0]


class Race:
    """Policies beside today's, on more and more parts.

    Parameters
    ----------
    evaluate : gives figures.
    rungs : parts that are added from one comparison to the next; the first ones are cheap, and the last rung holds
        the whole tuning part, where alone conditions are judged in the end.
    today : the current policy.
    keep : what has to be kept.
    objectives : what is tuned for.
    done : whether to stop: what is left of a generation is then not replayed on further parts.
    """

    def __init__(
        self,
        evaluate: Evaluator,
        rungs: Sequence[Sequence[str]],
        today: dict[str, Figures],
        keep: Sequence[Keep],
        objectives: Sequence[Objective],
        done: Callable[[], bool],
    ) -> None:
        self._evaluate, self._rungs, self._today, self._keep, self._done = evaluate, rungs, today, keep, done
        self.objectives = objectives
        self.scores: dict[str, Score] = {}
        self.whole = sum(map(len, rungs))

    def enter(self, policies: Sequence[str], all_parts: bool = False) -> list[Score]:
        """The scores of some policies, which are all replayed on the first rung, or on all parts."""
        alive, seen = list(dict.fromkeys(policies)), list[str]()
        for rung in self._rungs:
            seen += rung
            found = self._evaluate((policy, part) for policy in alive for part in seen)
            for policy in alive:
                if policy not in self.scores or self.scores[policy].parts <= len(seen):  # more is known from before
                    self.scores[policy] = self._score(policy, {part: found[policy, part] for part in seen})
            if not all_parts:
                alive = sorted(alive, key=lambda each: self.scores[each].order)[: -(-len(alive) // _KEPT)]
                if self._done():
                    break
        return [self.scores[policy] for policy in policies]

    def finish(self, policies: int) -> None:
        """Replay the best of those everywhere that were not, where the time was too short for a generation to end."""
        open_ = [each for each in self.scores.values() if each.parts < self.whole]
        self.enter([each.policy for each in sorted(open_, key=lambda each: each.order)[:policies]], all_parts=True)

    def best(self) -> Score | None:
        """The best policy that was replayed everywhere."""
        return min(
            (each for each in self.scores.values() if each.parts == self.whole),
            key=lambda each: each.order,
            default=None,
        )

    def _score(self, policy: str, found: dict[str, Figures | None]) -> Score:
        ended = {part: of for part, of in found.items() if of is not None}
        if len(ended) < len(found):
            return Score(policy, len(found), (_WORST,) * len(self.objectives), _WORST)
        pairs = {part: (of, self._today[part]) for part, of in ended.items()}
        # What a slice cannot tell is left to the whole: its days need not be those on which jobs wait longest.
        judged = [pairs[WHOLE]] if WHOLE in pairs else [*pairs.values()]
        excess = max(
            (keep.excess(found, now, self._today[WHOLE]) for found, now in judged for keep in self._keep), default=0.0
        )
        return Score(
            policy,
            len(found),
            tuple(
                min(_WORST, _mean({part: each.change(of, now) for part, (of, now) in pairs.items()}))
                for each in self.objectives
            ),
            min(_WORST, max(0.0, excess)),
        )


def _mean(values: Mapping[str, float]) -> float:
    """The mean over the slices, the whole and each variant, where all slices count as one."""
    slices = [value for part, value in values.items() if part.startswith(SLICE)]
    others = [value for part, value in values.items() if not part.startswith(SLICE)]
    return float(np.mean([np.mean(slices), *others]))


def search(
    race: Race, families: Sequence[Family], units: dict[str, float], seed: int, done: Callable[[], bool]
) -> None:
    """Search until ``done`` says so, at least one generation of each family.

    Parameters
    ----------
    race : compares policies.
    families : where to search.
    units : the numbers of the machine.
    seed : of all draws.
    done : whether to stop.
    """
    race.enter([family.spec([], units) for family in families if not family.ranges], all_parts=True)
    families = [family for family in families if family.ranges]
    searches = [
        _Nsga(len(family.ranges), len(race.objectives), family.population, stream(seed, "nsga", k))
        for k, family in enumerate(families)
    ]
    found: dict[str, tuple[Family, FloatArray]] = {}
    generation = 0
    begun: tuple[Family, _Climb] | None = None

    def one(family: Family, method: _Nsga | _Climb) -> bool:
        """A generation; whether to stop."""
        rows = method.ask()
        policies = [family.spec(row, units) for row in rows]
        found.update({policy: (family, row) for policy, row in zip(policies, rows, strict=True)})
        method.tell(race.enter(policies))
        return done()

    while families:
        for family, method in zip(families, searches, strict=True):
            if generation % family.every == 0 and one(family, method):
                return
        generation += 1
        for _ in families if generation >= _FIRST else ():  # as many generations of CMA-ES
            if begun is None or begun[1].finished():
                best = min((race.scores[policy] for policy in found), key=lambda each: (-each.parts, each.order))
                family, genes = found[best.policy]
                begun = family, _Climb(genes, stream(seed, "cma", generation))
            if one(*begun):
                return


class _Climb:
    """CMA-ES within the ranges, from a point on."""

    def __init__(self, genes: FloatArray, rng: np.random.Generator) -> None:
        import cma

        # It takes one range only where there are two; the second one is then idle.
        self._count = len(genes)
        begin = np.clip(genes if len(genes) > 1 else np.append(genes, 0.5), 0.01, 0.99)
        seed = int(rng.integers(1, 2**31))
        self._search = cma.CMAEvolutionStrategy(begin, _STEP, {"bounds": [0, 1], "seed": seed, "verbose": -9})
        self._rows: list[FloatArray] = []

    def ask(self) -> list[FloatArray]:
        """The next generation, genes of each policy."""
        self._rows = self._search.ask()
        return [row[: self._count] for row in self._rows]

    def tell(self, scores: Sequence[Score]) -> None:
        """Take in how good they are."""
        # Steps of whole orders keep the conditions first, whatever the slowdown.
        self._search.tell(self._rows, [each.values[0] + 10 * min(each.excess, 1e3) for each in scores])

    def finished(self) -> bool:
        """Whether it has come to its end."""
        return bool(self._search.stop())


class _Nsga:
    """NSGA-II within the ranges of a family."""

    def __init__(self, genes: int, objectives: int, population: int, rng: np.random.Generator) -> None:
        import_pymoo()
        from pymoo.algorithms.moo.nsga2 import NSGA2
        from pymoo.core.problem import Problem
        from pymoo.core.termination import NoTermination

        self._algorithm = NSGA2(pop_size=population)
        problem = Problem(n_var=genes, n_obj=objectives, n_ieq_constr=1, xl=0.0, xu=1.0)
        seed = int(rng.integers(2**31))
        self._algorithm.setup(problem, termination=NoTermination(), seed=seed, verbose=False)
        self._asked: Any = None

    def ask(self) -> list[FloatArray]:
        """The next generation, genes of each policy."""
        self._asked = self._algorithm.ask()
        return list(self._asked.get("X"))

    def tell(self, scores: Sequence[Score]) -> None:
        """Take in how good they are."""
        self._asked.set("F", np.array([each.values for each in scores]))
        self._asked.set("G", np.array([[each.excess] for each in scores]))
        for each in self._asked:
            each.evaluated.update({"F", "G"})
        self._algorithm.tell(infills=self._asked)
