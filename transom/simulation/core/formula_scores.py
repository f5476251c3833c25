"""Scores of waiting jobs by a formula, compiled: a stack of columns, and what a replay knows of now.

A program is the part of a formula that changes with time, in postfix order. It is data, so that no formula is compiled:
each instruction goes through all jobs before the next one does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from transom._system.compiling import inlined, no_refcount
from transom.heuristics.cubes import cube
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.core.events import DEMAND, END, NOW, QUEUED, START
from transom.simulation.core.predictions import Predictions, concerned, learn_ended, predict

# Instructions that put a value on the stack: a number, a column of the facts, the time since one, a number that is the
# same for all jobs, one that is the same for all jobs of a user, and the predicted runtime.
NUMBER, COLUMN, SINCE, SHARED, OF_USER, PREDICTED = range(6)
# Then those of one operand and of two, by their names in formulas.
ONE = ("negative", "square", "cube", "log", "log2", "log10", "sqrt", "exp", "abs")
TWO = ("+", "-", "*", "/", "**", "min", "max")
NEGATIVE, SQUARE, CUBE, LOG, LOG2, LOG10, SQRT, EXP, ABS = range(6, 15)
ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, MIN, MAX = range(15, 22)

QUEUE_LENGTH, FREE_NODES = range(2)  # places in Program.shared
USER_NODES, USER_USE = range(2)  # rows of Program.of_user
HELD, LISTED, STAMP = range(3)  # places in Program.at

_LARGEST_EXPONENT = 709.0
_FEW = 32  # jobs that are inserted one by one


class Program(NamedTuple):
    """A formula for ``n`` jobs of ``U`` users.

    ``code`` ``(m, 2)``: instructions and their arguments; ``numbers``: of the formula, ``stack`` ``(deepest, n)``;
    ``odd`` ``(n,)``: the jobs whose score was not finite; ``shared`` ``(2,)`` and ``of_user`` ``(2, U)``: what is known
    of now. Where that of users is asked for, ``user`` ``(n,)`` is the user of each job, otherwise empty; ``held`` and
    ``since`` ``(n,)`` are the jobs that run and when they started, ``listed`` ``(n,)`` those that waited at the last
    pass; ``at``: how many these are, and when it was; ``rate`` ``(1,)``: of the decay [1/s]. ``predictions`` are None
    where the formula names none, ``steady`` says that nothing else in it changes.
    """

    code: IntArray
    numbers: FloatArray
    stack: FloatArray
    odd: BoolArray
    shared: FloatArray
    of_user: FloatArray
    used: FloatArray
    user: IntArray
    held: IntArray
    since: IntArray
    listed: IntArray
    at: IntArray
    rate: FloatArray
    predictions: Predictions | None
    steady: bool


@no_refcount
def score_jobs(p: Program, facts: FloatArray, queue: IntArray, count: int, now: int, scores: FloatArray) -> None:
    """Set the scores of the first jobs of a queue; one that is not finite becomes infinite, and is marked."""
    top = -1
    for k in range(len(p.code)):
        op, argument = p.code[k, 0], p.code[k, 1]
        if op < NEGATIVE:
            top += 1
            _push(p, facts, queue, count, now, op, argument, p.stack[top])
        elif op < ADD:
            _apply_one(op, count, p.stack[top])
        else:
            top -= 1
            _apply_two(op, count, p.stack[top], p.stack[top + 1])
    for i in range(count):
        score = p.stack[0, i]
        if score - score == 0.0:
            scores[i] = score
        else:
            scores[i] = math.inf
            p.odd[queue[i]] = True


@inlined
def _push(
    p: Program, facts: FloatArray, queue: IntArray, count: int, now: int, op: int, argument: int, to: FloatArray
) -> None:
    if op == COLUMN:
        for i in range(count):
            to[i] = facts[queue[i], argument]
    elif op == SINCE:
        for i in range(count):
            to[i] = now - facts[queue[i], argument]
    elif op == OF_USER:
        for i in range(count):
            user = p.user[queue[i]]
            to[i] = p.of_user[argument, user] if user >= 0 else math.nan
    elif op == PREDICTED:
        _push_predicted(p.predictions, queue, count, to)
    else:
        value = p.numbers[argument] if op == NUMBER else p.shared[argument]
        for i in range(count):
            to[i] = value


@inlined
def _push_predicted(predictions: Predictions | None, queue: IntArray, count: int, to: FloatArray) -> None:
    if predictions is not None:
        for i in range(count):
            to[i] = predictions.seconds[queue[i]]


@inlined
def _apply_one(op: int, count: int, x: FloatArray) -> None:
    if op == NEGATIVE:
        for i in range(count):
            x[i] = -x[i]
    elif op == SQUARE:
        for i in range(count):
            x[i] = x[i] * x[i]
    elif op == CUBE:
        for i in range(count):
            x[i] = cube(x[i])
    elif op == LOG:
        for i in range(count):
            x[i] = math.log(x[i]) if x[i] > 0.0 else math.nan
    elif op == LOG2:
        for i in range(count):
            x[i] = math.log2(x[i]) if x[i] > 0.0 else math.nan
    elif op == LOG10:
        for i in range(count):
            x[i] = math.log10(x[i]) if x[i] > 0.0 else math.nan
    elif op == SQRT:
        for i in range(count):
            x[i] = math.sqrt(x[i]) if x[i] >= 0.0 else math.nan
    elif op == EXP:
        for i in range(count):
            x[i] = math.exp(x[i]) if x[i] <= _LARGEST_EXPONENT else math.inf
    elif op == ABS:
        for i in range(count):
            x[i] = abs(x[i])


@inlined
def _apply_two(op: int, count: int, x: FloatArray, y: FloatArray) -> None:
    if op == ADD:
        for i in range(count):
            x[i] = x[i] + y[i]
    elif op == SUBTRACT:
        for i in range(count):
            x[i] = x[i] - y[i]
    elif op == MULTIPLY:
        for i in range(count):
            x[i] = x[i] * y[i]
    elif op == DIVIDE:
        for i in range(count):
            x[i] = x[i] / y[i] if y[i] != 0.0 else math.nan
    elif op == POWER:
        for i in range(count):
            valid = x[i] > 0.0 or (x[i] == 0.0 and y[i] >= 0.0) or (x[i] < 0.0 and y[i] == math.floor(y[i]))
            x[i] = math.pow(x[i], y[i]) if valid else math.nan
    elif op == MIN:
        for i in range(count):
            x[i] = x[i] if x[i] < y[i] or x[i] != x[i] else y[i]
    elif op == MAX:
        for i in range(count):
            x[i] = x[i] if x[i] > y[i] or x[i] != x[i] else y[i]


@no_refcount
def observe(p: Program, jobs: IntArray, queue: IntArray, free: IntArray, at: IntArray) -> None:
    """Take in what the state of a replay says of now, before a pass."""
    p.shared[QUEUE_LENGTH], p.shared[FREE_NODES] = at[QUEUED], free[0]
    if len(p.user) == 0:
        return
    now = at[NOW]
    decay = math.exp(-p.rate[0] * (now - p.at[STAMP]))
    for user in range(len(p.used)):
        p.used[user] = p.used[user] * decay
        p.of_user[USER_NODES, user] = 0.0
        p.of_user[USER_USE, user] = 0.0
    p.at[STAMP] = now
    hold_started(p, jobs)
    kept = 0
    for i in range(p.at[HELD]):
        job, start = p.held[i], p.since[i]
        user, nodes = p.user[job], float(jobs[job, DEMAND])
        runs = jobs[job, START] == start and jobs[job, END] < 0
        if user >= 0:
            # What was used decays from when it was used on: the integral of that over the time that the job ran.
            end = now if jobs[job, START] != start or runs else jobs[job, END]
            used = nodes * (math.exp(-p.rate[0] * (now - end)) - math.exp(-p.rate[0] * (now - start))) / p.rate[0]
            if runs:
                p.of_user[USER_NODES, user] += nodes
                p.of_user[USER_USE, user] += used
            else:
                p.used[user] += used
        if runs:
            p.held[kept], p.since[kept] = job, start
            kept += 1
    p.at[HELD] = kept
    for user in range(len(p.used)):
        p.of_user[USER_USE, user] += p.used[user]
    for i in range(at[QUEUED]):
        p.listed[i] = queue[i]
    p.at[LISTED] = at[QUEUED]


@no_refcount
def foresee(
    predictions: Predictions | None,
    steady: bool,
    jobs: IntArray,
    queue: IntArray,
    known: int,
    ended: IntArray,
    at: IntArray,
    aside: IntArray,
) -> int:
    """Predict the jobs of a queue, of which the last pass saw the first ``known``.

    Those of which another runtime is predicted than before go to the end. How many stand in front of these and the new
    ones, with the scores that they had; -1 if other scores have changed, or too many.
    """
    kept = -1
    if predictions is not None:
        learnt = learn_ended(predictions, jobs, ended, at)
        kept, moved = known, 0
        if learnt > 0:
            kept = 0
            for i in range(known):
                job = queue[i]
                if concerned(predictions, job, ended, at, learnt) and predict(predictions, jobs, job):
                    aside[moved] = job
                    moved += 1
                else:
                    queue[kept] = job
                    kept += 1
            for i in range(moved):
                queue[kept + i] = aside[i]
        for i in range(known, len(queue)):
            predict(predictions, jobs, queue[i])
        if not steady or len(queue) - kept > _FEW:
            kept = -1
    return kept


@no_refcount
def hold_started(p: Program, jobs: IntArray) -> None:
    """Count the jobs that the last pass has started among those that run, before outages end any of them."""
    if len(p.user) > 0:
        for i in range(p.at[LISTED]):
            _hold(p, jobs, p.listed[i])
        p.at[LISTED] = 0


@no_refcount
def begin_again(p: Program, jobs: IntArray, now: int) -> None:
    """Begin with the jobs that run in a state, and nothing that was used before."""
    p.at[HELD], p.at[LISTED], p.at[STAMP] = 0, 0, now
    for user in range(len(p.used)):
        p.used[user] = 0.0
    for job in range(len(p.user)):
        if jobs[job, END] < 0:
            _hold(p, jobs, job)


@no_refcount
def _hold(p: Program, jobs: IntArray, job: int) -> None:
    if jobs[job, START] >= 0:
        p.held[p.at[HELD]], p.since[p.at[HELD]] = job, jobs[job, START]
        p.at[HELD] += 1
