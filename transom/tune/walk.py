"""Walk-forward: a policy that is tuned again every so many days, each time on all that came before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transom._system.durations import times
from transom._system.wording import counted
from transom.errors import SpecError
from transom.traces.workload import Workload
from transom.tune.figures import Figures
from transom.tune.outcome import called
from transom.tune.search import Score
from transom.tune.split import FEWEST, Split, split
from transom.tune.tuning import Terms, choose, fixed_rules, judge

AGAIN = "tuned again"
ONCE = "tuned once"
BEST = "best rule so far"
"""What the policies are called that are chosen from what came before: at each step, at the first one, and the fixed
rule that was best at each step."""


class Step(NamedTuple):
    """A step: the jobs of so many days, each under a policy that was chosen before them.

    Parameters
    ----------
    begin : the first submission [s].
    jobs : how many there are; ``before`` so many were tuned on.
    policy : the tuned one.
    figures : of these jobs, replayed alone from an empty machine, by policy and by :data:`AGAIN`, :data:`ONCE` and
        :data:`BEST`; None where jobs would never start.
    """

    begin: int
    jobs: int
    before: int
    policy: str
    figures: Mapping[str, Figures | None]

    def document(self) -> dict[str, Any]:
        """The same in JSON's terms."""
        return self._asdict() | {"figures": documented(self.figures)}


def walk(
    workload: Workload,
    share: float,
    days: float,
    terms: Terms,
    journal: Path,
    progress: Callable[[Score, int], None] = lambda best, policies: None,
) -> list[Step]:
    """Choose a policy on what came before the test part, replay the next days of it, and so on to its end.

    Parameters
    ----------
    workload : the trace.
    share : of the jobs, the last ones, that are the test part.
    days : of a step [s], > 0.
    terms : what is tuned for; the limits of the search are those of each step.
    journal : keeps all figures.
    progress : as of :func:`~transom.tune.tuning.choose`.

    Raises
    ------
    SpecError, DocumentError : as of :func:`~transom.tune.split.split`, ``choose`` and ``judge``; or the days are not
        positive.
    """
    steps: list[Step] = []
    once = ""
    for step in _splits(workload, share, days):
        chosen = choose(step.tuning, terms, journal, progress)
        once = once or chosen.policy
        found = judge(step, [terms.today, *fixed_rules(), chosen.policy, once], terms, journal)
        named = {AGAIN: found[chosen.policy], ONCE: found[once], BEST: found[chosen.rule]}
        besides = {policy: found[policy] for policy in (terms.today, *fixed_rules())}
        begin = int(step.test.jobs.submit[0])
        steps.append(Step(begin, len(step.test), len(step.tuning), chosen.policy, named | besides))
    return steps


def over_all(steps: Sequence[Step]) -> dict[str, Figures | None]:
    """The figures of all steps together, by policy: the longest wait, and means over jobs of all others."""
    jobs = [step.jobs for step in steps]
    found: dict[str, Figures | None] = {}
    for policy in steps[0].figures:
        each = [of for step in steps if (of := step.figures[policy]) is not None]
        if len(each) < len(steps):
            found[policy] = None
            continue

        def mean(name: str, each: Sequence[Figures] = each) -> float:
            return float(np.average([of.get(name) for of in each], weights=jobs))

        further = {name: mean(name) for name in each[0].further}
        found[policy] = Figures(mean("bounded_slowdown"), mean("wait"), max(of.max_wait for of in each), further)
    return found


def documented(figures: Mapping[str, Figures | None]) -> dict[str, Any]:
    """Figures by policy in JSON's terms; those that are not known of all steps are left out."""
    return {
        policy: None if of is None else {name: value for name, value in of.document().items() if not isnan(value)}
        for policy, of in figures.items()
    }


def summed_up(steps: Sequence[Step], terms: Terms) -> str:
    """A sentence to forward, by the first objective."""
    found, first, today = over_all(steps), terms.objectives[0], terms.today
    now, again, once = found[today], found[AGAIN], found[ONCE]
    if now is None or again is None or once is None:
        stuck = today if now is None else "a tuned policy"
        return f"Under {stuck} jobs of a step would never start: nothing can be recommended."
    after, before, kept = first.text(again, now, once)
    ahead = sum(first.value(step.figures[AGAIN]) < first.value(step.figures[today]) for step in steps)
    one = len(steps) == 1
    times_tuned = "Tuned before a single step" if one else f"Tuned again before each of {counted(len(steps), 'step')}"
    if_once = "" if one else f" and {kept} if tuned once, before the first of them"
    better = "" if one else f"; better in {ahead} of the steps"
    return (
        f"{times_tuned}: {first.words} {after} instead of {before} under "
        f"{called(today)}{if_once}, longest wait "
        f"{' instead of '.join(times(again.max_wait, now.max_wait))}{better}."
    )


def _splits(workload: Workload, share: float, days: float) -> list[Split]:
    """What came before each step, and its jobs; a step that would hold too few joins the one before."""
    if not days > 0:
        raise SpecError(f"--walk-forward must be above 0, got {days:g}")
    first = len(split(workload, share).tuning)
    submit = workload.jobs.submit
    limits = np.arange(submit[first], submit[-1], days)
    cuts = [first]
    for cut in np.searchsorted(submit, limits).tolist():
        if cut - cuts[-1] >= FEWEST and len(workload) - cut >= FEWEST:
            cuts.append(cut)
    ends = [*cuts[1:], len(workload)]
    return [
        Split(workload.take(slice(0, cut)), workload.take(slice(cut, end))) for cut, end in zip(cuts, ends, strict=True)
    ]
