"""What tuning came to: figures of today's policy, of fixed rules and of the tuned one, on both parts, and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from transom._system.durations import times
from transom._system.wording import counted
from transom.models.arrays import BoolArray, IntArray
from transom.rng import stream
from transom.simulation.core.schedule import Schedule
from transom.simulation.engine import simulate
from transom.simulation.output.answer import Repetition
from transom.simulation.output.as_logged import AS_LOGGED, as_logged, replay_error
from transom.simulation.output.job_groups import groupings, mean_waits
from transom.simulation.output.metrics import (
    WEEK,
    Trim,
    bounded_slowdown,
    per_processor_slowdown,
    response,
    slowdown,
    summary,
    wait,
)
from transom.simulation.output.sentences import UNLIKE, answer
from transom.traces.workload import Workload
from transom.tune.figures import FIGURES, LOGGED, Figures
from transom.tune.keep import Keep
from transom.tune.objectives import Objective
from transom.tune.tuning import TODAY, Chosen, Terms

JITTER = 60
"""By how much submissions of further replays are moved [s]."""

REPEATS = 5
"""How many further replays there are."""

_DRAWS = 2000
_FEWEST = 8  # weeks of a test part
_LIMITS = (2.5, 97.5)  # percentiles of 95 % intervals

ALWAYS = tuple(map(Objective, FIGURES.values()))
"""Figures that are stated whatever is tuned for."""


class Beside(NamedTuple):
    """A policy on both parts, None where jobs would never start."""

    policy: str
    train: Figures | None
    test: Figures | None

    def document(self) -> dict[str, Any]:
        """The same in JSON's terms."""
        parts = {"train": self.train, "test": self.test}
        return {"policy": self.policy} | {name: None if of is None else of.document() for name, of in parts.items()}


class Noise(NamedTuple):
    """The tuned policy's first objective over today's on the test part, and how far chance may move it.

    ``weeks`` are the limits of a 95 % interval over weeks that are drawn again, or eighths of a part that is shorter,
    None where the objective is no mean over jobs; ``copies`` are the lowest and the highest of replays with moved
    submissions, None where today's is the log. ``more`` says whether more of the objective is better, ``drawn`` what is
    drawn again.
    """

    ratio: float
    weeks: tuple[float, float] | None
    copies: tuple[float, float] | None
    more: bool = False
    drawn: str = "weeks"

    @property
    def better(self) -> bool:
        """Whether the tuned policy is ahead whatever is drawn."""
        seen = [self.ratio, *(self.weeks or ()), *(self.copies or ())]  # NaN is not ahead
        return all(each > 1 if self.more else each < 1 for each in seen)


class Outcome(NamedTuple):
    """What tuning came to; ``rule`` is the fixed rule that was best on the tuning part, ``facts`` are those of waits
    under the tuned policy beside today's (:class:`~transom.simulation.output.sentences.Answer`)."""

    today: Beside
    fixed: list[Beside]
    tuned: Beside
    rule: Beside
    noise: Noise
    front: list[Beside]
    sentences: list[str]
    objectives: Sequence[Objective]
    facts: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """The same in JSON's terms."""
        return {
            "today": self.today.document(),
            "fixed": [each.document() for each in self.fixed],
            "tuned": self.tuned.document(),
            "best_rule_on_train": self.rule.document(),
            "front": [each.document() for each in self.front],
            "noise": self.noise._asdict(),
            "objectives": [each.name for each in self.objectives],
            "sentences": self.sentences,
        }


def outcome(test: Workload, fixed: Sequence[str], terms: Terms, chosen: Chosen, judged: dict[str, Any]) -> Outcome:
    """What tuning came to.

    Parameters
    ----------
    test : the part on which the choice is judged.
    fixed : rules that stand beside it.
    terms, chosen : what was tuned for, and what was chosen.
    judged : figures on the test part of today's policy, the fixed rules, the front and the chosen policy.
    """

    def beside(policy: str) -> Beside:
        return Beside(policy, chosen.train.get(policy), judged[policy])

    today, tuned, rules = beside(terms.today), beside(chosen.policy), [beside(rule) for rule in fixed]
    before, after = _schedules(test, terms, chosen.policy)
    started = test.origin.started if terms.today == LOGGED else None
    counts = np.ones(len(test), np.bool_) if started is None else started >= 0
    trim, first = Trim(among=counts), terms.objectives[0]
    copies = [] if terms.today == LOGGED else [_schedules(copy, terms, chosen.policy) for copy in _copies(test, terms)]
    moved = [ratio for each in copies if not isnan(ratio := _ratio(first, *each, trim))]
    noise = Noise(
        _ratio(first, before, after, trim),
        _over_weeks(first, before, after, counts, terms.seed),
        (min(moved), max(moved)) if moved else None,
        first.sign < 0,
        "weeks" if _stretch(test.jobs.submit[counts]) == WEEK else "eighths of the test part",
    )
    groups = groupings(test.jobs, test.runtime, test.cluster, test.origin)

    def own(schedule: Schedule) -> Repetition:
        return Repetition(summary(schedule, trim=trim), mean_waits(schedule, groups, trim))

    error = replay_error(TODAY, simulate(test, TODAY), groups, trim) if terms.today == LOGGED else None
    beside_today = answer(
        [called(terms.today), "The tuned policy"],
        [own(before), own(after)],
        [[own(each[k]) for each in copies] for k in (0, 1)] if copies else (),
        JITTER,
        error,
    )
    rule = beside(chosen.rule)
    warned = error is not None and error.all_jobs.error >= UNLIKE  # which then is the first sentence, here as well
    opening, *rest = beside_today.sentences
    said = _sentences(len(test), today, tuned, rule, rules, noise, terms)
    said = [opening, *said, *rest] if warned else [*said, opening, *rest]
    front = [beside(policy) for policy in chosen.front]
    return Outcome(today, rules, tuned, rule, noise, front, said, terms.objectives, beside_today.facts)


def _copies(test: Workload, terms: Terms) -> list[Workload]:
    return [test.jittered(JITTER, stream(terms.seed, "jitter", k)) for k in range(REPEATS)]


def _schedules(test: Workload, terms: Terms, policy: str) -> tuple[Schedule, Schedule]:
    """Under today's policy and under another one."""
    after = simulate(test, policy, seed=terms.seed)
    if terms.today != LOGGED:
        return simulate(test, terms.today, seed=terms.seed), after
    logged = as_logged(after)
    assert logged is not None, "figures of the log are known by now"
    return logged.schedule, after


_OF_JOBS = {
    "mean_wait": wait,
    "mean_response": response,
    "mean_slowdown": slowdown,
    "mean_bounded_slowdown": bounded_slowdown,
    "mean_per_processor_slowdown": per_processor_slowdown,
}
"""Metrics that are means over jobs."""


def _ratio(objective: Objective, before: Schedule, after: Schedule, trim: Trim) -> float:
    """The objective over today's; NaN where one of them is not known or today's is 0."""
    old, new = (summary(each, trim=trim).get(objective.full, nan) for each in (before, after))
    return new / old if old else nan


def _stretch(submit: IntArray) -> int:
    """A week, or an eighth of the time of submissions where that is shorter [s]."""
    return min(WEEK, int(submit[-1] - submit[0]) // _FEWEST + 1)


def _over_weeks(
    objective: Objective, before: Schedule, after: Schedule, counts: BoolArray, seed: int
) -> tuple[float, float] | None:
    """The limits of the ratio when weeks of submissions are drawn again; shorter stretches where there are few."""
    if (of_jobs := _OF_JOBS.get(objective.full)) is None:
        return None
    submit = before.jobs.submit[counts]
    _, of = np.unique((submit - submit[0]) // _stretch(submit), return_inverse=True)
    sums = np.array([np.bincount(of, of_jobs(each)[counts]) for each in (before, after)])
    drawn: IntArray = stream(seed, "weeks").integers(sums.shape[1], size=(_DRAWS, sums.shape[1]))
    below = sums[0][drawn].sum(axis=1)
    ratios = sums[1][drawn].sum(axis=1)[below > 0] / below[below > 0]
    if not len(ratios):
        return None
    low, high = np.percentile(ratios, _LIMITS)
    return float(low), float(high)


def _sentences(
    jobs: int,
    today: Beside,
    tuned: Beside,
    rule: Beside,
    rules: Sequence[Beside],
    noise: Noise,
    terms: Terms,
) -> list[str]:
    now, then = today.test, tuned.test
    if now is None or then is None:
        stuck = today if now is None else tuned
        return [f"Under {stuck.policy} jobs of the test part would never start: nothing can be recommended."]
    first = terms.objectives[0]
    chance = []
    if noise.weeks is not None:
        low, high = noise.weeks
        chance.append(f"over {noise.drawn} drawn again, 95 % of the ratios lie between {low:.2f} and {high:.2f}")
    if noise.copies is not None:
        low, high = noise.copies
        chance.append(f"over {REPEATS} replays with moved submissions between {low:.2f} and {high:.2f}")
    others = [each for each in (*terms.objectives, *ALWAYS) if each != first]
    if not isnan(noise.ratio):
        chance = [f"{noise.ratio:.2f} times today's", *([", ".join(chance)] if chance else [])]
    said_chance = f" ({'; '.join(chance)})" if chance else ""
    change = (
        f"on the {counted(jobs, 'job')} that tuning never saw, {_instead(first, then, now)}"
        f"{said_chance}, "
        f"{', '.join(_instead(each, then, now) for each in dict.fromkeys(others))}."
    )
    if tuned.policy == today.policy:
        said = [f"Nothing was found that is better than {today.policy} and keeps to the conditions."]
    elif noise.better:
        said = [f"Set {tuned.policy} instead of {called(today.policy)}: {change}"]
    else:
        said = [f"Nothing beats {called(today.policy)} by more than the noise; the best, {tuned.policy}: {change}"]
    said += [_kept(each, today, tuned) for each in terms.keep]
    if tuned.train is not None and today.train is not None and tuned.policy != today.policy:
        before = math.exp(first.sign * first.change(tuned.train, today.train))
        said.append(
            f"On the part that it was tuned on, its {first.words} was {before:.2f} times today's; on the other one it "
            f"is {math.exp(first.sign * first.change(then, now)):.2f} times."
        )
    if rule.test is not None:
        said.append(
            f"The fixed rule that was best on the tuning part, {rule.policy}, has a {first.words} of "
            f"{first.text(rule.test)[0]} there and a longest wait of {times(rule.test.max_wait)[0]}."
        )
    near = [each for each in rules if each.test is not None and each.test.max_wait <= 2 * now.max_wait]
    if near:
        best = min(near, key=lambda each: first.value(each.test))
        assert best.test is not None
        times_best = math.exp(first.sign * first.change(then, best.test))
        said.append(
            f"In hindsight the best fixed rule whose longest wait is at most twice today's is {best.policy}, with "
            f"{first.text(best.test)[0]}; the tuned policy has {times_best:.2f} times that."
        )
    return said


def _instead(objective: Objective, then: Figures, now: Figures) -> str:
    return f"{objective.words} {' instead of '.join(objective.text(then, now))}"


def called(policy: str) -> str:
    """What today's policy is called in sentences."""
    return f"what is set today ({AS_LOGGED})" if policy == LOGGED else policy


def _kept(keep: Keep, today: Beside, tuned: Beside) -> str:
    ratios = [
        "unknown" if of is None or now is None else f"{keep.ratio(of, now):.2f}"
        for of, now in ((tuned.train, today.train), (tuned.test, today.test))
    ]
    return f"{keep}: {ratios[0]} times today's on the tuning part, and {ratios[1]} times on the test part."
