"""A dynamic programme over leaf switches that keeps states of little slack: a beam that becomes a proof."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom._system.records import record, records
from transom.models.arrays import IntArray
from transom.solvers.allocation.free import dp
from transom.solvers.allocation.free.splits import Splits
from transom.solvers.allocation.free.table import Candidate, Field, Layer, Mark, Program, Rounding, States
from transom.solvers.allocation.free.tails import tails
from transom.solvers.allocation.free_bound import Prices
from transom.solvers.allocation.shape import Shape

_WORD = 62  # bits used of a word; the sign stays out of it
_EFFORT = 60_000  # steps between two looks at the clock: a few milliseconds


class Layers:
    r"""States leaf by leaf, within a limit of slack, at most so many in each layer.

    With a price for each node of leaf s, :math:`\lambda_s`, the dual value is

    .. math:: \sum_j \max_a \Bigl[f_j(a) - \sum_s \lambda_s a_s\Bigr] + \sum_s \lambda_s c_s

    and the slack of a solution, how far it stays behind, is the sum of what each job and leaf loses against its own
    maximum: jobs by tables of what is still to be had, leaves one by one.

    Parameters
    ----------
    dual : prices of leaves.
    memory : how many bytes the states may take.
    """

    def __init__(self, dual: Prices, memory: int) -> None:
        shape = dual.shape
        self.shape, self._dual = shape, dual
        leaves, most, types = len(shape.caps), int(shape.sizes.max()), len(shape.sizes)
        pods, pricing = len(shape.first) - 1, dual.pricing
        held = np.add.reduceat(shape.caps, shape.first[:-1])
        pod_of = np.repeat(np.arange(pods), np.diff(shape.first))
        # Pods whose first leaves share a class are alike; they stand side by side.
        run = np.cumsum(np.diff(shape.cls[shape.first[:-1]], prepend=-1) != 0)
        runs = np.stack([np.searchsorted(run, run), np.searchsorted(run, run, side="right")], axis=1)
        prices = dual.best[shape.cls]
        counts = np.concatenate([np.arange(cap + 1) for cap in shape.caps.tolist()])
        values = shape.units[:, None] * (shape.steps[1] * (counts * (counts - 1) // 2))
        values -= np.repeat(prices, shape.caps + 1) * counts
        widest = min(most, int(held.max()))
        inner, outer = np.empty((types, leaves, widest + 1)), np.empty((types, pods + 1, most + 1))
        tails(shape, pricing, values, inner, outer)
        jobs_best = outer[np.arange(types), 0, shape.sizes]
        self.most = float((shape.mult * jobs_best).sum() + prices @ shape.caps)
        """The dual value: no solution saves more."""
        before = np.cumsum(shape.caps) - shape.caps
        before -= before[shape.first[:-1]][pod_of]
        same = np.append((shape.cls[1:] == shape.cls[:-1]) & (pod_of[1:] == pod_of[:-1]), False)
        spans = (shape.sizes[:, None] + 1) * (np.minimum(shape.sizes[:, None], before) + 1)
        memo_at = np.cumsum(spans).reshape(spans.shape) - spans
        if 8 * int(spans.sum()) > memory // 4:
            memo_at = np.full(spans.shape, -1)
        memo = np.full(int(spans.sum()) if memo_at[0, 0] >= 0 else 0, np.nan)
        # Jobs of one type side by side, large ones first.
        self._jobs = np.lexsort((np.arange(len(shape.types)), -shape.types))
        self._program = Program(
            shape, pricing, prices, values, inner, outer, pod_of, same, runs, held[pod_of] - before, memo,
            memo_at, records(Field, len(self._jobs)), record(Mark), record(Mark), _rounding(shape),
            bool((shape.mult > 1).any()),
        )  # fmt: skip
        self.words, self._sum_words = self._pack(widest)
        """Words of a state, and of its savings."""
        self._memory = memory
        self._parent, self._layer = record(dp.Parent), record(Layer)
        self._scratch = self._make_scratch(int(shape.caps.max()) + 1, int(held.max()) + 1)
        self._width, self._tight = 1, False
        self._states = self._empty(1 << 10)

    def splits(self) -> Splits:
        """The search over splits among pods at the same prices."""
        return Splits(self._dual, self._program.inner)

    def begin(self, limit: float, width: int) -> None:
        """Start a pass: states of at most this slack, at most so many in a layer."""
        self._width, self._tight = width, False
        states, layer, sizes = self._states, self._layer, self.shape.sizes[self.shape.types[self._jobs]]
        states.keys[0] = 0
        for field, size in zip(self._program.fields, sizes.tolist(), strict=True):
            states.keys[0, field.word] += size << int(field.shift)
        states.raws[:1], states.sums[0] = states.keys[:1], 0
        states.slack[0] = states.bound[0] = states.rounded[0] = 0.0
        states.parents[0] = -1
        layer.leaf, layer.next, layer.begin, layer.end, layer.count, layer.width = 0, 0, 0, 1, 1, width
        layer.limit, layer.cut, layer.dropped = limit, math.inf, math.inf
        size = 1 << (4 * width).bit_length()
        if len(states.slots) != size:
            self._states = states._replace(slots=np.empty(size, np.int64))
        self._states.slots[:] = -1

    def advance(self) -> bool:
        """Work for a few milliseconds; whether the pass is at its end."""
        leaves, layer, effort = len(self.shape.caps), self._layer, _EFFORT
        while effort > 0:
            if layer.begin == layer.end or layer.leaf == leaves:
                return True
            if layer.next == layer.begin:
                self._room(leaves - int(layer.leaf))
            complete, effort = dp.expand(self._program, self._states, layer, self._scratch, self._parent, effort)
            if complete:
                dp.close_layer(self._states, layer)
        return False

    @property
    def dropped(self) -> float:
        """The least slack of anything within the limit that was given up; infinite if nothing was."""
        return float(self._layer.dropped)

    @property
    def least(self) -> float:
        """The least slack of a solution of the pass; infinite if there is none."""
        begin, end = int(self._layer.begin), int(self._layer.end)
        complete = self._layer.leaf == len(self.shape.caps) and end > begin
        return float(self._states.slack[begin:end].min()) if complete else math.inf

    @property
    def full(self) -> bool:
        """Whether states were given up for want of memory."""
        return self._tight and self.dropped < math.inf

    def solutions(self, most: int = 1000) -> list[IntArray]:
        """The solutions of the pass, best first, as nodes of each job on each leaf."""
        if self._layer.leaf < len(self.shape.caps):
            return []
        begin, end = int(self._layer.begin), int(self._layer.end)
        found = []
        for i in np.argsort(self._states.slack[begin:end], kind="stable")[:most]:
            held = np.zeros((len(self._jobs), len(self.shape.caps)), np.int64)
            dp.trace(self._program, self._states, self._scratch.new, begin + i, held)
            counts = np.empty_like(held)
            counts[self._jobs] = held
            found.append(counts)
        return found

    def _pack(self, widest: int) -> tuple[int, int]:
        # Where in the words of a state each number stands; how many words there are.
        s, program = self.shape, self._program
        jobs, word, used = len(self._jobs), 0, 0
        w1, w2 = (int(step) for step in s.steps)
        whole_units = s.units == np.floor(s.units)

        def place(most: int) -> tuple[int, int, int]:
            nonlocal word, used
            bits = most.bit_length()
            if used + bits > _WORD:
                word, used = word + 1, 0
            used += bits
            return word, used - bits, (1 << bits) - 1

        for field, job in zip(program.fields, self._jobs.tolist(), strict=True):
            field.type = s.types[job]
            size = int(s.sizes[field.type])
            field.word, field.shift, field.mask = place(size)
            field.pod_word, field.pod_shift, field.pod_mask = place(min(size, widest))
        in_runs = np.diff(program.runs, axis=1)[:, 0] > 1
        largest = int(np.add.reduceat(s.caps, s.first[:-1])[in_runs].max(initial=0))
        for mark, base, codes in (
            (program.leaf_mark, int(s.caps.max()) + 1, jobs),
            (program.pod_mark, largest + 1, len(s.sizes) if in_runs.any() else 0),
        ):
            mark.radix = base
            mark.word, mark.shift, mark.mask = place(codes * base)
        words = word + 1
        word, used = 0, 0
        for field in program.fields:
            t, n = int(field.type), int(s.sizes[field.type])
            field.sum_word = -1
            if s.floored and (not whole_units[t] or program.rounding[t].raised):
                field.sum_word, field.sum_shift, field.sum_mask = place((w1 + w2) * (n * (n - 1) // 2))
        return words, word + 1 if used else 0

    def _make_scratch(self, most: int, room: int) -> dp.Scratch:
        # For leaves and pods of less nodes than these.
        jobs, types = len(self._jobs), len(self.shape.sizes)

        def ints(*shape: int) -> IntArray:
            return np.empty(shape, np.int64)

        return dp.Scratch(
            new=Candidate(ints(self.words), ints(self.words), ints(self._sum_words), ints(jobs)),
            active=ints(jobs), need=ints(jobs), held=ints(jobs), totals=ints(types), now=ints(types),
            before=np.empty(jobs), loss=np.empty((2, room)), option=ints(jobs, most), cost=np.empty((jobs, most)),
            options=ints(jobs), suffix=np.empty((jobs + 1, most)), turn=ints(jobs + 1), chosen=ints(jobs + 1),
            left=ints(jobs + 1), spent=np.empty(jobs + 1),
        )  # fmt: skip

    def _room(self, leaves_left: int) -> None:
        # Room for the next layer; where memory is short, what is left is shared out evenly among the layers.
        each = 8 * (self.words * (2 if self._program.alike else 1) + self._sum_words + 4)
        begin, used = int(self._layer.end), int(self._layer.count)
        allowed = max(1 << 10, self._memory // each)
        fair = max(1, (allowed - begin) // (leaves_left + 2))
        if fair < self._width:
            self._layer.width = fair
            self._tight = True
        states = begin + 2 * int(self._layer.width) + 1
        has = len(self._states.slack)
        if states <= has:
            return
        grown = self._empty(max(states, min(2 * has, allowed)))
        for old, new in zip(self._states[:-1], grown[:-1], strict=True):
            if len(new):
                new[:used] = old[:used]
        self._states = grown._replace(slots=self._states.slots)

    def _empty(self, size: int) -> States:
        return States(
            np.empty((size, self.words), np.int64),
            np.empty((size if self._program.alike else 0, self.words), np.int64),
            np.empty((size, self._sum_words), np.int64),
            np.empty(size), np.empty(size), np.empty(size),
            np.empty(size, np.int64),
            np.empty(size),
            np.empty(0, np.int64),
        )  # fmt: skip


def _rounding(shape: Shape) -> NDArray[Any]:
    """What rounding does to a job of each type; of use where costs are rounded."""
    h3, w1, w2, c, _ = shape.weights.tolist()
    rows = records(Rounding, len(shape.sizes))
    for t, n in enumerate(shape.sizes.tolist()):
        hops = h3 * (n * (n - 1) // 2)
        free = hops - (n - 1) // c  # c times the hops that are left is less than n
        raised = free <= (w1 + w2) * (n * (n - 1) // 2)
        rows[t] = c * hops % n, c % n, n - math.gcd(c, n), n, free, raised
    return rows
