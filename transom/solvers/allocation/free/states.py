"""A dynamic programme over leaf switches that keeps states of little slack: a beam that becomes a proof."""

from __future__ import annotations

import math

import numpy as np

from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.free import dp, table
from transom.solvers.allocation.free.splits import Splits
from transom.solvers.allocation.free_bound import Prices
from transom.solvers.allocation.shape import Shape

_WORD = 62  # bits used of a word; the sign stays out of it
_EFFORT = 60_000  # steps between two looks at the clock: a few milliseconds


class Layers:
    r"""States leaf by leaf, within a limit of slack, at most so many in each layer.

    With a price for each node of leaf s, :math:`\lambda_s`, and payments :math:`\nu_{jp}(b)` of job j for b nodes in
    pod p, the dual value is

    .. math:: \sum_j \max_a \Bigl[f_j(a) - \sum_s \lambda_s a_s - \sum_p \nu_{jp}(b_p)\Bigr] + \sum_s \lambda_s c_s
              + \sum_p \max_{\sum_j b_j \le \sum_{s \in p} c_s} \sum_j \nu_{jp}(b_j)

    and the slack of a solution, how far it stays behind, is the sum of what each job, leaf and pod loses against its
    own maximum: jobs by tables of what is still to be had, leaves and pods one by one.

    Parameters
    ----------
    dual : prices of leaves and payments to pods.
    memory : how many bytes the states may take.
    """

    def __init__(self, dual: Prices, memory: int) -> None:
        shape = dual.shape
        self.shape, self._dual = shape, dual
        leaves, most = len(shape.caps), int(shape.sizes.max())
        pods = len(shape.first) - 1
        held = np.add.reduceat(shape.caps, shape.first[:-1])
        self._pod_of = np.repeat(np.arange(pods), np.diff(shape.first))
        self._at, self._pod_at, self._worth = dual.pricing.at, dual.pricing.pod_at, dual.pricing.worth
        # Pods whose first leaves share a class are alike; they stand side by side.
        run = np.cumsum(np.diff(shape.cls[shape.first[:-1]], prepend=-1) != 0)
        self._runs = np.stack([np.searchsorted(run, run), np.searchsorted(run, run, side="right")], axis=1)
        self._prices = dual.best[shape.cls]
        counts = np.concatenate([np.arange(cap + 1) for cap in shape.caps.tolist()])
        self._values = shape.units[:, None] * (shape.steps[1] * (counts * (counts - 1) // 2))
        self._values -= np.repeat(self._prices, shape.caps + 1) * counts
        widest = min(most, int(held.max()))
        self._inner = np.empty((len(shape.sizes), leaves, widest + 1))
        self._outer = np.empty((len(shape.sizes), pods + 1, most + 1))
        pay = dual.pay
        dp.tails(
            shape.sizes,
            shape.caps,
            shape.first,
            self._at,
            self._values,
            self._pod_at,
            self._worth,
            pay,
            self._inner,
            self._outer,
        )
        self._pod_bests = np.zeros(pods)
        if pay.any():
            dp.pod_best(shape.types, shape.sizes, self._pod_at, pay, self._pod_bests)
        jobs_best = self._outer[np.arange(len(shape.sizes)), 0, shape.sizes]
        self.most = float((shape.mult * jobs_best).sum() + self._prices @ shape.caps + self._pod_bests.sum())
        """The dual value: no solution saves more."""
        before = np.cumsum(shape.caps) - shape.caps
        before -= before[shape.first[:-1]][self._pod_of]
        self._rooms = held[self._pod_of] - before
        self._same = np.append((shape.cls[1:] == shape.cls[:-1]) & (self._pod_of[1:] == self._pod_of[:-1]), False)
        spans = (shape.sizes[:, None] + 1) * (np.minimum(shape.sizes[:, None], before) + 1)
        self._memo_at = np.cumsum(spans).reshape(spans.shape) - spans
        if 8 * int(spans.sum()) > memory // 4:
            self._memo_at = np.full(spans.shape, -1)
        self._memo = np.full(int(spans.sum()) if self._memo_at[0, 0] >= 0 else 0, np.nan)
        # Jobs of one type side by side, large ones first.
        self._jobs = np.lexsort((np.arange(len(shape.types)), -shape.types))
        self._rounding = _rounding(shape)
        self._pack(widest)
        self._alike = bool((shape.mult > 1).any())
        self._memory = memory
        self._table = np.full(1 << 10, -1)
        self._whole = np.zeros(8, np.int64)
        self._real = np.zeros(3)
        self._width, self._tight = 1, False
        self._states = self._empty(1 << 10)

    def splits(self) -> Splits:
        """The search over splits among pods at the same prices; without payments."""
        return Splits(self._dual, self._inner)

    def begin(self, limit: float, width: int) -> None:
        """Start a pass: states of at most this slack, at most so many in a layer."""
        self._width, self._tight = width, False
        keys = self._states[0]
        keys[0] = 0
        for j, job in enumerate(self._jobs):
            field = self._fields[j]
            keys[0, field[table.WORD]] += int(self.shape.sizes[self.shape.types[job]]) << int(field[table.SHIFT])
        self._states[1][:1] = keys[:1]
        self._states[2][0] = 0
        self._states[3][0] = 0.0
        self._states[4][0] = -1
        self._whole[:] = 0
        self._whole[[table.END, table.COUNT, table.WIDTH, table.WIDEST]] = 1, 1, width, 1
        self._real[:] = limit, math.inf, math.inf
        size = 1 << (4 * width).bit_length()
        if len(self._table) != size:
            self._table = np.full(size, -1)
        else:
            self._table[:] = -1

    def advance(self) -> bool:
        """Work for a few milliseconds; whether the pass is at its end."""
        s, whole = self.shape, self._whole
        effort = _EFFORT
        while effort > 0:
            if whole[table.BEGIN] == whole[table.END] or whole[table.LEAF] == len(s.caps):
                return True
            if whole[table.NEXT] == whole[table.BEGIN]:
                self._room(len(s.caps) - int(whole[table.LEAF]))
            complete, effort = dp.expand(
                s.caps, s.first, self._pod_of, self._same, self._runs, self._rooms, s.sizes, s.steps, self._at,
                self._values, self._prices, self._pod_at, self._worth, self._pod_bests, self._inner, self._outer,
                self._memo, self._memo_at, self._fields, self._alike, *self._states, self._table, self._rounding,
                whole, self._real, effort,
            )  # fmt: skip
            if complete:
                dp.close_layer(*self._states, self._table, whole, self._real)
        return False

    @property
    def dropped(self) -> float:
        """The least slack of anything within the limit that was given up; infinite if nothing was."""
        return float(self._real[table.DROPPED])

    @property
    def least(self) -> float:
        """The least slack of a solution of the pass; infinite if there is none."""
        begin, end = int(self._whole[table.BEGIN]), int(self._whole[table.END])
        complete = self._whole[table.LEAF] == len(self.shape.caps) and end > begin
        return float(self._states[3][begin:end, 0].min()) if complete else math.inf

    @property
    def full(self) -> bool:
        """Whether states were given up for want of memory."""
        return self._tight and self.dropped < math.inf

    @property
    def widest(self) -> int:
        """The most states of a layer."""
        return int(self._whole[table.WIDEST])

    def lower_limit(self, limit: float) -> None:
        """States of more slack are of no interest any more."""
        self._real[table.LIMIT] = min(self._real[table.LIMIT], limit)

    def solutions(self, most: int = 1000) -> list[IntArray]:
        """The solutions of the pass, best first, as nodes of each job on each leaf."""
        if self._whole[table.LEAF] < len(self.shape.caps):
            return []
        begin, end = int(self._whole[table.BEGIN]), int(self._whole[table.END])
        slacks = self._states[3][begin:end, 0]
        found = []
        for i in np.argsort(slacks, kind="stable")[:most]:
            held = np.zeros((len(self._jobs), len(self.shape.caps)), np.int64)
            keys, raws, sums, _, parents = self._states
            dp.trace(begin + i, len(self.shape.caps), keys, raws, sums, parents, self._fields, self._same, held)
            counts = np.empty_like(held)
            counts[self._jobs] = held
            found.append(counts)
        return found

    def _pack(self, widest: int) -> None:
        # Where in the words of a state each number stands.
        s = self.shape
        self._fields = np.zeros((len(self._jobs) + 2, 10), np.int64)
        word, used = 0, 0
        base = int(s.caps.max()) + 1
        w1, w2 = (int(step) for step in s.steps)
        whole_units = s.units == np.floor(s.units)

        def place(most: int) -> tuple[int, int, int]:
            nonlocal word, used
            bits = most.bit_length()
            if used + bits > _WORD:
                word, used = word + 1, 0
            used += bits
            return word, used - bits, (1 << bits) - 1

        for j, job in enumerate(self._jobs):
            t = int(s.types[job])
            self._fields[j, table.TYPE] = t
            self._fields[j, table.WORD : table.MASK + 1] = place(int(s.sizes[t]))
            self._fields[j, table.POD_WORD : table.POD_MASK + 1] = place(min(int(s.sizes[t]), widest))
        self._fields[-2, table.TYPE] = base
        self._fields[-2, table.WORD : table.MASK + 1] = place(len(self._jobs) * base)
        in_runs = np.diff(self._runs, axis=1)[:, 0] > 1
        base = 1 + int(np.add.reduceat(s.caps, s.first[:-1])[in_runs].max(initial=0))
        self._fields[-1, table.TYPE] = base
        self._fields[-1, table.WORD : table.MASK + 1] = place(len(s.sizes) * base if in_runs.any() else 0)
        self.words = word + 1
        """Words of a state."""
        word, used = 0, 0
        for j, job in enumerate(self._jobs):
            t, n = int(s.types[job]), int(s.sizes[s.types[job]])
            self._fields[j, table.SUM_WORD] = -1
            if s.floored and (not whole_units[t] or self._rounding[t, table.RAISED]):
                self._fields[j, table.SUM_WORD :] = place((w1 + w2) * (n * (n - 1) // 2))
        self._sum_words = word + 1 if used else 0

    def _room(self, leaves_left: int) -> None:
        # Room for the next layer; where memory is short, what is left is shared out evenly among the layers.
        each = 8 * (self.words * (2 if self._alike else 1) + self._sum_words + 4)
        begin, used = int(self._whole[table.END]), int(self._whole[table.COUNT])
        allowed = max(1 << 10, self._memory // each)
        fair = max(1, (allowed - begin) // (leaves_left + 2))
        if fair < self._width:
            self._whole[table.WIDTH] = fair
            self._tight = True
        states = begin + 2 * int(self._whole[table.WIDTH]) + 1
        has = len(self._states[3])
        if states <= has:
            return
        size = max(states, min(2 * has, allowed))
        grown = self._empty(size)
        for old, new in zip(self._states, grown, strict=True):
            if len(new):
                new[:used] = old[:used]
        self._states = grown

    def _empty(self, size: int) -> tuple[IntArray, IntArray, IntArray, FloatArray, IntArray]:
        return (
            np.empty((size, self.words), np.int64),
            np.empty((size if self._alike else 0, self.words), np.int64),
            np.empty((size, self._sum_words), np.int64),
            np.empty((size, 3)),
            np.empty(size, np.int64),
        )


def _rounding(shape: Shape) -> IntArray:
    """What rounding does to a job of each type, columns as in ``_free_table``; of use where costs are rounded."""
    h3, w1, w2, c, _ = shape.weights.tolist()
    rows = []
    for n in shape.sizes.tolist():
        hops = h3 * (n * (n - 1) // 2)
        free = hops - (n - 1) // c  # c times the hops that are left is less than n
        raised = free <= (w1 + w2) * (n * (n - 1) // 2)
        rows.append([c * hops % n, c % n, n - math.gcd(c, n), n, free, raised])
    return np.array(rows, np.int64)
