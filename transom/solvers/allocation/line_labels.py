r"""Label setting along the line over (entry, blocks left of each size), bounded by prices.

What a label has lost against the shortest priced path, its *slack*, is what any packing that goes on
from it costs above the dual bound at least. Labels whose slack exceeds a limit are dropped: the best
packing within the limit is then found, or there is none. Where an entry has more labels than are
wanted, those with the least slack less a reward for the nodes already placed are kept, and the search
is only a heuristic, a *beam*. The reward decides where many blocks cost nothing extra.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled, no_refcount
from transom._system.records import record
from transom._system.sorting import put
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.block_dp import Blocks
from transom.solvers.allocation.line_prices import Arcs, tight_arcs
from transom.solvers.allocation.rank import smallest

GOING, FINISHED, FULL, STOPPED = 0, 1, 2, 3  # why a sweep returns
_HASH = -7046029254386353131


class Beam(NamedTuple):
    """Which labels are kept.

    Parameters
    ----------
    limit : the largest slack of a label.
    width : the most labels of an entry.
    reward : what a node that is placed is worth where labels are compared, >= 0.
    whole : stop where more than ``width`` labels would be needed, instead of dropping some.
    """

    limit: float
    width: int
    reward: float
    whole: bool


class Labels(NamedTuple):
    """Labels, shape ``(labels,)``."""

    slack: FloatArray
    score: FloatArray
    parent: NDArray[np.int32]
    row: NDArray[np.int32]  # of the block that ends at the entry, -1 if none does
    entry: NDArray[np.int32]
    left: NDArray[np.int32]  # nodes of the blocks left
    keys: IntArray  # blocks left of each size, (labels, words)


class Fields(NamedTuple):
    """Where the blocks left of each size stand in a key; the sizes of which no block begins at an entry or later."""

    word: IntArray
    shift: IntArray
    mask: IntArray
    dead: IntArray  # (length + 1, words)


class Line(NamedTuple):
    """What is swept; of each entry the first label, that after the last, and the entry that they stand at."""

    sizes: IntArray
    arcs: Arcs
    back: FloatArray
    first: IntArray
    end: IntArray
    at: IntArray


class Progress:
    """The entry that is done, labels in use, whether any were dropped."""

    entry: int
    used: int
    cut: bool


class Sweep:
    """One sweep of the line from left to right.

    Parameters
    ----------
    blocks : as in :class:`Prices`.
    potentials : what :meth:`Prices.potentials` gave.
    beam : which labels are kept.
    memory : most memory for labels [bytes].
    """

    def __init__(
        self, blocks: Blocks, potentials: tuple[FloatArray, FloatArray, FloatArray], beam: Beam, memory: int
    ) -> None:
        (costs, sizes, counts), (prices, ahead, back) = blocks, potentials
        length = costs.shape[1]
        # Once more would be compiled for whole numbers.
        self._beam = Beam(float(beam.limit), beam.width, float(beam.reward), beam.whole)
        arcs: Arcs = tight_arcs(costs, sizes, prices, ahead, back, beam.limit)
        self._line = Line(sizes, arcs, back, *np.zeros((3, length + 1), np.int64))
        word, shift, mask, full = _layout(counts)
        dead = np.zeros((length + 1, len(full)), np.int64)
        self._fields = Fields(word, shift, mask, dead)
        _find_dead(arcs, sizes, self._fields)
        self._progress = record(Progress)
        self._line.end[0] = 1
        self._progress.used = 1
        self._most = max(1024, memory // (36 + 8 * len(full)))
        labels = self._labels = _pool(min(4 * beam.width + 1024, self._most), len(full))
        labels.slack[0] = labels.score[0] = labels.entry[0] = 0
        labels.parent[0] = labels.row[0] = -1
        labels.left[0], labels.keys[0] = int(sizes @ counts), full

    @property
    def complete(self) -> bool:
        """Whether no label within the limit was dropped."""
        return not self._progress.cut

    def go(self, work: int) -> bool:
        """Go on for about ``work`` labels; whether the sweep has ended, one way or the other."""
        while True:
            why = _sweep(self._line, self._fields, self._labels, self._progress, self._beam, work)
            if why != FULL:
                return bool(why != GOING)
            held = len(self._labels.slack)
            if held >= self._most:
                self._progress.cut = True
                return True
            larger = _pool(min(2 * held, self._most), self._labels.keys.shape[1])
            pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(larger, self._labels, strict=True)
            for new, old in pairs:
                new[:held] = old
            self._labels = larger

    def best(self) -> tuple[IntArray, IntArray] | None:
        """Rows and starts of the blocks of the packing with the least slack; None if none was found."""
        line, labels = self._line, self._labels
        last = len(line.back) - 1
        if self._progress.entry < last:
            return None
        first, end = line.first[last], line.end[last]
        done = first + np.flatnonzero((labels.keys[first:end] == 0).all(axis=1))
        if not len(done):
            return None
        label = int(done[np.argmin(labels.slack[done])])
        blocks = []
        while label >= 0:
            row = int(labels.row[label])
            if row >= 0:
                blocks.append((row, int(labels.entry[label] - line.sizes[row])))
            label = int(labels.parent[label])
        rows, starts = np.array(blocks[::-1], np.int64).T
        return rows.copy(), starts.copy()


def _pool(labels: int, words: int) -> Labels:
    slack, score = np.empty((2, labels))
    parent, row, entry, left = np.empty((4, labels), np.int32)
    return Labels(slack, score, parent, row, entry, left, np.empty((labels, words), np.int64))


def _layout(counts: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Word, shift and mask of each size's field in a key, and the key of all blocks left."""
    word, shift, mask = np.empty((3, len(counts)), np.int64)
    full = [0]
    bit = 0
    for r, count in enumerate(counts.tolist()):
        bits = count.bit_length()
        if bit + bits > 62:
            full.append(0)
            bit = 0
        word[r], shift[r], mask[r] = len(full) - 1, bit, (1 << bits) - 1
        full[-1] |= count << bit
        bit += bits
    return word, shift, mask, np.array(full, np.int64)


@compiled
def _find_dead(arcs: Arcs, sizes: IntArray, fields: Fields) -> None:
    """Fill in the sizes of which no block begins at each entry or later."""
    length, last = len(fields.dead) - 1, np.full(len(sizes), -1, np.int64)
    for end in range(length + 1):
        for arc in range(arcs.first[end], arcs.first[end + 1]):
            last[arcs.rows[arc]] = max(last[arcs.rows[arc]], end - sizes[arcs.rows[arc]])
    for r in range(len(sizes)):
        for entry in range(last[r] + 1, length + 1):
            fields.dead[entry, fields.word[r]] |= fields.mask[r] << fields.shift[r]


@no_refcount
def _place(table: IntArray, stamps: IntArray, stamp: int, keys: IntArray, key: IntArray) -> int:
    """Where in the table a key stands, or the free place where it belongs."""
    mixed, words = int(key[0]), len(key)
    for w in range(1, words):
        mixed = (mixed ^ (mixed >> 31)) * _HASH + key[w]
    mixed *= _HASH
    h = (mixed ^ (mixed >> 29)) & (len(table) - 1)
    while stamps[h] == stamp:
        same = True
        for w in range(words):
            if keys[table[h], w] != key[w]:
                same = False
        if same:
            break
        h = (h + 1) & (len(table) - 1)
    return h


@no_refcount
def _copy(of: Labels, label: int, to: Labels, place: int) -> None:
    to.slack[place], to.score[place], to.parent[place] = of.slack[label], of.score[label], of.parent[label]
    to.row[place], to.entry[place], to.left[place] = of.row[label], of.entry[label], of.left[label]
    for w in range(of.keys.shape[1]):
        to.keys[place, w] = of.keys[label, w]


@compiled
def _keep(labels: Labels, count: int, width: int) -> float:
    """Keep the ``width`` labels of the best scores, the earlier among equal ones; returns the worst kept score."""
    scores = labels.score[:count]
    limit = smallest(scores.copy(), width - 1)
    equal, kept = width, 0
    for score in scores:
        if score < limit:
            equal -= 1
    for k in range(count):
        if scores[k] > limit:
            continue
        if scores[k] == limit:
            if equal == 0:
                continue
            equal -= 1
        _copy(labels, k, labels, kept)
        kept += 1
    return limit


@compiled
def _sweep(line: Line, fields: Fields, labels: Labels, progress: Progress, beam: Beam, work: int) -> int:
    sizes, arcs, back, buffer = line.sizes, line.arcs, line.back, 4 * beam.width
    length, words = len(back) - 1, labels.keys.shape[1]
    room = 1
    while room < 2 * buffer:
        room *= 2
    table, stamps, stamp = np.empty(room, np.int64), np.zeros(room, np.int64), 0
    scores, links = np.empty((2, buffer)), np.empty((4, buffer), np.int32)
    new = Labels(scores[0], scores[1], links[0], links[1], links[2], links[3], np.empty((buffer, words), np.int64))
    key = np.empty(words, np.int64)
    while progress.entry < length:
        if work <= 0:
            return GOING
        j = progress.entry + 1
        if arcs.first[j] == arcs.first[j + 1] and j < length:
            line.first[j], line.end[j], line.at[j] = line.first[j - 1], line.end[j - 1], line.at[j - 1]
            progress.entry = j
            continue
        stamp += 1
        count, worst = 0, np.inf
        for arc in range(arcs.first[j] - 1, arcs.first[j + 1]):
            r = -1 if arc < arcs.first[j] else arcs.rows[arc]
            size = 0 if r < 0 else sizes[r]
            i = j - 1 if r < 0 else j - size
            extra = back[j] - back[line.at[i]] if r < 0 else arcs.slacks[arc] + back[i] - back[line.at[i]]
            work -= line.end[i] - line.first[i]
            for label in range(line.first[i], line.end[i]):
                slack = labels.slack[label] + extra
                if slack > beam.limit:
                    continue
                left = labels.left[label] - size
                score = slack + beam.reward * left
                if score > worst or left > length - j:
                    continue
                if r >= 0 and labels.keys[label, fields.word[r]] >> fields.shift[r] & fields.mask[r] == 0:
                    continue
                for w in range(words):
                    key[w] = labels.keys[label, w]
                if r >= 0:
                    key[fields.word[r]] -= 1 << fields.shift[r]
                lost = False
                for w in range(words):
                    if key[w] & fields.dead[j, w]:
                        lost = True
                if lost:
                    continue
                h = _place(table, stamps, stamp, new.keys, key)
                if stamps[h] == stamp:
                    k = table[h]
                    if new.slack[k] <= slack:
                        continue
                else:
                    if count == buffer:
                        progress.cut = True
                        if beam.whole:
                            return STOPPED
                        worst = _keep(new, count, beam.width)
                        count = beam.width
                        stamp += 1
                        for k in range(count):
                            h = _place(table, stamps, stamp, new.keys, new.keys[k])
                            stamps[h], table[h] = stamp, k
                        if score > worst:
                            continue
                        h = _place(table, stamps, stamp, new.keys, key)
                    k = count
                    count += 1
                    stamps[h], table[h] = stamp, k
                    put(new.keys[k], key)
                new.slack[k], new.score[k], new.left[k] = slack, score, left
                new.parent[k], new.row[k], new.entry[k] = label, r, j
        if count > beam.width:
            progress.cut = True
            if beam.whole:
                return STOPPED
            _keep(new, count, beam.width)
            count = beam.width
        begin = progress.used
        if begin + count > len(labels.slack):
            return FULL
        for k in range(count):
            _copy(new, k, labels, begin + k)
        line.first[j], line.end[j], line.at[j] = begin, begin + count, j
        progress.used, progress.entry = begin + count, j
    return FINISHED
