"""The cheapest starts of a job as candidates: what a network knows of each, and annealing in which it chooses.

What a job costs from every first node follows from sliding over all idle nodes that are left. So a network need not
guess it: it sees the exact cost of the cheapest starts, wherever they lie, what each would leave behind, and what the
next job would cost then.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put
from transom.heuristics.allocation.annealing import (
    Options,
    Schedule,
    Standing,
    accept_or_undo,
    first_nodes,
    take_out,
    temperature_at,
)
from transom.heuristics.allocation.arrays import AllocationArrays, Switches, counting, gather, slide, take
from transom.learned.scorer import ScorerWeights, highest, sample, score, softmax
from transom.models.arrays import FloatArray, IntArray, SingleArray
from transom.models.hop_cost import hop_cost

SCHEMA = "repair-candidates/1"
"""Name and version of what the network sees."""

FEATURES = (
    "cost above the cheapest start, in temperatures, at most 10, / 2.5",
    "cost above the cheapest start / cost of nodes in different pods",
    "cost above that before the step, in temperatures, within 10, / 2.5",
    "cost above that before the step / cost of nodes in different pods",
    "cost / cost of nodes in different pods",
    "1 if the job stood there before the step",
    "place among the cheapest / their number",
    "share of the first node's leaf switch that stays idle",
    "share of the last node's leaf switch that stays idle",
    "share of the first node's pod that stays idle",
    "share of the last node's pod that stays idle",
    "leaf switches at the ends that are broken up / 2",
    "1 if no other job lies between its nodes",
    "1 if it goes on at the head",
    "first node's place among those that are left / their number",
    "cost with the next job, placed where it is then cheapest, above the least, in temperatures, at most 10, / 2.5",
    "cost with the next job, placed where it is then cheapest, above the least / cost of nodes in different pods",
)
"""What is known of each candidate."""

CONTEXT = (
    "decimal logarithm of the temperature / the cost of nodes in different pods, / 4",
    "steps taken / steps",
    "nodes that the jobs that are out ask for / idle nodes that are left",
    "further jobs that are out / 4",
    "nodes of the job / idle nodes that are left",
    "nodes of the next job / nodes of this one, at most 2",
    "natural logarithm of the idle nodes that are left / 7",
    "binary logarithm of the nodes of the job / 6",
    "cost before the step above the best so far, in temperatures, at most 10, / 2.5",
)
"""What is known of the decision."""


class Log(NamedTuple):
    """Decisions of a search and what became of its steps, one after the other; none are kept if there is no room."""

    features: NDArray[np.float32]
    """Shape ``(decisions, candidates, features)``."""
    context: NDArray[np.float32]
    """Shape ``(decisions, numbers)``."""
    number: IntArray
    """Candidates of each decision."""
    action: IntArray
    """Which of them was taken."""
    log_chance: FloatArray
    """Natural logarithm of its chance."""
    step: IntArray
    """The step that the decision belongs to."""
    values: FloatArray
    """Cost before each step, after its repair, and of the best solution after it, shape ``(steps, 3)``."""


def empty_log(decisions: int, candidates: int, steps: int) -> Log:
    """Room for so many decisions and steps."""
    return Log(
        np.zeros((decisions, candidates, len(FEATURES)), np.float32),
        np.zeros((decisions, len(CONTEXT)), np.float32),
        np.zeros(decisions, np.int64),
        np.zeros(decisions, np.int64),
        np.zeros(decisions),
        np.zeros(decisions, np.int64),
        np.zeros((steps, 3)),
    )


class Choice(NamedTuple):
    """How a start is chosen.

    Parameters
    ----------
    scorer : the network.
    candidates : how many of the cheapest starts it chooses among.
    heat : what scores are divided by before one is drawn by the softmax; 0: the highest one is taken.
    """

    scorer: ScorerWeights
    candidates: int
    heat: float


class Returning(NamedTuple):
    """A job that comes back: its number and nodes, its cost before the step, that of nodes in different pods, and the
    temperature.
    """

    job: int
    size: int
    paid: float
    worst: float
    temperature: float


class Ahead(NamedTuple):
    """What is left of Q beside a candidate, what the next job costs there, and each candidate's cost with it."""

    rest: IntArray
    slid: FloatArray
    total: FloatArray


@compiled
def anneal_candidates(
    rng: np.random.Generator,
    standing: Standing,
    ground: AllocationArrays,
    options: Options,
    schedule: Schedule,
    choice: Choice,
    log: Log,
    logged: IntArray,
) -> int:
    """Take steps in which a network chooses among the cheapest starts of what is left of Q.

    Parameters
    ----------
    choice : how a start is chosen.
    log : where decisions are written; nowhere if it has no room.
    logged : decisions that are in the log, shape ``(1,)``; changed in place.

    The others, and what is returned, are those of :func:`transom.heuristics.allocation.left_annealing.anneal_left`.
    """
    owner, costs, _, state = standing
    scorer, candidates, heat = choice
    sizes, switches = ground.sizes, counting(ground)
    n, jobs = len(owner), len(sizes)
    left, before, paid, slid = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(jobs), np.empty(n)
    out, removed = np.empty(jobs, np.int64), np.zeros(jobs, np.bool_)
    starts, scores, chances = np.empty(candidates, np.int64), np.empty(candidates, np.float32), np.empty(candidates)
    features = np.empty((candidates, scorer.features.shape[0]), np.float32)
    context = np.empty(scorer.context.shape[0], np.float32)
    ahead = Ahead(np.empty(n, np.int64), np.empty(n), np.empty(candidates))
    total = ahead.total
    better_at = 0
    for step in range(schedule.first, schedule.end):
        put(before, owner)
        put(paid, costs)
        moved = take_out(rng, owner, out, removed, sizes, options)
        m = gather(owner, left)
        temperature = temperature_at(schedule.temperatures, step, schedule.steps)
        for k in range(moved):
            job, size = out[k], sizes[out[k]]
            last = first_nodes(m, size, options)
            slide(left, m, last, size, switches, slid)
            found = _cheapest(slid, last, starts)
            chosen = 0
            if found > 1:
                worst = max(hop_cost(size, 0, 0, ground.weights), 1e-9)
                returning = Returning(job, size, paid[job], worst, temperature)
                _describe(left[:m], switches, starts[:found], slid, before, returning, features)
                following = sizes[out[k + 1]] if k + 1 < moved else 0
                _look_ahead(left[:m], switches, starts[:found], slid, size, following, options, ahead)
                least = total[:found].min()
                for c in range(found):
                    features[c, 15] = min((total[c] - least) / temperature, 10.0) / 2.5
                    features[c, 16] = (total[c] - least) / worst
                above = paid.sum() - state[0]
                _survey(m, sizes, out[k:moved], returning, step, schedule.steps, above, context)
                score(scorer, features, context, found, scores)
                if heat > 0:
                    for c in range(found):
                        scores[c] /= heat
                    softmax(scores, found, chances)
                    chosen = sample(rng, chances, found)
                else:
                    chosen = highest(scores, found)
                if logged[0] < len(log.action):
                    at = logged[0]
                    log.features[at, :found] = features[:found]
                    log.context[at] = context
                    log.number[at], log.action[at], log.step[at] = found, chosen, step
                    log.log_chance[at] = math.log(chances[chosen])
                    logged[0] += 1
            costs[job] = slid[starts[chosen]]
            m = take(owner, left, m, starts[chosen], size, job)
        if step < len(log.values):
            log.values[step, 0], log.values[step, 1] = paid.sum(), costs.sum()
        if accept_or_undo(rng, standing, before, paid, sizes, options, schedule, step):
            better_at = step - schedule.first + 1
        if step < len(log.values):
            log.values[step, 2] = state[0]
    return better_at


@no_refcount
def _cheapest(slid: FloatArray, last: int, starts: IntArray) -> int:
    """Write the cheapest starts in the order of their costs, of equals the lowest first, and return how many."""
    found = 0
    for start in range(last):
        cost = slid[start]
        if found == len(starts) and cost >= slid[starts[found - 1]]:
            continue
        found = min(found + 1, len(starts))
        place = found - 1
        while place > 0 and slid[starts[place - 1]] > cost:
            starts[place] = starts[place - 1]
            place -= 1
        starts[place] = start
    return found


@no_refcount
def _describe(
    left: IntArray,
    switches: Switches,
    starts: IntArray,
    slid: FloatArray,
    before: IntArray,
    returning: Returning,
    features: SingleArray,
) -> None:
    """Fill the features of the candidates; the counts per leaf switch and pod are zero before and after."""
    leaf, pod, of_leaf, of_pod = switches.leaf, switches.pod, switches.in_leaf, switches.in_pod
    job, size, paid, worst, temperature = returning
    m, found = len(left), len(starts)
    for i in range(m):
        of_leaf[leaf[left[i]]] += 1
        of_pod[pod[left[i]]] += 1
    for c in range(found):
        start = starts[c]
        end = start + size - 1
        end = end if end < m else end - m
        a, b = left[start], left[end]
        above, gain = slid[start] - slid[starts[0]], slid[start] - paid
        head = _same(left, start, size, 1, leaf)
        tail = _same(left, end, size, -1, leaf)
        head_left = (of_leaf[leaf[a]] - head) / of_leaf[leaf[a]]
        tail_left = (of_leaf[leaf[b]] - tail) / of_leaf[leaf[b]]
        row = features[c]
        row[0] = min(above / temperature, 10.0) / 2.5
        row[1] = above / worst
        row[2] = min(max(gain / temperature, -10.0), 10.0) / 2.5
        row[3] = gain / worst
        row[4] = slid[start] / worst
        row[5] = before[a] == job and before[b] == job
        row[6] = c / found
        row[7] = head_left
        row[8] = tail_left
        row[9] = (of_pod[pod[a]] - _same(left, start, size, 1, pod)) / of_pod[pod[a]]
        row[10] = (of_pod[pod[b]] - _same(left, end, size, -1, pod)) / of_pod[pod[b]]
        row[11] = ((head_left > 0) + (tail_left > 0)) / 2
        row[12] = b - a == size - 1
        row[13] = end < start
        row[14] = start / m
    for i in range(m):
        of_leaf[leaf[left[i]]] = 0
        of_pod[pod[left[i]]] = 0


@compiled
def _look_ahead(
    left: IntArray,
    switches: Switches,
    starts: IntArray,
    slid: FloatArray,
    size: int,
    following: int,
    options: Options,
    ahead: Ahead,
) -> None:
    """Fill what candidates cost together with a next job of ``following`` nodes where that is then cheapest, if any."""
    rest, slid_then, total = ahead
    m = len(left)
    for c in range(len(starts)):
        start = starts[c]
        total[c] = slid[start]
        if following == 0:
            continue
        count = 0
        for i in range(max(start + size - m, 0), start):
            rest[count] = left[i]
            count += 1
        for i in range(start + size, m):
            rest[count] = left[i]
            count += 1
        last = first_nodes(count, following, options)
        slide(rest, count, last, following, switches, slid_then)
        total[c] += slid_then[:last].min()


@no_refcount
def _same(left: IntArray, at: int, size: int, way: int, labels: IntArray) -> int:
    """How many entries of a block from one of its ends on bear the same label."""
    m, label, length = len(left), labels[left[at]], 1
    while length < size:
        at += way
        at = 0 if at == m else m - 1 if at < 0 else at
        if labels[left[at]] != label:
            break
        length += 1
    return length


@no_refcount
def _survey(
    m: int,
    sizes: IntArray,
    out: IntArray,
    returning: Returning,
    step: int,
    steps: int,
    above: float,
    context: SingleArray,
) -> None:
    """Fill what is known of a decision."""
    _, size, _, worst, temperature = returning
    asked = 0
    for job in out:
        asked += sizes[job]
    following = sizes[out[1]] if len(out) > 1 else 0
    context[0] = math.log10(temperature / worst) / 4
    context[1] = step / steps
    context[2] = asked / m
    context[3] = (len(out) - 1) / 4
    context[4] = size / m
    context[5] = min(following / size, 2.0)
    context[6] = math.log(m) / 7
    context[7] = math.log2(size) / 6
    context[8] = min(above / temperature, 10.0) / 2.5
