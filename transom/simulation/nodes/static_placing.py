"""The nodes of a finished schedule under ``scas-dp``: instant after instant in one compiled loop.

It gives jobs the nodes that :meth:`~transom.simulation.nodes.allocator.Placer.place` gives them. Every answer of the
solver's kernel goes through a judge, which is compiled too; an instant that the kernel cannot take at once, or whose
answer does not stand, goes to the placer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import sum_of
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import hop_cost
from transom.reductions.packing import distinct_sizes
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.schedule import Schedule
from transom.simulation.nodes.allocator import Allocator, Placed, Placer
from transom.solvers.allocation.scas_dp import CHUNK, ScasDp, solve_small

_INSTANTS = 256  # instants between two looks at the progress bar and Ctrl-C

# Places in Board.at: the next job in the order of starts, the next one in the order of ends, runs so far.
_NEXT, _GONE, _RUNS = range(3)

# Why the loop returned: all jobs are placed, the next instant is for the placer, runs need room, it is time to report.
_DONE, _HARD, _FULL, _PAUSED = range(4)


class Board(NamedTuple):
    """Who holds which nodes, in arrays that grow with the runs.

    ``busy`` ``(nodes,)``; ``begin`` and ``end`` ``(jobs,)``: where each job's runs stand in ``first`` and ``last``, the
    inclusive ends of runs of consecutive nodes; ``cost`` ``(jobs,)``: hop cost of the jobs that the solver placed;
    ``at``: counters.
    """

    busy: BoolArray
    begin: IntArray
    end: IntArray
    first: IntArray
    last: IntArray
    cost: FloatArray
    at: IntArray


class Times(NamedTuple):
    """Jobs in the orders of starts and ends, with their ``start`` and ``end`` [s] and ``sizes`` [nodes]."""

    starting: IntArray
    leaving: IntArray
    start: IntArray
    end: IntArray
    sizes: IntArray


class Terms(NamedTuple):
    """The tree, the weights of the cost, and what else an allocator says.

    ``memory`` of the tables [bytes], ``work`` of one allocation [steps]; ``in_leaf`` and ``in_pod`` are counters of the
    judge, one per leaf switch and pod, 0 between two calls.
    """

    leaf: IntArray
    pod: IntArray
    weights: IntArray
    wrap: bool
    per_job: bool
    memory: int
    work: int
    in_leaf: IntArray
    in_pod: IntArray


class Columns(NamedTuple):
    """What an allocator said at each instant at which jobs started, by ``time`` [s], ascending; the columns of
    :class:`~transom.simulation.nodes.allocator.Placed`."""

    time: IntArray
    jobs: IntArray
    cost: FloatArray
    proved: BoolArray

    def at(self, times: IntArray) -> tuple[IntArray, FloatArray, BoolArray]:
        """Jobs, cost and proof of decisions at these times [s]; none, 0 and yes where no job started."""
        if not len(self.time):
            return np.zeros(len(times), np.int64), np.zeros(len(times)), np.ones(len(times), np.bool_)
        where = np.searchsorted(self.time, times).clip(max=len(self.time) - 1)
        known = self.time[where] == times
        return np.where(known, self.jobs[where], 0), np.where(known, self.cost[where], 0.0), ~known | self.proved[where]


def columns_of(placed: Mapping[int, Placed]) -> Columns:
    """The columns of decisions at each instant, by its time [s]."""
    times = sorted(placed)
    rows = [placed[time] for time in times]
    return Columns(
        np.array(times, np.int64),
        np.array([row.jobs for row in rows], np.int64),
        np.array([row.cost for row in rows], np.float64),
        np.array([row.proved for row in rows], np.bool_),
    )


def takes(placer: Placer) -> bool:
    """Whether a placer's solver is the one whose kernel is called here."""
    return type(placer.solver) is ScasDp and placer.rule == "static" and placer.tree.above is None


def place_static(
    schedule: Schedule,
    placer: Placer,
    placed_by: Callable[[int, IntArray, IntArray], Placed],
    progress: Callable[[int], None],
) -> tuple[NodeRuns, Columns]:
    """Place the jobs of a finished schedule, instant by instant in their order of starts.

    Parameters
    ----------
    schedule : when jobs start and end; ends of an instant come before its starts.
    placer : one that is taken here (:func:`takes`).
    placed_by : the placer's answer of its own, for the time, the jobs and the idle nodes of an instant.
    progress : called with the number of jobs placed so far.

    Returns
    -------
    The nodes of every job, and the columns of the decisions.
    """
    allocator, tree = placer.allocator, placer.tree
    assert isinstance(placer.solver, ScasDp)
    times = Times(
        np.argsort(schedule.order, kind="stable"),
        np.argsort(schedule.end, kind="stable"),
        *(array.copy() for array in (schedule.start, schedule.end, schedule.jobs.nodes)),
    )
    terms = _terms(tree, allocator, min(placer.solver.memory, 2**40) * 2**20)
    board = _new_board(tree.num_nodes, len(schedule))
    hard: dict[int, Placed] = {}
    while True:
        why = _place(board, times, terms, _INSTANTS)
        progress(int(board.at[_NEXT]))
        if why == _DONE:
            return _runs(board), _columns(times, board.cost, allocator.per_job, hard)
        if why == _FULL:
            more = len(board.first) + tree.num_nodes
            board = board._replace(first=_grown(board.first, more), last=_grown(board.last, more))
        if why == _HARD:
            coming = times.starting[board.at[_NEXT] :]
            now = int(times.start[coming[0]])
            together = coming[: np.searchsorted(times.start[coming], now, side="right")]
            hard[now] = placed_by(now, together, np.flatnonzero(~board.busy))
            for job, nodes in zip(together.tolist(), hard[now].nodes, strict=True):
                _take(board, job, nodes)
            board.at[_NEXT] += len(together)


def _terms(tree: FatTree, allocator: Allocator, memory: int) -> Terms:
    in_leaf, in_pod = (np.zeros(int(of.max()) + 1, np.int64) for of in (tree.leaf, tree.pod))
    weights, wrap, per_job = allocator.cost.weights, bool(allocator.wrap), bool(allocator.per_job)
    # Copies: kernels would be compiled once more for arrays that are read-only.
    leaf, pod = tree.leaf.copy(), tree.pod.copy()
    return Terms(leaf, pod, weights, wrap, per_job, memory, CHUNK, in_leaf, in_pod)


def _new_board(nodes: int, jobs: int) -> Board:
    room = 2 * jobs + nodes
    busy, at = np.zeros(nodes, np.bool_), np.zeros(3, np.int64)
    begin, end, first, last = (np.zeros(length, np.int64) for length in (jobs, jobs, room, room))
    return Board(busy, begin, end, first, last, np.zeros(jobs), at)


def _grown(array: IntArray, by: int) -> IntArray:
    return np.concatenate((array, np.zeros(by, np.int64)))


def _take(board: Board, job: int, nodes: IntArray) -> None:
    """Give a job the nodes that the placer found; the loop returned with room for all nodes."""
    cut = np.flatnonzero(np.diff(nodes) != 1)
    begin = int(board.at[_RUNS])
    end = begin + len(cut) + 1
    board.first[begin:end] = nodes[np.concatenate(([0], cut + 1))]
    board.last[begin:end] = nodes[np.append(cut, len(nodes) - 1)]
    board.begin[job], board.end[job], board.at[_RUNS] = begin, end, end
    board.busy[nodes] = True


def _runs(board: Board) -> NodeRuns:
    counts = board.end - board.begin
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    where = np.repeat(board.begin - offsets[:-1], counts) + np.arange(offsets[-1])
    return NodeRuns(offsets, board.first[where], board.last[where])


def _columns(times: Times, cost: FloatArray, per_job: bool, hard: dict[int, Placed]) -> Columns:
    order = times.starting
    instants, begin = np.unique(times.start[order], return_index=True)
    many = times.sizes[order] > 1
    ends = np.append(begin[1:], len(order)).tolist()
    jobs = np.add.reduceat(many, begin, dtype=np.int64) if len(begin) else np.empty(0, np.int64)
    # As the judge adds the costs of an allocation: exactly, and rounded once. Job by job each is one of its own.
    add = sum if per_job else math.fsum
    costs = cost[order].tolist()
    total = np.array([float(add(costs[a:b])) for a, b in zip(begin.tolist(), ends, strict=True)], np.float64)
    proved = np.ones(len(instants), np.bool_)
    for i, now in enumerate(instants.tolist()) if hard else ():
        if now in hard:
            _, jobs[i], total[i], proved[i] = hard[now]
    return Columns(instants, jobs, total, proved)


@compiled
def _place(board: Board, times: Times, terms: Terms, instants: int) -> int:
    """Place jobs from the next instant on, until all are placed or so many instants are; says why it returned."""
    order, start, sizes, busy, at = times.starting, times.start, times.sizes, board.busy, board.at
    jobs, nodes = len(order), len(busy)
    idle, window = np.empty(nodes, np.int64), np.empty(jobs, np.int64)
    while at[_NEXT] < jobs:
        if instants == 0:
            return _PAUSED
        instants -= 1
        begin = until = at[_NEXT]
        now = start[order[begin]]
        while until < jobs and start[order[until]] == now:
            until += 1
        while at[_GONE] < jobs and times.end[times.leaving[at[_GONE]]] <= now:
            _release(board, times.leaving[at[_GONE]])
            at[_GONE] += 1
        runs = at[_RUNS]
        if len(board.first) - runs < nodes:  # no instant gives more runs than there are nodes
            return _FULL
        count = 0
        for node in range(nodes):
            idle[count] = node
            count += not busy[node]
        free = idle[:count]
        if terms.per_job:
            for i in range(begin, until):
                window[0] = order[i]
                if sizes[order[i]] == 1:
                    free = _take_lowest(board, window[:1], free)
                    continue
                found, free = _allocate(board, window[:1], free, sizes, terms)
                if not found:
                    for earlier in range(begin, i):
                        _release(board, order[earlier])
                    at[_RUNS] = runs
                    return _HARD
        else:
            many = 0
            for i in range(begin, until):
                window[many] = order[i]
                many += sizes[order[i]] > 1
            if many:
                found, free = _allocate(board, window[:many], free, sizes, terms)
                if not found:
                    return _HARD
            single = 0
            for i in range(begin, until):
                window[single] = order[i]
                single += sizes[order[i]] == 1
            _take_lowest(board, window[:single], free)
        at[_NEXT] = until
    return _DONE


@compiled
def _allocate(
    board: Board, window: IntArray, idle: IntArray, all_sizes: IntArray, terms: Terms
) -> tuple[bool, IntArray]:
    """Solve, judge and place one allocation; whether that went well, and the idle nodes that are left."""
    sizes = np.empty(len(window), np.int64)
    for w in range(len(window)):
        sizes[w] = all_sizes[window[w]]
    if sum_of(sizes) > len(idle) or not _small(sizes, len(idle), terms.wrap, terms.memory, terms.work):
        return False, idle
    solved, value, owner = solve_small(terms.leaf, terms.pod, idle, sizes, terms.weights, terms.wrap, terms.work)
    if not solved or value == np.inf:
        return False, idle
    costs = _judged(idle, owner, sizes, terms)
    if not abs(sum_of(costs) - value) <= 1e-9 * max(1.0, abs(value)):  # what the judge refuses costs infinitely much
        return False, idle
    begin, end, first, last = board.begin, board.end, board.first, board.last
    # Runs of consecutive nodes are counted, then written, each job's one after the other.
    previous, runs = np.full(len(sizes), -2, np.int64), np.zeros(len(sizes), np.int64)
    for i in range(len(idle)):
        w = owner[i]
        if w >= 0:
            runs[w] += idle[i] != previous[w] + 1
            previous[w] = idle[i]
    for w in range(len(sizes)):
        begin[window[w]] = end[window[w]] = board.at[_RUNS]
        board.at[_RUNS] += runs[w]
        board.cost[window[w]] = costs[w]
    previous[:] = -2
    left = np.empty(len(idle) - sum_of(sizes), np.int64)
    kept = 0
    for i in range(len(idle)):
        w, node = owner[i], idle[i]
        if w < 0:
            left[kept] = node
            kept += 1
            continue
        board.busy[node] = True
        job = window[w]
        if node != previous[w] + 1:
            first[end[job]] = node
            end[job] += 1
        last[end[job] - 1] = previous[w] = node
    return True, left


@compiled
def _small(sizes: IntArray, length: int, wrap: bool, memory: int, work: int) -> bool:
    """Whether the solver takes this allocation (its tables fit into ``memory`` bytes) and solves it at once."""
    distinct, counts = distinct_sizes(sizes)
    slack, states = length - sum_of(sizes), 1
    for count in counts:
        states *= count + 1
        if states * (slack + 1) > work:
            return False
    width = 2 * (slack + distinct[-1]) + slack + 1 if wrap else slack + 1
    return bool(8 * states * width <= memory)


@compiled
def _judged(idle: IntArray, owner: IntArray, sizes: IntArray, terms: Terms) -> FloatArray:
    """The cost of each job from its nodes alone; infinite for all where the answer breaks a condition.

    A job stands if it is met once on the way along Q, which begins between two jobs where Q is a circle.
    """
    refused, costs = np.full(len(sizes), np.inf), np.full(len(sizes), -1.0)
    length, in_leaf, in_pod = len(idle), terms.in_leaf, terms.in_pod
    if len(owner) != length:
        return refused
    for w in owner:
        if w < -1 or w >= len(sizes):
            return refused
    begin = 0
    while terms.wrap and begin < length and owner[begin] == owner[begin - 1]:
        begin += 1
    end = begin + length  # entries beyond the length are those at the head
    i = begin
    while i < end:
        w, first = owner[i if i < length else i - length], i
        leaf_pairs, pod_pairs = 0, 0
        while i < end and owner[i if i < length else i - length] == w:
            if w >= 0:
                node = idle[i if i < length else i - length]
                leaf, pod = terms.leaf[node], terms.pod[node]
                leaf_pairs, pod_pairs = leaf_pairs + in_leaf[leaf], pod_pairs + in_pod[pod]
                in_leaf[leaf] += 1
                in_pod[pod] += 1
            i += 1
        if w < 0:
            continue
        for k in range(first, i):
            node = idle[k if k < length else k - length]
            in_leaf[terms.leaf[node]] = in_pod[terms.pod[node]] = 0
        if i - first != sizes[w] or costs[w] >= 0:
            return refused
        costs[w] = hop_cost(sizes[w], leaf_pairs, pod_pairs, terms.weights)
    for cost in costs:
        if cost < 0:
            return refused
    return costs


@compiled
def _take_lowest(board: Board, window: IntArray, idle: IntArray) -> IntArray:
    """Give jobs of one node the lowest idle ids; what is left of these."""
    for w in range(len(window)):
        run = board.at[_RUNS]
        board.first[run] = board.last[run] = idle[w]
        board.begin[window[w]], board.end[window[w]] = run, run + 1
        board.busy[idle[w]] = True
        board.at[_RUNS] += 1
    return idle[len(window) :]


@compiled
def _release(board: Board, job: int) -> None:
    """Take back the nodes of a job."""
    for run in range(board.begin[job], board.end[job]):
        board.busy[board.first[run] : board.last[run] + 1] = False
