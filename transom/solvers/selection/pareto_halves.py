"""Two lists of choices that grow job by job, and the search for their best pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from transom._system.records import record
from transom.models.arrays import BoolArray, IntArray
from transom.solvers.selection.front_archive import FrontArchive
from transom.solvers.selection.pareto_data import Data
from transom.solvers.selection.pareto_join import DEPTH, FINISHED, FULL, OpenPairs, Side, join
from transom.solvers.selection.pareto_lists import Candidate, Choices, Growth, Limits, bits, extend, limits
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

    def join(self, report: Callable[[], None]) -> None:
        """Put the pairs that are worth something new into the archive; ``report`` is called now and then."""
        if not len(self._halves[0].rows) or not len(self._halves[1].rows):
            return  # whatever was still possible is known
        sides = []
        for half in self._halves:
            built = Tree(half.rows)
            while not built.grow(4 * WORK):
                self._tick()
            sides.append(Side(built.rows, built.nodes, half.words[built.order]))
        data, known = self._data, self._known
        pairs = OpenPairs(np.zeros((DEPTH, 2), np.int64), np.ones(1, np.int64))
        # Points close to what no point exceeds beat many pairs, and there are few pairs as close: those come first.
        for share in _SHARES:
            pairs.stack[0], pairs.top[0] = 0, 1
            least = (data.most * share).astype(np.int64)
            while True:
                why = join(sides[0], sides[1], data.room, data.most, least, known.tree, pairs, _PAIRS)
                if why == FULL:
                    known.make_room(self._pause)
                if why == FINISHED:
                    break
                report()
                self._tick()

    def _take(self, half: Half, job: int) -> None:
        data, terms = self._data, self._data.terms
        half.jobs.append(job)
        open_ = self._free.copy()
        open_[half.jobs] = False  # the jobs of the other list are still to be chosen from, seen from this one
        demands = np.concatenate((data.demands[open_], half.apart[None, terms:]))
        objectives = np.concatenate((data.objectives[open_], half.apart[None, :terms]))
        table = limits(demands, objectives, data.same)
        needs = bits(np.flatnonzero(data.parents[job] & self._free), data.jobs)
        size, columns = 2 * len(half.rows), half.rows.shape[1]
        keys, words = np.empty((size, columns), np.int64), np.empty((size, data.words), np.int64)
        source, target = Choices(half.rows, half.words), Choices(np.empty((size, columns), np.int64), words)
        row = np.concatenate((data.objectives[job], data.demands[job]))
        candidate = Candidate(row, bits(np.array([job]), data.jobs), needs)
        limiting = Limits(data.room, demands.sum(axis=0), table, data.same)
        growth, portion = record(Growth), max(100, 2 * WORK // (10 + terms * len(data.room)))
        while growth.at < len(half.rows):
            extend(source, target, keys, growth, candidate, limiting, self._known.tree, portion)
            self._tick()
        count = int(growth.count)
        kept = np.zeros(count, np.bool_)
        if count:
            followed = np.flatnonzero(data.parents[open_].any(axis=0))
            self._sift(keys[:count], words, followed, kept)
        half.rows, half.words = target.rows[:count][kept], words[:count][kept]

    def _sift(self, keys: IntArray, words: IntArray, followed: IntArray, kept: BoolArray) -> None:
        tree = Tree(keys)
        while not tree.grow(4 * WORK):
            self._tick()
        # A choice is only as good as another one if it lets the same jobs follow.
        open_words, at = bits(followed, self._data.jobs), 0
        while at < len(keys):
            at = needed(tree.rows, tree.order, tree.nodes, words, open_words, kept, at, 4 * WORK)
            self._tick()
