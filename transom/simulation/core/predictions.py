"""Predicted runtimes in a replay: what has ended teaches the predictor, and the waiting jobs are predicted anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from transom import registry
from transom._system.compiling import as_argument, inlined, no_refcount
from transom._system.signals import interrupt_behind
from transom.errors import SpecError
from transom.heuristics.predictors import LEARN_ARGUMENTS, PREDICT_ARGUMENTS, Predictor
from transom.models import JobTable
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.events import END, ENDED, START, WALLTIME
from transom.traces.trace_file import is_trace_file, read_trace_frame
from transom.traces.workload import Workload

_MANY = 16  # ends, from which on it is not looked at whom they concern


class Predictions(NamedTuple):
    """Predictions for ``n`` jobs.

    ``learn``, ``predict``, ``facts`` and ``memory`` are the predictor's. ``seconds`` ``(n,)``: what is predicted of
    each job that waits or has started, from 1 s to the walltime; ``learnt`` ``(n,)``: the jobs whose end was taken in.
    """

    learn: Any
    predict: Any
    facts: FloatArray
    memory: FloatArray
    seconds: IntArray
    learnt: BoolArray


def new_predictions(spec: str, jobs: JobTable, names: Callable[[], IntArray]) -> Predictions:
    """Predictions by a predictor, before any job has ended; ``names`` gives the names of the jobs (:func:`names_of`).

    Raises
    ------
    SpecError : there is no such predictor, it does not give one row of facts per job, or cannot be compiled.
    """
    predictor: Predictor = registry.make(registry.PREDICTORS, spec)
    if missing := [each for each in ("learn", "predict", "facts", "memory") if not hasattr(predictor, each)]:
        raise SpecError(f"predictor {spec}: expected {missing[0]}, which it does not have")
    n = len(jobs)
    facts = np.array(predictor.facts(jobs, names), np.float64, order="C")
    if facts.ndim != 2 or len(facts) != n:
        raise SpecError(f"predictor {spec}: expected facts of shape ({n}, k), got {facts.shape}")
    memory = np.array(predictor.memory(facts), np.float64).reshape(-1)
    learn = _compiled(spec, "learn", predictor.learn, LEARN_ARGUMENTS, "none")
    predict = _compiled(spec, "predict", predictor.predict, PREDICT_ARGUMENTS, "float64")
    return Predictions(learn, predict, facts, memory, jobs.walltime.copy(), np.zeros(n, np.bool_))


def _compiled(spec: str, name: str, function: Any, arguments: str, returns: str) -> Any:
    try:
        made = as_argument(function, arguments)
    except Exception as error:  # whatever the compiler says, in many lines
        if pressed := interrupt_behind(error):
            raise pressed from None
        why = next((line for line in map(str.strip, str(error).splitlines()[1:]) if line), str(error))
        raise SpecError(f"predictor {spec}: {name} must be a function that Numba can compile: {why}") from None
    if hasattr(made, "signature") and (found := str(made.signature().return_type)) != returns:
        raise SpecError(f"predictor {spec}: {name} must return {returns}, not {found}")
    return made


def names_of(workload: Workload) -> IntArray:
    """The names of jobs as numbers, -1 for none, shape ``(jobs,)``; imported traces state them.

    Raises
    ------
    TraceError : the trace cannot be read any more.
    """
    jobs, path = workload.jobs, workload.origin.path
    if not is_trace_file(path):
        return np.full(len(jobs), -1)
    import polars as pl

    stated = read_trace_frame(path, ("id", "name")).unique("id", keep="last")
    rows = pl.DataFrame({"id": jobs.id}).join(stated, "id", "left", maintain_order="left")
    names, of = np.unique(rows["name"].cast(pl.String).fill_null("").to_numpy().astype(str), return_inverse=True)
    return np.where(names[of] == "", -1, of).astype(np.int64)


@no_refcount
def learn_ended(p: Predictions, jobs: IntArray, ended: IntArray, at: IntArray) -> int:
    """Take in the jobs that have ended since the last call, the last ones of ``ended``; how many these are."""
    first = int(at[ENDED])
    while first > 0 and not p.learnt[ended[first - 1]]:
        first -= 1
    for i in range(first, at[ENDED]):
        job = ended[i]
        p.learnt[job] = True
        p.learn(p.memory, p.facts, job, jobs[job, END] - jobs[job, START])
    return int(at[ENDED] - first)


@inlined
def concerned(p: Predictions, job: int, ended: IntArray, at: IntArray, learnt: int) -> bool:
    """Whether the last ``learnt`` jobs that ended may have changed the prediction of a job."""
    if learnt > _MANY:
        return True
    for i in range(at[ENDED] - learnt, at[ENDED]):  # noqa: SIM110  (a generator is slower when compiled)
        if p.facts[ended[i], 0] == p.facts[job, 0]:
            return True
    return False


@inlined
def predict(p: Predictions, jobs: IntArray, job: int) -> bool:
    """Predict a job, in whole seconds, rounded up; whether that differs from what was predicted before."""
    predicted, walltime, before = p.predict(p.memory, p.facts, job), jobs[job, WALLTIME], p.seconds[job]
    p.seconds[job] = max(math.ceil(predicted), 1) if predicted < walltime else walltime
    return bool(p.seconds[job] != before)
