r"""Label setting along the line over (entry, blocks left of each size), bounded by prices.

What a label has lost against the shortest priced path, its *slack*, is what any packing that goes on
from it costs above the dual bound at least. Labels whose slack exceeds a limit are dropped: the best
packing within the limit is then found, or there is none. Where an entry has more labels than are
wanted, those with the least slack less a reward for the nodes already placed are kept, and the search
is only a heuristic, a *beam*. The reward decides where many blocks cost nothing extra.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.line_prices import tight_arcs
from transom.solvers.allocation.rank import smallest

ENTRY, USED, CUT, WORK = 0, 1, 2, 3  # fields of the progress array
GOING, FINISHED, FULL, STOPPED = 0, 1, 2, 3  # why a sweep returns
_HASH = np.int64(-7046029254386353131)


class Sweep:
    """One sweep of the line from left to right.

    Parameters
    ----------
    costs, sizes, counts : as in :class:`Prices`.
    potentials : what :meth:`Prices.potentials` gave.
    limit : the largest slack of a label.
    width : the most labels of an entry.
    reward : what a node that is placed is worth where labels are compared, >= 0.
    whole : stop where more than ``width`` labels would be needed, instead of dropping some.
    memory : most memory for labels [bytes].
    """

    def __init__(
        self,
        costs: FloatArray,
        sizes: IntArray,
        counts: IntArray,
        potentials: tuple[FloatArray, FloatArray, FloatArray],
        limit: float,
        width: int,
        reward: float,
        whole: bool,
        memory: int,
    ) -> None:
        prices, ahead, back = potentials
        length = costs.shape[1]
        self._sizes, self._back, self._limit, self._width, self._whole = sizes, back, limit, width, whole
        self._arcs = tight_arcs(costs, sizes, prices, ahead, back, limit)
        self._layout, self._full = _layout(counts)
        self._dead = _dead(self._arcs[0], self._arcs[1], sizes, self._layout, length)
        self._reward = reward
        self._at = np.zeros(4, np.int64)
        self._at[USED] = 1
        self._sets = np.zeros((3, length + 1), np.int64)  # first label, after the last, entry of the labels
        self._sets[1, 0] = 1
        words = len(self._full)
        self._most = max(1024, memory // (36 + 8 * words))
        self._numbers, self._links, self._keys = _pool(min(4 * width + 1024, self._most), words)
        self._numbers[:, 0] = 0.0
        self._links[:, 0] = -1, -1, 0, int(sizes @ counts)
        self._keys[0] = self._full
        self._buffer = 4 * width

    @property
    def complete(self) -> bool:
        """Whether no label within the limit was dropped."""
        return not self._at[CUT]

    def go(self, work: int) -> bool:
        """Go on for about ``work`` labels; whether the sweep has ended, one way or the other."""
        while True:
            why = _sweep(
                self._at, self._sets, self._numbers, self._links, self._keys, self._arcs[0], self._arcs[1],
                self._arcs[2], self._back, self._sizes, self._layout, self._dead, self._limit, self._width,
                self._reward, self._whole, self._buffer, work,
            )  # fmt: skip
            if why != FULL:
                return bool(why != GOING)
            held = self._numbers.shape[1]
            if held >= self._most:
                self._at[CUT] = 1
                return True
            larger = _pool(min(2 * held, self._most), len(self._full))
            for new, old in zip(larger, (self._numbers, self._links), strict=False):
                new[:, :held] = old
            larger[2][:held] = self._keys
            self._numbers, self._links, self._keys = larger

    def best(self) -> tuple[IntArray, IntArray] | None:
        """Rows and starts of the blocks of the packing with the least slack; None if none was found."""
        last = len(self._back) - 1
        if self._at[ENTRY] < last:
            return None
        first, end = self._sets[:2, last]
        done = first + np.flatnonzero((self._keys[first:end] == 0).all(axis=1))
        if not len(done):
            return None
        label = int(done[np.argmin(self._numbers[0, done])])
        blocks = []
        while label >= 0:
            parent, row, entry, _ = self._links[:, label].tolist()
            if row >= 0:
                blocks.append((row, entry - int(self._sizes[row])))
            label = parent
        rows, starts = np.array(blocks[::-1], np.int64).T
        return rows.copy(), starts.copy()


def _pool(labels: int, words: int) -> tuple[FloatArray, IntArray, IntArray]:
    # Slack and score; parent, row, entry, nodes left; blocks left of each size.
    links = np.empty((4, labels), np.int32)
    return np.empty((2, labels)), links, np.empty((labels, words), np.int64)  # type: ignore[return-value]


def _layout(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Word, shift and mask of each size's field in a key ``(3, sizes)``, and the key of all blocks left."""
    layout = np.empty((3, len(counts)), np.int64)
    full = [0]
    bit = 0
    for r, count in enumerate(counts.tolist()):
        bits = count.bit_length()
        if bit + bits > 62:
            full.append(0)
            bit = 0
        layout[:, r] = len(full) - 1, bit, (1 << bits) - 1
        full[-1] |= count << bit
        bit += bits
    return layout, np.array(full, np.int64)


@compiled
def _dead(first, rows, sizes, layout, length):  # type: ignore[no-untyped-def]
    """For each entry the fields of the sizes of which no block begins there or later, ``(length + 1, words)``."""
    last = np.full(len(sizes), -1, np.int64)
    for end in range(length + 1):
        for arc in range(first[end], first[end + 1]):
            last[rows[arc]] = max(last[rows[arc]], end - sizes[rows[arc]])
    dead = np.zeros((length + 1, layout[0].max() + 1), np.int64)
    for r in range(len(sizes)):
        for entry in range(last[r] + 1, length + 1):
            dead[entry, layout[0, r]] |= layout[2, r] << layout[1, r]
    return dead


@compiled
def _place(table, stamps, stamp, keys, key, words):  # type: ignore[no-untyped-def]
    """Where in the table a key stands, or the free place where it belongs."""
    mixed = key[0]
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


@compiled
def _keep(numbers, links, keys, count, width):  # type: ignore[no-untyped-def]
    """Keep the ``width`` labels of the best scores, the earlier among equal ones; returns the worst kept score."""
    limit = smallest(numbers[1, :count].copy(), width - 1)
    equal, kept = width, 0
    for k in range(count):
        if numbers[1, k] < limit:
            equal -= 1
    for k in range(count):
        if numbers[1, k] > limit:
            continue
        if numbers[1, k] == limit:
            if equal == 0:
                continue
            equal -= 1
        numbers[:, kept] = numbers[:, k]
        links[:, kept] = links[:, k]
        keys[kept] = keys[k]
        kept += 1
    return limit


@compiled
def _sweep(  # type: ignore[no-untyped-def]
    at, sets, numbers, links, keys, first, rows, slacks, back, sizes, layout, dead, limit, width, reward, whole,
    buffer, work
):  # fmt: skip
    length, words = len(back) - 1, keys.shape[1]
    room = 1
    while room < 2 * buffer:
        room *= 2
    table, stamps, stamp = np.empty(room, np.int64), np.zeros(room, np.int64), 0
    new_numbers, new_links = np.empty((2, buffer)), np.empty((3, buffer), np.int64)
    new_keys, key = np.empty((buffer, words), np.int64), np.empty(words, np.int64)
    while at[ENTRY] < length:
        if work <= 0:
            return GOING
        j = at[ENTRY] + 1
        if first[j] == first[j + 1] and j < length:
            sets[:, j] = sets[:, j - 1]
            at[ENTRY] = j
            continue
        stamp += 1
        count, worst = 0, np.inf
        for arc in range(first[j] - 1, first[j + 1]):
            r = -1 if arc < first[j] else rows[arc]
            i = j - 1 if r < 0 else j - sizes[r]
            extra = back[j] - back[sets[2, i]] if r < 0 else slacks[arc] + back[i] - back[sets[2, i]]
            size = 0 if r < 0 else sizes[r]
            work -= sets[1, i] - sets[0, i]
            for label in range(sets[0, i], sets[1, i]):
                slack = numbers[0, label] + extra
                if slack > limit:
                    continue
                left = links[3, label] - size
                score = slack + reward * left
                if score > worst or left > length - j:
                    continue
                if r >= 0 and keys[label, layout[0, r]] >> layout[1, r] & layout[2, r] == 0:
                    continue
                lost = False
                for w in range(words):
                    key[w] = keys[label, w]
                if r >= 0:
                    key[layout[0, r]] -= 1 << layout[1, r]
                for w in range(words):
                    if key[w] & dead[j, w]:
                        lost = True
                if lost:
                    continue
                h = _place(table, stamps, stamp, new_keys, key, words)
                if stamps[h] == stamp:
                    k = table[h]
                    if new_numbers[0, k] <= slack:
                        continue
                else:
                    if count == buffer:
                        at[CUT] = 1
                        if whole:
                            return STOPPED
                        worst = _keep(new_numbers, new_links, new_keys, count, width)
                        count = width
                        stamp += 1
                        for k in range(count):
                            h = _place(table, stamps, stamp, new_keys, new_keys[k], words)
                            stamps[h], table[h] = stamp, k
                        if score > worst:
                            continue
                        h = _place(table, stamps, stamp, new_keys, key, words)
                    k = count
                    count += 1
                    stamps[h], table[h] = stamp, k
                    new_keys[k] = key
                new_numbers[0, k], new_numbers[1, k] = slack, score
                new_links[0, k], new_links[1, k], new_links[2, k] = label, r, left
        if count > width:
            at[CUT] = 1
            if whole:
                return STOPPED
            _keep(new_numbers, new_links, new_keys, count, width)
            count = width
        begin = at[USED]
        if begin + count > numbers.shape[1]:
            return FULL
        for k in range(count):
            numbers[:, begin + k] = new_numbers[:, k]
            links[0, begin + k], links[1, begin + k] = new_links[0, k], new_links[1, k]
            links[2, begin + k], links[3, begin + k] = j, new_links[2, k]
            keys[begin + k] = new_keys[k]
        sets[0, j], sets[1, j], sets[2, j] = begin, begin + count, j
        at[USED], at[ENTRY] = begin + count, j
    return FINISHED
