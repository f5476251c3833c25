"""What tuning came to: figures of today's policy, of fixed rules and of the tuned one, on both parts, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from transom._system.durations import times
from transom._system.wording import counted
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.rng import stream
from transom.simulation.core.schedule import Schedule
from transom.simulation.engine import simulate
from transom.simulation.output.answer import Repetition
from transom.simulation.output.as_logged import AS_LOGGED, as_logged, replay_error
from transom.simulation.output.job_groups import groupings, mean_waits
from transom.simulation.output.metrics import WEEK, Trim, summary
from transom.simulation.output.sentences import answer
from transom.traces.workload import Workload
from transom.tune.figures import LOGGED, Figures, slowdowns
from transom.tune.keep import Keep
from transom.tune.tuning import TODAY, Chosen, Terms

JITTER = 60
"""By how much submissions of further replays are moved [s]."""

REPEATS = 5
"""How many further replays there are."""

_DRAWS = 2000
_FEWEST = 8  # weeks of a test part
_LIMITS = (2.5, 97.5)  # percentiles of 95 % intervals


class Beside(NamedTuple):
    """A policy on both parts, None where jobs would never start."""

    policy: str
    train: Figures | None
    test: Figures | None

    def document(self) -> dict[str, Any]:
        """The same in JSON's terms."""
        parts = {"train": self.train, "test": self.test}
        return {"policy": self.policy} | {name: None if of is None else of._asdict() for name, of in parts.items()}


class Noise(NamedTuple):
    """The tuned policy's mean bounded slowdown over today's on the test part, and how far chance may move it.

    ``weeks`` are the limits of a 95 % interval over weeks that are drawn again, or eighths of a part that is shorter;
    ``copies`` are the lowest and the highest of replays with moved submissions, None where today's is the log.
    """

    ratio: float
    weeks: tuple[float, float]
    copies: tuple[float, float] | None

    @property
    def better(self) -> bool:
        """Whether the tuned policy is ahead whatever is drawn."""
        return self.weeks[1] < 1 and (self.copies is None or self.copies[1] < 1)


class Outcome(NamedTuple):
    """What tuning came to; ``rule`` is the fixed rule that was best on the tuning part."""

    today: Beside
    fixed: list[Beside]
    tuned: Beside
    rule: Beside
    noise: Noise
    front: list[Beside]
    sentences: list[str]

    def document(self) -> dict[str, Any]:
        """The same in JSON's terms."""
        return {
            "today": self.today.document(),
            "fixed": [each.document() for each in self.fixed],
            "tuned": self.tuned.document(),
            "best_rule_on_train": self.rule.document(),
            "front": [each.document() for each in self.front],
            "noise": self.noise._asdict(),
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
    copies = [] if terms.today == LOGGED else [_schedules(copy, terms, chosen.policy) for copy in _copies(test, terms)]
    moved = [_ratio(*each, counts) for each in copies]
    noise = Noise(
        _ratio(before, after, counts),
        _over_weeks(before, after, counts, terms.seed),
        (min(moved), max(moved)) if moved else None,
    )
    groups = groupings(test.jobs, test.runtime, test.cluster, test.origin)
    trim = Trim(among=counts)

    def own(schedule: Schedule) -> Repetition:
        return Repetition(summary(schedule, trim=trim), mean_waits(schedule, groups, trim))

    beside_today = answer(
        [_called(terms.today), "The tuned policy"],
        [own(before), own(after)],
        [[own(each[k]) for each in copies] for k in (0, 1)] if copies else (),
        JITTER,
        replay_error(TODAY, simulate(test, TODAY), groups, trim) if terms.today == LOGGED else None,
    )
    rule = beside(chosen.rule)
    said = _sentences(len(test), today, tuned, rule, rules, noise, terms.keep)
    front = [beside(policy) for policy in chosen.front]
    return Outcome(today, rules, tuned, rule, noise, front, [*said, *beside_today.sentences])


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


def _of_jobs(schedule: Schedule, counts: BoolArray) -> FloatArray:
    return slowdowns(schedule.wait[counts], schedule.runtime[counts])


def _ratio(before: Schedule, after: Schedule, counts: BoolArray) -> float:
    return float(_of_jobs(after, counts).mean() / _of_jobs(before, counts).mean())


def _over_weeks(before: Schedule, after: Schedule, counts: BoolArray, seed: int) -> tuple[float, float]:
    """The limits of the ratio when weeks of submissions are drawn again; shorter stretches where there are few."""
    submit = before.jobs.submit[counts]
    stretch = min(WEEK, int(submit[-1] - submit[0]) // _FEWEST + 1)
    _, of = np.unique((submit - submit[0]) // stretch, return_inverse=True)
    sums = np.array([np.bincount(of, _of_jobs(each, counts)) for each in (before, after)])
    drawn: IntArray = stream(seed, "weeks").integers(sums.shape[1], size=(_DRAWS, sums.shape[1]))
    ratios = sums[1][drawn].sum(axis=1) / sums[0][drawn].sum(axis=1)
    low, high = np.percentile(ratios, _LIMITS)
    return float(low), float(high)


def _sentences(
    jobs: int,
    today: Beside,
    tuned: Beside,
    rule: Beside,
    rules: Sequence[Beside],
    noise: Noise,
    keep: Sequence[Keep],
) -> list[str]:
    now, then = today.test, tuned.test
    if now is None or then is None:
        stuck = today if now is None else tuned
        return [f"Under {stuck.policy} jobs of the test part would never start: nothing can be recommended."]
    chance = f"over weeks drawn again, 95 % of the ratios lie between {noise.weeks[0]:.2f} and {noise.weeks[1]:.2f}"
    if noise.copies is not None:
        low, high = noise.copies
        chance += f", over {REPEATS} replays with moved submissions between {low:.2f} and {high:.2f}"
    change = (
        f"on the {counted(jobs, 'job')} that tuning never saw, mean bounded slowdown {_number(then.bounded_slowdown)} "
        f"instead of {_number(now.bounded_slowdown)} ({noise.ratio:.2f} times today's; {chance}), mean wait "
        f"{' instead of '.join(times(then.wait, now.wait))}, longest wait "
        f"{' instead of '.join(times(then.max_wait, now.max_wait))}."
    )
    if tuned.policy == today.policy:
        said = [f"Nothing was found that is better than {today.policy} and keeps to the conditions."]
    elif noise.better:
        said = [f"Set {tuned.policy} instead of {_called(today.policy)}: {change}"]
    else:
        said = [f"Nothing beats {_called(today.policy)} by more than the noise; the best, {tuned.policy}: {change}"]
    said += [_kept(each, today, tuned) for each in keep]
    if tuned.train is not None and today.train is not None and tuned.policy != today.policy:
        before = tuned.train.bounded_slowdown / today.train.bounded_slowdown
        said.append(
            f"On the part that it was tuned on, its slowdown was {before:.2f} times today's; on the other one it is "
            f"{noise.ratio:.2f} times."
        )
    if rule.test is not None:
        said.append(
            f"The fixed rule that was best on the tuning part, {rule.policy}, has a slowdown of "
            f"{_number(rule.test.bounded_slowdown)} there and a longest wait of {times(rule.test.max_wait)[0]}."
        )
    near = [each for each in rules if each.test is not None and each.test.max_wait <= 2 * now.max_wait]
    if near:
        best = min(near, key=lambda each: each.test.bounded_slowdown if each.test else float("inf"))
        assert best.test is not None
        said.append(
            f"In hindsight the best fixed rule whose longest wait is at most twice today's is {best.policy}, with "
            f"{_number(best.test.bounded_slowdown)}: {then.bounded_slowdown / best.test.bounded_slowdown:.2f} of that."
        )
    return said


def _called(policy: str) -> str:
    return f"what is set today ({AS_LOGGED})" if policy == LOGGED else policy


def _kept(keep: Keep, today: Beside, tuned: Beside) -> str:
    ratios = [
        "unknown" if of is None or now is None else f"{keep.ratio(of, now):.2f}"
        for of, now in ((tuned.train, today.train), (tuned.test, today.test))
    ]
    return f"{keep}: {ratios[0]} times today's on the tuning part, and {ratios[1]} times on the test part."


def _number(value: float) -> str:
    return f"{value:,.1f}"
