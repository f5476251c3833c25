"""Replays under a network that scores pairs of task and machine, compiled.

Episodes of a training go on side by side, a decision each at a time, so that the network scores the pairs of all of
them at once; what it saw is logged, for the learning that follows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from transom._system.compiling import compiled, inlined
from transom.learned.deepjs.network import Network, forward
from transom.learned.deepjs.pairs import (
    Pairs,
    Seen,
    chosen_pair,
    list_fitting,
    read_scores,
    take_pair,
    write_inputs,
)
from transom.models.arrays import FloatArray, IntArray, SingleArray
from transom.simulation.placement.state import State, next_decision, note_pass
from transom.simulation.placement.stepping import restart

_QUOTA = 200_000  # decisions between two looks at the progress bar


class Log(NamedTuple):
    """What was decided among: ``inputs`` ``(N, 6)``: features of pairs; ``since``, ``until`` ``(N,)``: the first
    decision that had this pair with these features, and the first that had not; and by decision ``(L,)``: ``time`` [s],
    ``chosen``, ``first`` and ``last``: the row that was taken, -1 where nothing was to be chosen, and where the rows of
    the instant begin and those of the decision end."""

    inputs: SingleArray
    since: IntArray
    until: IntArray
    time: IntArray
    chosen: IntArray
    first: IntArray
    last: IntArray


class Episodes(NamedTuple):
    """What episodes that go on side by side need; pairs, log and draws have a place for each of them first.

    ``draws``: in [0, 1), one an instance; ``inputs`` ``(2, pairs, 6)``: what is scored now and next; ``values``: of the
    network's layers.
    """

    pairs: Pairs
    log: Log
    draws: FloatArray
    inputs: SingleArray
    values: SingleArray


def new_log(rows: int, decisions: int) -> Log:
    """Room for so many pairs and decisions."""
    return Log(
        np.empty((rows, 6), np.float32),
        *(np.empty(rows, np.int64) for _ in range(2)),
        *(np.empty(decisions, np.int64) for _ in range(4)),
    )


def longer_log(log: Log) -> Log:
    """The log of several episodes with twice the room for pairs."""
    more = {name: np.concatenate([getattr(log, name)] * 2, axis=1) for name in ("inputs", "since", "until")}
    return log._replace(**more)


@compiled
def decide(
    state: State,
    network: Network,
    sight: Seen,
    pairs: Pairs,
    draws: FloatArray,
    inputs: SingleArray,
    values: SingleArray,
    count: int,
) -> int:
    """Take so many decisions at the instant of the state, or as many as there are; how many.

    Parameters
    ----------
    draws : in [0, 1), one an instance; none to take the pair with the highest score.
    inputs, values : scratch, for all pairs of tasks and machines.
    """
    now, nothing, taken = pairs.now, np.empty(0, np.int64), 0
    while now.pairs > 0 and taken < count:
        if now.pairs > 1:
            write_inputs(state, sight, pairs, inputs, 0)
            read_scores(pairs, values, forward(network, inputs, values, now.listed))
        machine, number = chosen_pair(pairs, draws, state.at.started)
        take_pair(state, pairs, machine, number, nothing)
        taken += 1
    return taken


@compiled
def decide_all(
    state: State,
    network: Network,
    sight: Seen,
    pairs: Pairs,
    draws: FloatArray,
    inputs: SingleArray,
    values: SingleArray,
) -> bool:
    """Replay under a network; False when it is over, True when there is more to do or no room left to record it.

    Parameters
    ----------
    draws : in [0, 1), one an instance; none to take the pair with the highest score.
    inputs, values : scratch, for all pairs of tasks and machines.
    """
    at, now, looked = state.at, pairs.now, 0
    while at.batches + at.concurrent <= len(state.batches):
        if looked > _QUOTA:
            return True
        if not next_decision(state):
            return False
        list_fitting(state, pairs)
        looked += decide(state, network, sight, pairs, draws, inputs, values, now.queued)
        note_pass(state, now.queued)
    return True


@compiled
def play_episodes(
    states: State,
    machines: IntArray,
    instances: IntArray,
    network: Network,
    sight: Seen,
    episodes: Episodes,
    begun: bool,
) -> bool:
    """Go on with all episodes to their ends; False if a log has no room, for which they wait.

    Parameters
    ----------
    states : of :func:`~transom.simulation.placement.stepping.several`.
    machines, instances : what episodes begin with.
    begun : whether to go on with what waits.
    """
    begins, side, count, fresh = np.zeros(len(states.free), np.int64), 0, 0, True
    pairs, log, values = episodes.pairs, episodes.log, episodes.values
    at: Any = states.at  # one for each episode
    places: Any = pairs.now
    while fresh or count >= 0:
        inputs, coming = episodes.inputs[side], episodes.inputs[1 - side]
        scores = values[forward(network, inputs, values, count) :]
        count, going, room = 0, False, True
        for k in range(len(states.free)):
            state = State(
                states.demands, states.free[k], states.duration, states.visible, states.waiting[k], states.running[k],
                states.queue[k], states.heap[k], states.batches[k], states.ends[k], states.log[k], at[k],
            )  # fmt: skip
            here = Pairs(
                pairs.place[k], pairs.number[k], pairs.score[k], pairs.chance[k], pairs.row[k], pairs.total[k],
                pairs.which[k], places[k],
            )  # fmt: skip
            kept = Log(log.inputs[k], log.since[k], log.until[k], log.time[k], log.chosen[k], log.first[k], log.last[k])
            now = here.now
            if fresh and not begun:
                restart(state, machines, instances)
                now.pairs, now.rows = 0, 0
            elif not fresh and now.pairs > 0:
                _decide(state, here, episodes.draws[k], kept, (inputs[begins[k] :], scores[begins[k] :]))
            if now.pairs == 0 and next_decision(state):
                list_fitting(state, here)
            going = going or now.pairs > 0
            room = room and now.rows + len(here.which) <= len(kept.since)
            begins[k] = count
            if now.pairs > 1:
                write_inputs(state, sight, here, coming, count)
                count += now.listed
        if going and not room:
            return False
        if not going:
            count = -1
        side, fresh = 1 - side, False
    return True


@inlined
def _decide(state: State, pairs: Pairs, draws: FloatArray, log: Log, scored: tuple[SingleArray, SingleArray]) -> None:
    """Take one decision, with features and scores of what is listed, and log it."""
    now, decision = pairs.now, state.at.started
    if now.pairs > 1:
        read_scores(pairs, scored[1], 0)
        _keep(pairs, scored[0], log, decision)
    machine, number = chosen_pair(pairs, draws, decision)
    log.time[decision] = state.at.now
    log.first[decision], log.last[decision] = now.first, now.rows
    log.chosen[decision] = pairs.row[machine, number] if now.pairs > 1 else -1
    take_pair(state, pairs, machine, number, log.until)
    if now.pairs == 0:
        note_pass(state, now.queued)


@compiled
def weigh(log: Log, scores: SingleArray, advantages: FloatArray, begin: int, end: int, factors: SingleArray) -> float:
    """By how much the sum of ``advantage x logarithm of the chance of the action`` grows with the score of each pair.

    Parameters
    ----------
    log : of one episode.
    scores : of the rows from ``log.first[begin]`` to ``log.last[end - 1]``, as the network has them now.
    advantages : by decision; those from ``begin`` to ``end - 1`` count.
    factors : filled, as long as ``scores``.

    Returns
    -------
    The sum of the logarithms of the chances.
    """
    first = log.first[begin]
    highest, total = np.full(end - begin, -np.inf), np.zeros(end - begin)
    for row in range(len(scores)):
        for decision in range(max(begin, log.since[first + row]), min(end, log.until[first + row])):
            highest[decision - begin] = max(highest[decision - begin], scores[row])
    likely = 0.0
    for row in range(len(scores)):
        for decision in range(max(begin, log.since[first + row]), min(end, log.until[first + row])):
            total[decision - begin] += np.exp(scores[row] - highest[decision - begin])
    for row in range(len(scores)):
        gained = 0.0
        for decision in range(max(begin, log.since[first + row]), min(end, log.until[first + row])):
            at = decision - begin
            if log.chosen[decision] >= 0:
                gained -= advantages[decision] * np.divide(np.exp(scores[row] - highest[at]), total[at])
                if log.chosen[decision] == first + row:
                    gained += advantages[decision]
                    likely += scores[row] - highest[at] - np.log(total[at])
        factors[row] = gained
    return likely


@inlined
def _keep(pairs: Pairs, inputs: SingleArray, log: Log, decision: int) -> None:
    """Log what has just been scored."""
    for row in range(pairs.now.listed):
        kept = pairs.now.rows
        for each in range(6):
            log.inputs[kept, each] = inputs[row, each]
        log.since[kept] = decision
        pairs.row[pairs.which[row, 0], pairs.which[row, 1]] = kept
        pairs.now.rows = kept + 1
