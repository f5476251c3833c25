"""The pairs of a waiting task and a machine on which it fits, at an instant of a replay: features, scores, chances.

While an instant lasts, a pair keeps its score until its machine takes an instance or its task loses one: only those
pairs are scored again. What fits only becomes less, so lists of fitting pairs only shrink.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from transom._system.compiling import inlined
from transom._system.records import record, records
from transom.learned.deepjs.network import MEAN, SCALE
from transom.models.arrays import FloatArray, IntArray, SingleArray
from transom.simulation.placement.state import Arranged, State, fits, place
from transom.traces.tasks.workload import TaskWorkload

_FAR = 500.0  # scores this far above the reference are about to be beyond what a double holds after exp
_FAINT = 1e-200


class Now:
    """Where a replay stands within an instant."""

    pairs: int  # that fit
    listed: int  # to be scored
    queued: int  # instances that waited before the first decision of the instant
    reference: float  # what scores are compared with before they are exponentiated
    rows: int  # of the log that are filled
    first: int  # row of the log of this instant


class Seen(NamedTuple):
    """What a task and a unit of a resource are to the network: ``task`` ``(T, 3)``, the features of a task that stay;
    ``unit`` ``(2,)``, by how much a unit of CPU and of memory adds to a feature."""

    task: SingleArray
    unit: FloatArray


class Pairs(NamedTuple):
    """The pairs that fit, for T tasks on M machines.

    ``place`` ``(M, T)``: positions in the queue of the tasks that fit a machine; ``number`` ``(M,)``: how many;
    ``score``, ``chance``, ``row`` ``(M, T)``: of these pairs; chances are not yet divided by their sum, rows are of the
    log, -1 where a pair is not scored; ``total`` ``(M,)``: of chances; ``which`` ``(M T, 2)``: machine and number in
    its list of what is to be scored.
    """

    place: IntArray
    number: IntArray
    score: SingleArray
    chance: FloatArray
    row: IntArray
    total: FloatArray
    which: IntArray
    now: Now


def seen(workload: TaskWorkload, arranged: Arranged) -> Seen:
    """What the tasks of a workload with CPU and memory are to the network."""
    units = np.array(workload.units, np.float64)
    exact = arranged.machines.dtype.kind == "i"
    return sight_of(workload.demands / units, workload.estimate, units if exact else np.ones(2))


def sight_of(demands: FloatArray, durations: FloatArray, units: FloatArray) -> Seen:
    """What tasks are to the network.

    Parameters
    ----------
    demands : of an instance, in cores and shares of a machine's memory, shape ``(T, 2)``.
    durations : [s], shape ``(T,)``.
    units : what is free on a machine, per core and per memory of a machine, shape ``(2,)``.
    """
    task = (np.column_stack((demands, durations)) - MEAN[2:5]) / SCALE[2:5]
    return Seen(task.astype(np.float32), 1 / (SCALE[:2] * units))


def new_pairs(tasks: int, machines: int) -> Pairs:
    """Empty lists."""
    return Pairs(
        place=np.empty((machines, tasks), np.int64),
        number=np.zeros(machines, np.int64),
        score=np.zeros((machines, tasks), np.float32),
        chance=np.zeros((machines, tasks)),
        row=np.full((machines, tasks), -1),
        total=np.zeros(machines),
        which=np.empty((machines * tasks, 2), np.int64),
        now=record(Now),
    )


def several_pairs(pairs: Pairs, count: int) -> Pairs:
    """Lists for so many episodes."""
    now = records(Now, count)
    now[:] = pairs.now
    each = {name: np.repeat(getattr(pairs, name)[None], count, axis=0) for name in Pairs._fields if name != "now"}
    return pairs._replace(now=cast(Now, now), **each)


@inlined
def list_fitting(state: State, pairs: Pairs) -> None:
    """All pairs that fit at the beginning of an instant, to be scored."""
    now = pairs.now
    now.pairs, now.listed = 0, 0
    now.queued, now.first, now.reference = state.at.waiting, now.rows, np.inf
    for machine in range(len(pairs.number)):
        number = 0
        for i in range(state.at.queued):
            if state.waiting[state.queue[i]] > 0 and fits(state, state.queue[i], machine):
                pairs.place[machine, number] = i
                _list(pairs, machine, number)
                number += 1
        pairs.number[machine] = number
        now.pairs += number


@inlined
def write_inputs(state: State, sight: Seen, pairs: Pairs, inputs: SingleArray, begin: int) -> None:
    """The features of what is listed, into rows from ``begin`` on."""
    for listed in range(pairs.now.listed):
        machine, row = pairs.which[listed, 0], inputs[begin + listed]
        task = state.queue[pairs.place[machine, pairs.which[listed, 1]]]
        row[0] = np.float32(state.free[machine, 0] * sight.unit[0])
        row[1] = np.float32(state.free[machine, 1] * sight.unit[1])
        for each in range(3):
            row[2 + each] = sight.task[task, each]
        row[5] = np.divide(np.float32(state.waiting[task]) - MEAN[5], SCALE[5])


@inlined
def read_scores(pairs: Pairs, scores: SingleArray, begin: int) -> None:
    """Scores and chances of what is listed."""
    now = pairs.now
    steep = now.reference == np.inf
    for row in range(now.listed):
        machine, number = pairs.which[row, 0], pairs.which[row, 1]
        pairs.score[machine, number] = scores[begin + row]
        above = scores[begin + row] - now.reference
        steep = steep or above > _FAR
        pairs.chance[machine, number] = np.exp(min(above, _FAR))
    if steep or _add_up(pairs) < _FAINT:
        highest = -np.inf
        for machine in range(len(pairs.number)):
            for number in range(pairs.number[machine]):
                highest = max(highest, pairs.score[machine, number])
        now.reference = highest
        for machine in range(len(pairs.number)):
            for number in range(pairs.number[machine]):
                pairs.chance[machine, number] = np.exp(pairs.score[machine, number] - highest)
        _add_up(pairs)


@inlined
def chosen_pair(pairs: Pairs, draws: FloatArray, decision: int) -> tuple[int, int]:
    """Machine and number in its list of the pair that is taken: drawn by its chance, or of the highest score."""
    chosen, place_ = 0, 0
    if pairs.now.pairs == 1:
        while pairs.number[chosen] == 0:
            chosen += 1
        return chosen, 0
    if len(draws) == 0:
        highest = -np.inf
        for machine in range(len(pairs.number)):
            for number in range(pairs.number[machine]):
                if pairs.score[machine, number] > highest:
                    highest = pairs.score[machine, number]
                    chosen, place_ = machine, number
        return chosen, place_
    whole = 0.0
    for machine in range(len(pairs.number)):
        whole += pairs.total[machine]
    left = draws[decision] * whole
    # Rounding may leave a rest: then the last one that has a chance at all.
    for machine in range(len(pairs.number)):
        for number in range(pairs.number[machine]):
            if pairs.chance[machine, number] > 0:
                chosen, place_ = machine, number
                left -= pairs.chance[machine, number]
                if left < 0:
                    return chosen, place_
    return chosen, place_


@inlined
def take_pair(state: State, pairs: Pairs, machine: int, number: int, until: IntArray) -> None:
    """Start an instance of a pair; list what has to be scored again, and drop what no longer fits."""
    now = pairs.now
    position = pairs.place[machine, number]
    task = state.queue[position]
    place(state, task, machine)
    now.listed = 0
    left = 0
    for each in range(pairs.number[machine]):
        here = pairs.place[machine, each]
        _end(pairs, machine, each, until, state.at.started)
        if state.waiting[state.queue[here]] > 0 and fits(state, state.queue[here], machine):
            pairs.place[machine, left] = here
            _list(pairs, machine, left)
            left += 1
    now.pairs -= pairs.number[machine] - left
    pairs.number[machine] = left
    for other in range(len(pairs.number)):
        if other == machine:
            continue
        for each in range(pairs.number[other]):
            if pairs.place[other, each] == position:
                _end(pairs, other, each, until, state.at.started)
                if state.waiting[task] > 0:
                    _list(pairs, other, each)
                else:
                    _drop(pairs, other, each)
                break


@inlined
def _list(pairs: Pairs, machine: int, number: int) -> None:
    row = pairs.now.listed
    pairs.which[row, 0], pairs.which[row, 1] = machine, number
    pairs.row[machine, number] = -1
    pairs.now.listed = row + 1


@inlined
def _add_up(pairs: Pairs) -> float:
    whole = 0.0
    for machine in range(len(pairs.number)):
        total = 0.0
        for number in range(pairs.number[machine]):
            total += pairs.chance[machine, number]
        pairs.total[machine] = total
        whole += total
    return whole


@inlined
def _end(pairs: Pairs, machine: int, number: int, until: IntArray, decision: int) -> None:
    """Log that a pair is no longer there as it was scored."""
    if pairs.row[machine, number] >= 0:
        until[pairs.row[machine, number]] = decision


@inlined
def _drop(pairs: Pairs, machine: int, number: int) -> None:
    """Take a pair out of its list; the others keep their order."""
    pairs.number[machine] -= 1
    pairs.now.pairs -= 1
    for each in range(number, pairs.number[machine]):
        pairs.place[machine, each] = pairs.place[machine, each + 1]
        pairs.score[machine, each] = pairs.score[machine, each + 1]
        pairs.chance[machine, each] = pairs.chance[machine, each + 1]
        pairs.row[machine, each] = pairs.row[machine, each + 1]
