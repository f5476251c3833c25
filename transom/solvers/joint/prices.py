"""A Lagrangian bound on joint choices: a price on the idle nodes of each leaf switch, each job for itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.joint import Joint
from transom.solvers.joint.tree import Tables, Tree, joint_tree, look_outside, price, tables_for, trace

_SLACK = 1e-9  # relative, of sums in floating point
_PATIENCE = 12  # steps without progress before they become shorter
_SHORTER = 0.6
_SHORTEST = 5e-3
_PER_STEP = 1e-9  # seconds of an inner step of pricing, about
_CHUNK = 0.002  # seconds between two looks at the clock
_TOLLS = 4  # tries to keep a limit on leaf switches
_CELLS = 4_000_000  # of the knapsack of jobs, at most


class Kinds(NamedTuple):
    """Jobs of one size and limit: they see the same prices and differ in weight."""

    sizes: IntArray
    units: FloatArray  # worth of a saved hop
    base: FloatArray  # what a start costs where no hop is saved, less what rounding may take off
    limits: FloatArray  # on leaf switches, infinite where there is none
    first: IntArray  # jobs of kind t are ``jobs[first[t] : first[t + 1]]``
    jobs: IntArray
    weights: FloatArray  # of the job at each place of ``jobs``
    must: BoolArray


class State(NamedTuple):
    """Prices and what a job of each kind takes at them."""

    prices: FloatArray  # of each class of leaf switches
    tolls: FloatArray  # of each kind, for a leaf switch, where its jobs have limits
    bests: FloatArray  # worth of the best placement of each kind, before weight and base
    takes: FloatArray  # its nodes on leaf switches of each class, (kinds, classes)
    spans: FloatArray  # its leaf switches


class Prices:
    r"""The dual function of joint choices and subgradient steps on it.

    .. math:: \sum_s \lambda_s c_s + \max_{S: \sum_{j \in S} n_j \le \sum_s c_s} \sum_{j \in S}
              \max_a \bigl[w_j - \lambda C(a) - \sum_s \lambda_s a_s - \mu_j (|\{s: a_s > 0\}| - \ell_j)\bigr]

    The inner maximum is a knapsack from leaf switches up to the core, the outer one the knapsack of jobs into all idle
    nodes: without it a job could start in part. (Where its table would be too large, any jobs may start.) Leaf switches
    that the automorphisms of the tree exchange share a price.

    Parameters
    ----------
    problem : with at least one job and one idle node.

    Attributes
    ----------
    least : the least dual value so far.
    evaluated : whether the last step was complete, so that there is something to round.

    References
    ----------
    Polyak (1969); Camerini, Fratta and Maffioli (1975); Held and Karp (1971) for fixing by reduced costs.
    """

    def __init__(self, problem: Joint) -> None:
        self.problem = problem
        self.tree, self.leaf = joint_tree(problem)
        self.kinds = _kinds(problem, int(self.tree.room[-1]))
        self.tables = tables_for(self.tree, int(self.kinds.sizes.max(initial=0)))
        classes, kinds = int(self.tree.cls.max()) + 1, len(self.kinds.sizes)
        self.state = State(
            np.zeros(classes), np.zeros(kinds), np.zeros(kinds), np.zeros((kinds, classes)), np.zeros(kinds)
        )
        self._members = np.bincount(self.tree.cls[self.tree.cls >= 0]).astype(float)
        self._rooms = np.zeros(classes)
        np.add.at(self._rooms, self.tree.cls[self.tree.cls >= 0], self.tree.room[self.tree.cls >= 0])
        self.least, self._best = math.inf, (self.state.prices.copy(), self.state.tolls.copy())
        self._direction = (np.zeros(classes), np.zeros(kinds))
        self._factor, self._poor, self._norm = 1.0, 0, 0.0
        self.converged = self.evaluated = False
        self.whole_jobs = len(self.kinds.jobs) * int(self.tree.room[-1]) <= _CELLS
        """Whether the jobs that start together have to fit."""
        self._credit = np.where(np.isfinite(self.kinds.limits), self.kinds.limits, 0.0)
        self._kind = np.repeat(np.arange(kinds), np.diff(self.kinds.first))
        self._nodes = self.kinds.sizes[self._kind]
        room = np.minimum(self.tree.room[None, :], self.kinds.sizes[:, None])
        reach = np.minimum(self.tree.reach[None, :], self.kinds.sizes[:, None])
        self._seconds = _PER_STEP * (room * reach).sum(axis=1)
        """What pricing a job of each kind takes, about [s]."""

    @property
    def seconds(self) -> float:
        """What a step takes, about [s]."""
        return float(self._seconds.sum())

    @property
    def bound(self) -> float:
        """No solution is worth more."""
        scale = float(np.abs(self.kinds.weights).sum() + np.abs(self.kinds.base).sum())
        safe = self.least + _SLACK * (abs(self.least) + scale)
        return math.floor(safe) if self.problem.whole and math.isfinite(safe) else safe

    def begin(self, price: float) -> None:
        """Start from a price for all nodes, where it is not the knapsack of jobs that keeps them."""
        self.state.prices[:] = 0.0 if self.whole_jobs else max(0.0, price)

    def step(self, target: float, ended: Callable[[], bool]) -> bool:
        """Take a step towards a value that is known to be reached; whether there may be more to gain.

        ``ended`` is asked every few milliseconds whether to give up.
        """
        if self.converged:
            return False
        value = self._evaluate(ended)
        self.evaluated = value is not None
        if value is None:
            return False
        if value < self.least:
            self._poor = 0 if value < self.least - 1e-4 * max(0.0, self.least - target) else self._poor + 1
            self.least, self._best = value, (self.state.prices.copy(), self.state.tolls.copy())
        else:
            self._poor += 1
        if self.least <= target:
            self.converged = True
        elif self._poor >= _PATIENCE:
            self._factor *= _SHORTER
            self._poor, self._norm = 0, 0.0
            self._back()
            self.converged = self._factor < _SHORTEST
        else:
            self._move(value, target)
        return not self.converged

    def _back(self) -> None:
        self.state.prices[:], self.state.tolls[:] = self._best

    def _evaluate(self, ended: Callable[[], bool]) -> float | None:
        """The dual value; what the started jobs use and have left of their limits is kept for the step."""
        state, kinds = self.state, self.kinds
        nodes = np.empty(len(self.tree.room), np.int64)
        begin, work = 0, 0.0
        for end in range(1, len(kinds.sizes) + 1):
            work += self._seconds[end - 1]
            if work < _CHUNK and end < len(kinds.sizes):
                continue
            evaluate(self.tree, self.tables, kinds, state, nodes, (begin, end))
            begin, work = end, 0.0
            if end < len(kinds.sizes) and ended():
                return None
        gains = self._gains()
        if self.whole_jobs:
            inner, started = packed(gains, self._nodes, kinds.must, int(self.tree.room[-1]))
        else:
            started = kinds.must | (gains > 0)
            inner = float(gains[started].sum())
        self._started = started
        count = np.bincount(self._kind[started], minlength=len(kinds.sizes)).astype(float)
        self._used, self._spare = count @ state.takes, count * (self._credit - state.spans)
        self._spare[~np.isfinite(kinds.limits)] = 0.0
        return float(state.prices @ self._rooms) + inner

    def _gains(self) -> FloatArray:
        """What a start of each job brings at the prices, at the places of ``kinds.jobs``."""
        kinds, state = self.kinds, self.state
        of_kind = state.bests - kinds.base + state.tolls * self._credit
        gains: FloatArray = kinds.weights + of_kind[self._kind]
        return gains

    def _move(self, value: float, target: float) -> None:
        state, members = self.state, self._members
        slopes = ((self._rooms - self._used) / members, self._spare)
        for slope, now in zip(slopes, (state.prices, state.tolls), strict=True):
            slope[(now <= 0) & (slope > 0)] = 0.0
        weights = (members, np.ones(len(state.tolls)))
        across = sum(float(w @ (s * d)) for w, s, d in zip(weights, slopes, self._direction, strict=True))
        square = sum(float(w @ (s * s)) for w, s in zip(weights, slopes, strict=True))
        if square == 0.0:
            self.converged = True
            return
        deflect = -1.5 * across / self._norm if self._norm and across < 0 else 0.0
        self._direction = tuple(s + deflect * d for s, d in zip(slopes, self._direction, strict=True))
        self._norm = sum(float(w @ (d * d)) for w, d in zip(weights, self._direction, strict=True))
        gap = self.least - target
        length = self._factor * (min(value - self.least, gap) + gap) / self._norm
        for now, direction in zip((state.prices, state.tolls), self._direction, strict=True):
            np.maximum(0.0, now - length * direction, out=now)

    def rounded(self) -> IntArray:
        """Nodes of each job on each leaf switch, ``(jobs, leaves)``: jobs take their best choices of what is left.

        Those that the dual function starts come first, mandatory and large ones before others; then the rest by what
        they bring for a node at the prices. Mandatory jobs and jobs with limits may be left out.
        """
        kinds, gains = self.kinds, self._gains()
        rank = np.where(kinds.must, 0, np.where(self._started, 1, 2))
        order = np.lexsort((-gains / self._nodes, np.where(rank < 2, -self._nodes, 0), rank))
        tree = self.tree._replace(room=self.tree.room.copy(), reach=self.tree.reach.copy())
        counts = np.zeros((len(self.problem), int(self.leaf.max()) + 1), np.int64)
        place_all(tree, self.tables, kinds, self.state, self._kind, order, counts)
        return counts

    def losses(self, ended: Callable[[], bool]) -> Losses | None:
        """What each choice loses against the least dual value, as :class:`Losses` says; None if it was given up."""
        self._back()
        kinds, state, jobs = self.kinds, self.state, len(self.problem)
        below: list[FloatArray] = []
        for t, size in enumerate(kinds.sizes.tolist()):
            unit, toll = float(kinds.units[t]), float(state.tolls[t])
            state.bests[t] = price(self.tree, self.tables, size, unit, state.prices, toll)
            look_outside(self.tree, self.tables, size, unit)
            inside = np.where(np.arange(size + 1) > self.tree.room[:, None], 0.0, self.tables.inside[:, : size + 1])
            below.append(state.bests[t] - inside - self.tables.outside[:, : size + 1])
            if ended():
                return None
        gains = self._gains()
        if self.whole_jobs:
            most, without, within = forced(gains, self._nodes, kinds.must, int(self.tree.room[-1]))
        else:
            taken = np.where(kinds.must | (gains > 0), gains, 0.0)
            most = float(taken.sum())
            without, within = np.where(kinds.must, -np.inf, most - taken), most - taken + gains
        waits, starts, kind = np.zeros(jobs), np.full(jobs, np.inf), np.full(jobs, -1)
        waits[kinds.jobs], starts[kinds.jobs], kind[kinds.jobs] = most - without, most - within, self._kind
        return Losses(float(state.prices @ self._rooms) + most, waits, starts, kind, below)


class Losses(NamedTuple):
    """By how much solutions stay behind a dual value at least.

    A solution with a job that waits, that starts, or that starts with b nodes below switch v is worth at most
    ``value`` less ``waits[j]``, less ``starts[j]``, less ``starts[j] + below[kind[j]][v, b]``.
    """

    value: float
    waits: FloatArray
    starts: FloatArray
    kind: IntArray  # -1 for jobs that never fit
    below: list[FloatArray]


def _kinds(problem: Joint, idle: int) -> Kinds:
    limited = problem.limits < np.minimum(problem.sizes, len(np.unique(problem.levels[0])))
    limits = np.where(limited, problem.limits, np.inf)
    fits = np.flatnonzero(problem.sizes <= idle)
    order = fits[np.lexsort((limits[fits], problem.sizes[fits]))]
    keys = np.column_stack((problem.sizes[order], limits[order]))
    new = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1))) if len(order) else np.empty(0, np.int64)
    sizes = problem.sizes[order][new]
    h_top, _, _, c, floored = problem.hop_weights.tolist()
    units = problem.cost_weight * c / sizes
    base = units * h_top * (sizes * (sizes - 1) // 2)
    if floored:
        base -= problem.cost_weight * (1 - np.gcd(c, sizes) / sizes)
        base[sizes == 1] = 0.0
    return Kinds(
        sizes.astype(np.int64), units, base, limits[order][new], np.append(new, len(order)).astype(np.int64), order,
        problem.weights[order].astype(float), problem.must[order],
    )  # fmt: skip


@compiled
def evaluate(tree: Tree, tables: Tables, kinds: Kinds, state: State, nodes: IntArray, span: tuple[int, int]) -> None:
    """Fill in ``bests``, ``takes`` and ``spans`` of the kinds from one up to another; ``nodes`` is scratch, (V,)."""
    for t in range(span[0], span[1]):
        size = kinds.sizes[t]
        state.bests[t] = price(tree, tables, size, kinds.units[t], state.prices, state.tolls[t])
        trace(tree, tables, size, nodes)
        state.takes[t] = 0.0
        state.spans[t] = 0.0
        for v in range(len(nodes)):
            if tree.cls[v] >= 0 and nodes[v] > 0:
                state.takes[t, tree.cls[v]] += nodes[v]
                state.spans[t] += 1.0


@compiled
def place_all(
    tree: Tree, tables: Tables, kinds: Kinds, state: State, kind: IntArray, order: IntArray, counts: IntArray
) -> None:
    """Start jobs in an order, at places of ``kinds.jobs``, each at its best in what is left, if that pays.

    ``tree.room`` and ``tree.reach`` become what is left at the end; ``counts`` is filled in, shape ``(jobs, leaves)``.
    """
    nodes = np.empty(len(tree.room), np.int64)
    for k in order:
        t = kind[k]
        size, toll = kinds.sizes[t], state.tolls[t]
        if size > tree.room[-1]:
            continue
        for _ in range(_TOLLS):
            price(tree, tables, size, kinds.units[t], state.prices, toll)
            trace(tree, tables, size, nodes)
            spans, saved = 0, 0.0
            for v in range(len(nodes)):
                spans += tree.cls[v] >= 0 and nodes[v] > 0
                saved += tree.saves[v] * (nodes[v] * (nodes[v] - 1) // 2)
            if spans <= kinds.limits[t]:
                break
            toll = 4.0 * toll + kinds.base[t] + 1.0
        gain = kinds.weights[k] - kinds.base[t] + kinds.units[t] * saved
        if spans > kinds.limits[t] or (gain <= 0.0 and not kinds.must[k]):
            continue
        for v in range(len(nodes)):
            tree.room[v] -= nodes[v]
            tree.reach[v] = tree.room[v] + (tree.reach[tree.before[v]] if tree.before[v] >= 0 else 0)
            if tree.leaf[v] >= 0:
                counts[kinds.jobs[k], tree.leaf[v]] = nodes[v]


@compiled
def _fill(gains: FloatArray, sizes: IntArray, must: BoolArray, best: FloatArray) -> None:
    """``best[j, c]``: the most that the first j jobs bring in at most c nodes, shape ``(jobs + 1, nodes + 1)``."""
    best[0] = 0.0
    for j in range(len(gains)):
        old, new, size = best[j], best[j + 1], sizes[j]
        for c in range(len(old)):
            new[c] = -np.inf if must[j] else old[c]
        if must[j] or gains[j] > 0.0:
            for c in range(size, len(old)):
                x = old[c - size] + gains[j]
                new[c] = x if x > new[c] else new[c]


@compiled
def packed(gains: FloatArray, sizes: IntArray, must: BoolArray, room: int) -> tuple[float, BoolArray]:
    """The most that jobs bring that fit into so many nodes together, and which these are."""
    best = np.empty((len(gains) + 1, room + 1))
    _fill(gains, sizes, must, best)
    started, left = np.zeros(len(gains), np.bool_), room
    for j in range(len(gains) - 1, -1, -1):
        if must[j] or best[j + 1, left] > best[j, left]:
            started[j] = True
            left -= sizes[j]
    return float(best[len(gains), room]), started


@compiled
def forced(gains: FloatArray, sizes: IntArray, must: BoolArray, room: int) -> tuple[float, FloatArray, FloatArray]:
    """As :func:`packed`, with the most where each job waits and where it starts; minus infinity where it may not."""
    jobs = len(gains)
    ahead, back = np.empty((jobs + 1, room + 1)), np.empty((jobs + 1, room + 1))
    _fill(gains, sizes, must, ahead)
    _fill(gains[::-1].copy(), sizes[::-1].copy(), must[::-1].copy(), back)
    without, within = np.full(jobs, -np.inf), np.full(jobs, -np.inf)
    for j in range(jobs):
        before, after = ahead[j], back[jobs - 1 - j]
        for c in range(room + 1):
            if not must[j]:
                without[j] = max(without[j], before[c] + after[room - c])
            if c + sizes[j] <= room:
                within[j] = max(within[j], before[c] + gains[j] + after[room - c - sizes[j]])
    return float(ahead[jobs, room]), without, within
