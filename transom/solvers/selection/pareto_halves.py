"""Two lists of choices that grow job by job, and the search for their best pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transom.models.arrays import BoolArray, IntArray
from transom.solvers.selection.front_archive import Arrays, FrontArchive
from transom.solvers.selection.pareto_data import Data
from transom.solvers.selection.pareto_join import DEPTH, FINISHED, FULL, join
from transom.solvers.selection.pareto_lists import BITS, bits, extend, limits
from transom.solvers.selection.pareto_tree import Tree, needed

WORK = 20_000  # steps of a portion: some milliseconds
_PAIRS = 4_000  # pairs of a portion
_SHARES = (0.998, 0.99, 0.95, 0.0)  # of what is out of reach: where the best pairs are looked for in turn


class Half:
    """A list of choices.

    Parameters
    ----------
    row, words : the only choice so far: worth, demands, and its jobs as bits.
    apart : what is taken in any case, but stands in the other list; a row.
    """

    def __init__(self, row: IntArray, words: IntArray, apart: IntArray) -> None:
        self.jobs: list[int] = []
        self.rows, self.words, self.apart = row[None], words[None], apart


class Halves:
    """The choices among some jobs, in two lists.

    Parameters
    ----------
    data : all jobs.
    units : those to choose from, in the order in which they are taken; each unit goes into one list.
    base, words : worth and demands of the jobs that are taken in any case, and these jobs as bits.
    known : what is known; it gets what is found.
    tick : called after each portion; what it raises ends the search.
    pause : called in between, where no portion is counted.
    """

    def __init__(
        self,
        data: Data,
        units: Sequence[Sequence[int]],
        base: IntArray,
        words: IntArray,
        known: FrontArchive,
        tick: Callable[[], None],
        pause: Callable[[], None],
    ) -> None:
        self._data, self._units, self._known, self._tick, self._pause = data, units, known, tick, pause
        self._free = np.zeros(data.jobs, bool)
        self._free[[job for unit in units for job in unit]] = True
        self._halves = (
            Half(base, words, np.zeros_like(base)),
            Half(np.zeros_like(base), np.zeros_like(words), base),
        )

    def grow(self, memory: int, between: Callable[[int], None] | None = None) -> bool:
        """Take every job into one of the lists; False where they outgrow the memory [bytes].

        ``between`` is called after each of them with the length of its list.
        """
        # At the peak a row stands in the old list, the new one, the keys and the tree; twice as many come as go.
        most = memory // (8 * 8 * (self._halves[0].rows.shape[1] + self._data.words))
        for unit in self._units:
            half = min(self._halves, key=lambda half: len(half.rows))
            for job in unit:
                if 2 * len(half.rows) > most:
                    return False
                self._take(half, job)
                if between is not None:
                    between(len(half.rows))
        return True

    def join(self, told: Callable[[], None]) -> None:
        """Put the pairs that are worth something new into the archive; ``told`` is called now and then."""
        if not len(self._halves[0].rows) or not len(self._halves[1].rows):
            return  # whatever was still possible is known
        trees: list[Arrays] = []
        for half in self._halves:
            built = Tree(half.rows)
            while not built.grow(4 * WORK):
                self._tick()
            trees.append((built.rows, built.nodes, half.words[built.order]))
        data, known = self._data, self._known
        stack, top = np.zeros((DEPTH, 2), np.int64), np.ones(1, np.int64)
        # Points close to what no point exceeds beat many pairs, and there are few pairs as close: those come first.
        for share in _SHARES:
            stack[0], top[0] = 0, 1
            least = (data.most * share).astype(np.int64)
            while True:
                why = join(
                    *trees[0], *trees[1], data.terms, data.room, data.most, least, *known.arrays, stack, top, _PAIRS
                )
                if why == FULL:
                    known.make_room(self._pause)
                if why == FINISHED:
                    break
                told()
                self._tick()

    def _take(self, half: Half, job: int) -> None:
        data, terms = self._data, self._data.terms
        half.jobs.append(job)
        open_ = self._free.copy()
        open_[half.jobs] = False  # the jobs of the other list are still to be chosen from, seen from this one
        demands = np.concatenate((data.demands[open_], half.apart[None, terms:]))
        objectives = np.concatenate((data.objectives[open_], half.apart[None, :terms]))
        table, rest = limits(demands, objectives, data.same), demands.sum(axis=0)
        needs = bits(np.flatnonzero(data.parents[job] & self._free), data.jobs)
        size, columns = 2 * len(half.rows), half.rows.shape[1]
        rows, keys = np.empty((size, columns), np.int64), np.empty((size, columns), np.int64)
        words = np.empty((size, data.words), np.int64)
        row = np.concatenate((data.objectives[job], data.demands[job]))
        state, portion = np.zeros(2, np.int64), max(100, 2 * WORK // (10 + terms * len(data.room)))
        while state[0] < len(half.rows):
            extend(
                half.rows, half.words, rows, words, keys, state, row, job // BITS, 1 << job % BITS, needs,
                data.room, rest, table, data.same, *self._known.arrays, portion,
            )  # fmt: skip
            self._tick()
        count = int(state[1])
        kept = np.zeros(count, np.bool_)
        if count:
            followed = np.flatnonzero(data.parents[open_].any(axis=0))
            self._sift(keys[:count], words, followed, kept)
        half.rows, half.words = rows[:count][kept], words[:count][kept]

    def _sift(self, keys: IntArray, words: IntArray, followed: IntArray, kept: BoolArray) -> None:
        tree = Tree(keys)
        while not tree.grow(4 * WORK):
            self._tick()
        # A choice is only as good as another one if it lets the same jobs follow.
        open_words, at = bits(followed, self._data.jobs), 0
        while at < len(keys):
            at = needed(tree.rows, tree.order, tree.nodes, words, open_words, kept, at, 4 * WORK)
            self._tick()
