"""Questions to a trace: when will these jobs start, as far as was known when they were submitted or later?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from transom._system.durations import minute
from transom.errors import SpecError
from transom.forecast.calibration import Calibration, asked_before, calibration_key
from transom.forecast.conformal import Scores, calibrated, quantiles
from transom.forecast.futures import Instant, forecast
from transom.forecast.known import Known
from transom.forecast.past import Past
from transom.forecast.reasons import Plan
from transom.models.arrays import IntArray
from transom.traces.workload import Workload


class Answer(NamedTuple):
    """When a job will start, all times on the trace's clock [s].

    ``plan``: if every job runs to its limit and none is submitted; ``p10``, ``p50``, ``p90``: quantiles of the start;
    ``because``: the resource it waits for, the jobs whose planned ends let it start, and what would start it sooner.
    """

    job: int
    now: int
    plan: int
    p10: int
    p50: int
    p90: int
    because: dict[str, Any]


def ask(
    workload: Workload,
    policy: str,
    jobs: Sequence[int],
    at: int | None = None,
    name: IntArray | None = None,
    seed: int = 0,
    keep: bool = False,
) -> list[Answer]:
    """When jobs of a trace will start.

    Parameters
    ----------
    workload : the trace; what happens after the instant of a question is not read for its answer.
    policy : a priority rule, without or with backfilling.
    jobs : ids.
    at : when to ask [s], by default at the submission of each job.
    name : number of the application of each job of the trace, -1 where unknown.
    seed : >= 0.
    keep : whether to keep past forecasts in the user's cache, and to use those that are there.

    Raises
    ------
    SpecError : a job is unknown, is submitted after ``at``, or the policy is not a priority rule.
    """
    submit, places = workload.jobs.submit, {job: i for i, job in enumerate(workload.jobs.id.tolist())}
    for job in jobs:
        if job not in places:
            raise SpecError(f"{workload.name}: there is no job {job}")
        if at is not None and at < submit[places[job]]:
            begin, asked_at = (minute(int(each), workload.origin.epoch) for each in (submit[places[job]], at))
            raise SpecError(f"job {job} is submitted at {begin}, after --at {asked_at}")
    asked = [places[job] for job in jobs]
    count = max(asked, default=-1) + 1 if at is None else int(np.searchsorted(submit, at, side="right"))
    names = np.full(len(workload), -1) if name is None else name
    past = Past(workload.take(np.arange(count)), policy, names[:count])
    calibration = Calibration(past, calibration_key(workload, names, policy, seed) if keep else "", seed)
    questions: dict[tuple[int, int], list[int]] = {}  # places by (instant, jobs known by then)
    for place in sorted({*asked}):
        questions.setdefault((int(submit[place]), place + 1) if at is None else (at, count), []).append(place)
    before = {question: asked_before(past, *question) for question in questions}
    calibration.make(place for each in before.values() for place in each.tolist())
    found: dict[int, Answer] = {}
    for (question, of), moment in zip(questions.items(), past.instants(questions), strict=True):
        waiting = [place for place in of if past.known.start[place] >= moment.now]
        for place in {*of} - {*waiting}:
            job, began = int(workload.jobs.id[place]), int(past.known.start[place])
            found[place] = Answer(job, moment.now, began, began, began, began, {"text": "it has started"})
        told = answers(past.known, moment, np.array(waiting, np.int64), calibration.scores(before[question]), seed)
        found |= dict(zip(waiting, told, strict=True))
    return [found[place] for place in asked]


def answers(known: Known, at: Instant, places: IntArray, scores: Scores, seed: int) -> list[Answer]:
    """When waiting jobs start, asked at one instant.

    Parameters
    ----------
    known, at : what is known, and the instant.
    places : of the jobs among the known ones.
    scores : of past questions.
    seed : of the futures.
    """
    if not len(places):
        return []
    targets = np.searchsorted(at.active, places)
    waits, planned = forecast(known, at, targets, seed)
    sampled, reasons = quantiles(waits), Plan(known, at, planned)
    changed = calibrated(sampled, scores)
    found = []
    for k, target in enumerate(targets.tolist()):
        begin = int(planned[target])
        low, middle, high = (at.now + np.rint(sampled if begin == at.now else changed)[:, k].astype(np.int64)).tolist()
        found.append(Answer(int(known.jobs.id[places[k]]), at.now, begin, low, middle, high, reasons.because(target)))
    return found
