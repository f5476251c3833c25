"""Tuning: the best policy for a machine, chosen on the first part of its trace and judged on the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from transom import registry
from transom.errors import SpecError
from transom.simulation.policies.by_name import make_policy
from transom.traces.workload import Workload
from transom.tune.evaluation import Pool, evaluator, processes
from transom.tune.figures import FIGURES, LOGGED, Figures
from transom.tune.keep import Keep
from transom.tune.objectives import DEFAULT, Objective
from transom.tune.search import Race, Score, search
from transom.tune.space import Family, units_of
from transom.tune.split import WHOLE, Split, parts, rungs

TODAY = "fcfs-easy"
"""The policy that others are compared with by default."""

_TAILS = ("", "-easy", "-conservative")
_NEEDS_MORE = ("formula",)  # a rule that is none without settings
_TEST = "test"
_FINALISTS = 3  # of a search that was too short


class Terms(NamedTuple):
    """What is tuned for.

    Parameters
    ----------
    today : the current policy, or ``logged``.
    keep : conditions, all of them relative to today's figures on the tuning part.
    families : where to search.
    seconds : wall-clock time of the search [s]; None for no limit.
    evaluations : replays that it may ask for; None for no limit. With these alone, the same seed gives the same policy.
    seed : of all draws.
    workers : processes of this machine.
    rules : whether fixed rules may be chosen, which else only stand beside.
    objectives : what is tuned for; the first decides among policies that keep to the conditions.
    elsewhere : where policies are evaluated instead of on this machine.
    """

    today: str
    keep: Sequence[Keep]
    families: Sequence[Family]
    seconds: float | None = None
    evaluations: int | None = None
    seed: int = 0
    workers: int = 1
    rules: bool = True
    objectives: Sequence[Objective] = DEFAULT
    elsewhere: Pool | None = None

    @property
    def pool(self) -> Pool:
        """Where policies are evaluated."""
        return self.elsewhere or processes(self.workers)

    @property
    def further(self) -> list[str]:
        """The figures that they need beside those that are always known."""
        named = [each.name for each in self.objectives] + [each.figure for each in self.keep]
        return [name for name in dict.fromkeys(named) if name not in FIGURES.values()]


class Chosen(NamedTuple):
    """What tuning chose.

    Parameters
    ----------
    policy : the specification.
    today : figures of today's policy on the tuning part.
    front : policies that no other one beats in all objectives, on the tuning part.
    rule : the fixed rule that was best on the tuning part and keeps to the conditions, or the best of all if none does.
    policies, replays : how many were evaluated; ``resumed`` of these replays were known from before.
    """

    policy: str
    train: Mapping[str, Figures | None]
    front: Sequence[str]
    rule: str
    policies: int
    replays: int
    resumed: int


def fixed_rules() -> list[str]:
    """All priority rules, without backfilling, with EASY and with conservative backfilling."""
    rules = [name for name in registry.names(registry.PRIORITY_RULES) if name not in _NEEDS_MORE]
    return [rule + tail for rule in rules for tail in _TAILS]


def choose(
    tuning: Workload, terms: Terms, journal: Path, progress: Callable[[Score, int], None] = lambda best, policies: None
) -> Chosen:
    """Search the families for the best policy of a tuning part.

    Parameters
    ----------
    tuning : the jobs; nothing else is read.
    terms : what is tuned for.
    journal : keeps all figures.
    progress : called with the best policy so far, and how many were evaluated.

    Raises
    ------
    SpecError : today's policy is none, there are no logged starts, or a figure is not known of today's policy.
    DocumentError : the journal cannot be read or written.
    """
    if terms.today != LOGGED:
        make_policy(terms.today)
    begun = perf_counter()
    compared = parts(tuning, variants=terms.today != LOGGED)  # no log tells what else would have been
    with evaluator(compared, journal, terms.pool, terms.seed, terms.further) as evaluate:
        now = {part: found for (_, part), found in evaluate((terms.today, part) for part in compared).items()}
        if (stuck := next((part for part, found in now.items() if found is None), None)) is not None:
            raise SpecError(f"--today {terms.today}: jobs of the {stuck} of the tuning part would never start")
        today = {part: found for part, found in now.items() if found is not None}
        if lacking := [name for name in terms.further if name not in today[WHOLE].further]:
            raise SpecError(f"{lacking[0]} is not known of --today {terms.today} on the tuning part")

        def done() -> bool:
            if (best := race.best()) is not None:
                progress(best, evaluate.policies)
            seconds, replays = terms.seconds, terms.evaluations
            late = seconds is not None and perf_counter() - begun >= seconds
            return late or (replays is not None and len(evaluate.asked) >= replays)

        race = Race(evaluate, rungs(list(compared)), today, terms.keep, terms.objectives, done)
        race.enter([TODAY if terms.today == LOGGED else terms.today], all_parts=True)
        fixed = fixed_rules()
        train = {policy: found for (policy, _), found in evaluate((rule, WHOLE) for rule in fixed).items()}
        if terms.rules:
            race.enter(fixed)
        limit = float(tuning.jobs.walltime.max())
        units = units_of(limit, tuning.cluster.num_nodes, today[WHOLE].max_wait)
        if not done():
            search(race, terms.families, units, terms.seed, done)
        before = {TODAY, terms.today, *fixed}
        if all(score.policy in before for score in race.scores.values() if score.parts == race.whole):
            race.finish(_FINALISTS)
        best = race.best()
        assert best is not None, "today's policy is replayed everywhere"
        everywhere = [terms.today, *(policy for policy, score in race.scores.items() if score.parts == race.whole)]
        train |= {policy: found for (policy, _), found in evaluate((policy, WHOLE) for policy in everywhere).items()}
        return Chosen(
            best.policy,
            train,
            _front(train, terms.objectives),
            _best_rule({rule: train[rule] for rule in fixed}, today[WHOLE], terms),
            evaluate.policies,
            len(evaluate.asked),
            evaluate.resumed,
        )


def _front(train: Mapping[str, Figures | None], objectives: Sequence[Objective]) -> list[str]:
    """The policies that no other one beats, from the best in the first objective on."""
    rows = [(*(each.value(found) for each in objectives), policy) for policy, found in train.items()]
    front: list[tuple[Any, ...]] = []
    for row in sorted(row for row in rows if row[-1] != LOGGED and math.inf not in row):
        if not any(all(a <= b for a, b in zip(each[:-1], row[:-1], strict=True)) for each in front):
            front.append(row)
    return [str(row[-1]) for row in front]


def _best_rule(train: Mapping[str, Figures | None], today: Figures, terms: Terms) -> str:
    def order(rule: str) -> tuple[bool, float]:
        found = train[rule]
        if found is None:
            return True, float("inf")
        return any(each.ratio(found, today) > each.most for each in terms.keep), terms.objectives[0].value(found)

    return min(train, key=order)


def judge(split: Split, policies: Sequence[str], terms: Terms, journal: Path) -> dict[str, Figures | None]:
    """The figures of policies on the test part, None where jobs would never start.

    Raises
    ------
    SpecError : today's starts are not in the log.
    DocumentError : the journal cannot be read or written.
    """
    with evaluator({_TEST: split.test}, journal, terms.pool, terms.seed, terms.further) as evaluate:
        return {policy: found for (policy, _), found in evaluate((policy, _TEST) for policy in policies).items()}
