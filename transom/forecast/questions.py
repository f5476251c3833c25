"""Questions to a trace: when will these jobs start, as far as was known when they were submitted or later?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from transom.errors import SpecError
from transom.forecast.conformal import calibrated, quantiles
from transom.forecast.futures import Instant, instant, plan, sampled_starts
from transom.forecast.known import Known
from transom.models.arrays import FloatArray, IntArray
from transom.rng import stream
from transom.simulation.core.promise_log import PromiseLog
from transom.simulation.core.site_order import clock_begins, load_rule
from transom.simulation.engine import simulate
from transom.simulation.policies.by_name import RulePolicy, make_policy
from transom.traces.workload import Workload

FUTURES = 64
"""Futures of a question."""

_EVERY = 8  # jobs between two past questions
_PAST = 200  # past questions that calibrate, at most
_WAITED = 600  # of jobs that waited longer [s]
_NAMED = 10  # jobs that an answer names, at most


class Answer(NamedTuple):
    """When a job will start, all times on the trace's clock [s].

    ``plan``: if every job runs to its limit and none is submitted; ``p10``, ``p50``, ``p90``: quantiles of the start;
    ``because``: the resource it waits for, how much of it is free, and the jobs whose planned ends let it start.
    """

    job: int
    now: int
    plan: int
    p10: int
    p50: int
    p90: int
    because: dict[str, Any]


def ask(
    workload: Workload, policy: str, jobs: list[int], at: int | None = None, name: IntArray | None = None, seed: int = 0
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

    Raises
    ------
    SpecError : a job is unknown, is submitted after ``at``, or the policy is not a priority rule.
    """
    rule = make_policy(policy)
    if not isinstance(rule, RulePolicy):
        raise SpecError(f"when: policy {policy!r} is not a priority rule, such as fcfs-easy")
    place = {job: i for i, job in enumerate(workload.jobs.id.tolist())}
    for job in jobs:
        if job not in place:
            raise SpecError(f"{workload.name}: there is no job {job}")
        if at is not None and at < workload.jobs.submit[place[job]]:
            raise SpecError(f"job {job} is submitted at {workload.jobs.submit[place[job]]} s, after --at {at}")
    asked = [place[job] for job in jobs]
    last = max([int(workload.jobs.submit[p]) for p in asked], default=0) if at is None else at
    count = int(np.searchsorted(workload.jobs.submit, last, side="right"))
    names = np.full(len(workload), -1) if name is None else name
    part, log = workload.take(np.arange(count)), PromiseLog()
    schedule = simulate(part, policy, promises=log)
    origin = clock_begins(load_rule(rule.rule), workload)
    known = Known(
        part.cluster, part.jobs, schedule.start, schedule.end, names[:count], rule.rule, rule.backfilling, origin
    )
    times = {p: int(known.submit[p]) if at is None else at for p in asked}
    past = {p: _past(known, now) for p, now in times.items()}
    instants = sorted({*times.values(), *(int(known.submit[q]) for qs in past.values() for q in qs)})
    promised = _promised(log, schedule.decisions["time"], part, instants) if rule.backfilling == "conservative" else {}
    kept: dict[int, FloatArray] = {}

    def forecast(p: int, now: int, shown: int) -> tuple[FloatArray, Instant, IntArray]:
        moment = instant(known, now, shown, promised.get(now))
        planned = plan(known, moment)
        target = np.flatnonzero(moment.active == p)
        rng = stream(seed, "when", int(part.jobs.id[p]) if at is None else now, now)
        starts = sampled_starts(known, moment, planned, target, FUTURES, rng)[:, 0]
        return quantiles(np.maximum(starts - now, 0)), moment, planned

    answers = []
    for p, now in times.items():
        if known.start[p] < now:
            began = int(known.start[p])
            answers.append(Answer(int(part.jobs.id[p]), now, began, began, began, began, {"started": began}))
            continue
        for q in past[p]:
            if q not in kept:
                kept[q] = forecast(q, int(known.submit[q]), q + 1)[0]
        shown = p + 1 if at is None else count
        own, moment, planned = forecast(p, now, shown)
        before = np.array([kept[q] for q in past[p]]).reshape(-1, 3)
        waits = (known.start - known.submit)[past[p]].astype(np.float64)
        begin = int(planned[np.flatnonzero(moment.active == p)[0]])
        low, middle, high = own if begin == now else calibrated(own, before, waits)
        because = _because(known, moment, planned, p, begin)
        job = int(part.jobs.id[p])
        answers.append(Answer(job, now, begin, now + round(low), now + round(middle), now + round(high), because))
    return answers


def _past(known: Known, now: int) -> list[int]:
    """Jobs that have started and waited, about which is asked to calibrate an answer."""
    every = np.arange(0, len(known.submit), _EVERY)
    waited = (known.start[every] < now) & (known.start[every] - known.submit[every] > _WAITED)
    found: list[int] = every[waited][-_PAST:].tolist()
    return found


def _promised(log: PromiseLog, times: IntArray, part: Workload, instants: list[int]) -> dict[int, IntArray]:
    """The reservations before each of these instants, by job."""
    order = np.argsort(part.jobs.id)
    begin, found, k = np.full(len(part), -1), {}, 0
    for each in log.pieces():
        where, low = order[np.searchsorted(part.jobs.id, each.jobs, sorter=order)], 0
        last = each.first + len(each.offsets) - 1
        while k < len(instants) and (row := int(np.searchsorted(times, instants[k]))) < last:
            high = int(each.offsets[max(row - each.first, 0)])
            begin[where[low:high]] = each.starts[low:high]
            low, found[instants[k]] = high, begin.copy()
            k += 1
        begin[where[low:]] = each.starts[low:]
    found |= {instants[i]: begin.copy() for i in range(k, len(instants))}
    return found


def _because(known: Known, at: Instant, planned: IntArray, job: int, begin: int) -> dict[str, Any]:
    """The scarce resource, and the jobs whose planned ends let a job start at its planned start."""
    if begin == at.now:
        return {"text": "it starts now"}
    table = known.jobs.take(at.active)
    runs = (at.elapsed >= 0) & (known.end[at.active] > at.now)
    asked = np.append(known.jobs.nodes[job], known.jobs.demand[job])
    used = np.append(table.nodes[runs].sum(), table.demand[runs].sum(axis=0))
    free = np.array([known.cluster.num_nodes, *known.cluster.capacities]) - used
    scarce = int((asked - free).argmax())
    what = ("nodes", *known.cluster.resources)[scarce]
    ends = np.maximum(planned + table.walltime, at.now + 1)
    ids = table.id[(ends == begin) & (planned < begin)][:_NAMED].tolist()
    ahead = int(((planned < begin) & ~runs).sum())
    told = ", ".join(map(str, ids)) or "jobs ahead of it"
    text = f"it asks for {asked[scarce]} {what}, {free[scarce]} are free; planned to start when {told} end"
    return {"resource": what, "asked": int(asked[scarce]), "free": int(free[scarce]), "jobs": ids, "ahead": ahead,
            "text": text}  # fmt: skip
