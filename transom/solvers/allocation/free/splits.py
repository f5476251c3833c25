"""How jobs may be split among few pods: an exact programme over the nodes that are taken in each pod."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.free import split_core as core
from transom.solvers.allocation.free_bound import Prices

_PIECE = 400_000  # steps between two looks at the clock: a few milliseconds
_MOST_SPLITS = 1 << 14  # of one job
_MOST_STATES = 1 << 20  # of one layer
_MOST_FOUND = 1 << 15  # splits of all jobs at a time


class Found(NamedTuple):
    """What a search came to.

    ``splits`` ``(K, J, P)``: nodes of each job in each pod, best first; ``worths`` ``(K,)``: what each saves at most;
    ``complete``: whether nothing else saves as much as was asked for.
    """

    splits: IntArray
    worths: FloatArray
    complete: bool


class Splits:
    r"""All splits of the jobs among pods that may save so much.

    Only leaves have prices here, the room of pods is kept:

    .. math:: \max_b \sum_j \sum_p g_{jp}(b_{jp}) + \sum_s \lambda_s c_s \quad\text{where } \sum_j b_{jp} \le c_p,
              \; \sum_p b_{jp} = n_j

    with :math:`g_{jp}(b)` the most that b nodes in pod p save job j, after their prices. The programme goes job by job;
    a state says how many nodes of each pod are taken, so that there are as many states with 8 jobs as with 5. Prices
    alone let jobs of which a pod holds one and a half share it in part; here they cannot.

    Parameters
    ----------
    dual : prices.
    inner : ``inner[t, first[p], b]``: the most that b nodes in pod p save on its leaves, after their prices.
    """

    def __init__(self, dual: Prices, inner: FloatArray) -> None:
        s, savings, pod_at = dual.shape, dual.pricing.savings, dual.pricing.pod_at
        self.shape = s
        self.rooms = np.add.reduceat(s.caps, s.first[:-1])
        pods = len(self.rooms)
        self.gains = np.full((len(s.sizes), pods, int(self.rooms.max()) + 1), -np.inf)
        for t, size in enumerate(s.sizes.tolist()):
            for p, room in enumerate(self.rooms.tolist()):
                n = min(size, room) + 1
                self.gains[t, p, :n] = inner[t, s.first[p], :n] + savings[t, pod_at[p] : pod_at[p] + n]
        self.prices = dual.best[s.cls].copy()
        # Nodes that nobody gets lose their prices: at least the lowest of them.
        nodes = np.sort(np.repeat(self.prices, s.caps))
        self._paid = float(nodes[len(nodes) - int(s.sizes[s.types].sum()) :].sum())
        self._jobs = np.lexsort((np.arange(len(s.types)), -s.types))
        codes = math.prod(int(room) + 1 for room in self.rooms)
        self.possible = pods > 1 and codes < 2**62
        """Whether a state fits into a word."""
        if self.possible:
            self._pods = core.Pods(self.rooms, np.cumprod(np.concatenate(([1], self.rooms[:-1] + 1))))

    def search(self, least: float, effort: int, ended: Callable[[], bool]) -> Found | None:
        """All splits that may save at least so much.

        Parameters
        ----------
        least : savings.
        effort : about how many steps to take at most.
        ended : asked every few milliseconds whether to give up.

        Returns
        -------
        What there is; None if it was given up.
        """
        types = self.shape.types[self._jobs]
        lists = self._lists(least)
        if lists is None:
            return None
        options = [lists[t][0] for t in types.tolist()]
        rests = np.cumsum([0.0, *(lists[t][1] for t in types.tolist()[::-1])])[::-1]
        if self._paid + rests[0] < least:
            return self._none()
        goals = [core.Goal(rest, least) for rest in rests[1:].tolist()]
        layers = [core.Layer(np.zeros(1, np.int64), np.full(1, self._paid), np.empty(1), np.array([0, -1]))]
        for job, goal in zip(options, goals, strict=True):
            layer, effort = self._extend(layers[-1], job, goal, effort, ended)
            if layer is None:
                return None
            layers.append(layer)
        if not len(layers[-1].keys):
            return self._none()
        layers[-1].ahead[:] = 0.0
        for j in range(len(types) - 1, -1, -1):
            at = 0
            while at < len(layers[j].keys):
                piece = min(effort, _PIECE)
                at, left = core.complete(self._pods, options[j], layers[j], layers[j + 1], goals[j], at, piece)
                effort -= piece - left
                if effort <= 0 or ended():
                    return None
        return self._enumerate(options, layers, least, effort, ended)

    def _lists(self, least: float) -> dict[int, tuple[core.Options, float]] | None:
        # The splits of each type that can be part of a solution, best first, with their gains and the best one.
        s = self.shape
        out, values = np.empty((_MOST_SPLITS, len(self.rooms)), np.int64), np.empty(_MOST_SPLITS)
        none = np.empty((0, len(self.rooms)), np.int64), np.empty(0)
        bests = [core.splits(n, self.rooms, self.gains[t], -1.0, *none)[1] for t, n in enumerate(s.sizes.tolist())]
        gap = self._paid + float(np.dot(s.mult, bests)) - least
        lists = {}
        for t, size in enumerate(s.sizes.tolist()):
            count, best = core.splits(size, self.rooms, self.gains[t], gap, out, values)
            if count < 0:
                return None
            order = np.argsort(-values[:count], kind="stable")
            lists[t] = core.Options(out[:count][order], values[:count][order]), float(best)
        return lists

    def _none(self) -> Found:
        return Found(np.empty((0, len(self._jobs), len(self.rooms)), np.int64), np.empty(0), True)

    def _extend(
        self, layer: core.Layer, options: core.Options, goal: core.Goal, effort: int, ended: Callable[[], bool]
    ) -> tuple[core.Layer | None, int]:
        size = max(1 << 8, 1 << (2 * len(options.gains)).bit_length())
        keys, values, table = np.empty(size, np.int64), np.empty(size), np.full(2 * size, -1)
        at, count = 0, 0
        while at < len(layer.keys):
            piece, after = min(effort, _PIECE), core.Layer(keys, values, values, table)
            at, count, left = core.extend(self._pods, options, layer, after, goal, at, count, piece)
            effort -= piece - left
            if effort <= 0 or count > _MOST_STATES or ended():
                return None, 0
            if count + len(options.gains) > len(keys):
                keys = np.concatenate((keys, np.empty_like(keys)))
                values = np.concatenate((values, np.empty_like(values)))
                table = np.empty(2 * len(keys), np.int64)
                core.rehash(table, keys, count)
        return core.Layer(keys[:count].copy(), values[:count].copy(), np.empty(count), table), effort

    def _enumerate(
        self,
        options: list[core.Options],
        layers: list[core.Layer],
        least: float,
        effort: int,
        ended: Callable[[], bool],
    ) -> Found | None:
        types = self.shape.types[self._jobs]
        number = len(types)
        jobs, gains = (np.concatenate(parts) for parts in zip(*options, strict=True))
        every = core.Layer(*(np.concatenate(parts) for parts in zip(*layers, strict=True)))
        tree = core.Tree(
            _ends([job.gains for job in options]), core.Options(jobs, gains),
            np.append(False, types[1:] == types[:-1]),
            every, _ends([layer.keys for layer in layers]), _ends([layer.table for layer in layers]),
        )  # fmt: skip
        found = core.Found(
            np.zeros(number, np.int64), np.zeros(number, np.int64), np.zeros(number),
            np.empty((_MOST_FOUND, number), np.int64), np.empty(_MOST_FOUND),
        )  # fmt: skip
        found.turn[0], found.gained[0] = -1, self._paid
        depth, count = 0, 0
        while depth >= 0 and count < _MOST_FOUND:
            piece = min(effort, _PIECE)
            depth, count, left = core.descend(self._pods, tree, found, least, depth, count, piece)
            effort -= piece - left
            if effort <= 0 or ended():
                break
        worths = found.worths
        order = np.argsort(-worths[:count], kind="stable")
        splits = np.empty((count, number, len(self.rooms)), np.int64)
        splits[:, self._jobs] = jobs[found.options[:count][order]]
        return Found(splits, worths[:count][order], depth < 0)


def _ends(parts: Sequence[IntArray | FloatArray]) -> IntArray:
    # Where each part begins once all stand one after another, and the end.
    ends: IntArray = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
    return ends
