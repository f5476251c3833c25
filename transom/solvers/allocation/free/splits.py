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
    ``most``: what any saves at most; ``complete``: whether nothing else saves as much as was asked for.
    """

    splits: IntArray
    worths: FloatArray
    most: float
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
    dual : prices, before any payments.
    inner : ``inner[t, first[p], b]``: the most that b nodes in pod p save on its leaves, after their prices.
    """

    def __init__(self, dual: Prices, inner: FloatArray) -> None:
        s, worth, pod_at = dual.shape, dual.pricing.worth, dual.pricing.pod_at
        self.shape = s
        self.rooms = np.add.reduceat(s.caps, s.first[:-1])
        pods = len(self.rooms)
        self.gains = np.full((len(s.sizes), pods, int(self.rooms.max()) + 1), -np.inf)
        for t, size in enumerate(s.sizes.tolist()):
            for p, room in enumerate(self.rooms.tolist()):
                n = min(size, room) + 1
                self.gains[t, p, :n] = inner[t, s.first[p], :n] + worth[t, pod_at[p] : pod_at[p] + n]
        self.prices = dual.best[s.cls].copy()
        # Nodes that nobody gets lose their prices: at least the lowest of them.
        nodes = np.sort(np.repeat(self.prices, s.caps))
        self._paid = float(nodes[len(nodes) - int(s.sizes[s.types].sum()) :].sum())
        self._jobs = np.lexsort((np.arange(len(s.types)), -s.types))
        codes = math.prod(int(room) + 1 for room in self.rooms)
        self.possible = pods > 1 and codes < 2**62
        """Whether a state fits into a word."""
        if self.possible:
            self._strides = np.cumprod(np.concatenate(([1], self.rooms[:-1] + 1)))

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
        bests = [lists[t][2] for t in types.tolist()]
        rests = np.concatenate((np.cumsum(bests[::-1])[::-1], [0.0]))
        if self._paid + rests[0] < least:
            return self._none(self._paid + float(rests[0]))
        layers = [(np.zeros(1, np.int64), np.full(1, self._paid), np.array([0, -1]))]
        for j, t in enumerate(types.tolist()):
            layer, effort = self._extend(layers[-1], lists[t], float(rests[j + 1]), least, effort, ended)
            if layer is None:
                return None
            layers.append(layer)
        if not len(layers[-1][0]):
            return self._none(least)
        ahead = [np.zeros(len(layers[-1][0]))]
        for j in range(len(types) - 1, -1, -1):
            jobs, gains, _ = lists[int(types[j])]
            keys, values, _ = layers[j]
            later, _, table = layers[j + 1]
            result, at = np.empty(len(keys)), 0
            while at < len(keys):
                at, left = core.complete(
                    at, keys, values, jobs, gains, self.rooms, self._strides, rests[j + 1], least, table, later,
                    ahead[0], result, min(effort, _PIECE),
                )  # fmt: skip
                effort -= min(effort, _PIECE) - left
                if effort <= 0 or ended():
                    return None
            ahead.insert(0, result)
        return self._enumerate(lists, layers, ahead, least, effort, ended)

    def _lists(self, least: float) -> dict[int, tuple[IntArray, FloatArray, float]] | None:
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
            lists[t] = (out[:count][order], values[:count][order], float(best))
        return lists

    def _none(self, most: float) -> Found:
        return Found(np.empty((0, len(self._jobs), len(self.rooms)), np.int64), np.empty(0), most, True)

    def _extend(
        self,
        layer: tuple[IntArray, FloatArray, IntArray],
        options: tuple[IntArray, FloatArray, float],
        rest: float,
        least: float,
        effort: int,
        ended: Callable[[], bool],
    ) -> tuple[tuple[IntArray, FloatArray, IntArray] | None, int]:
        keys, values, _ = layer
        jobs, gains, _ = options
        size = max(1 << 8, 1 << (2 * len(gains)).bit_length())
        new_keys, new_values, table = np.empty(size, np.int64), np.empty(size), np.full(2 * size, -1)
        at, count = 0, 0
        while at < len(keys):
            piece = min(effort, _PIECE)
            at, count, left = core.extend(
                at, keys, values, jobs, gains, self.rooms, self._strides, rest, least, table, new_keys, new_values,
                count, piece,
            )  # fmt: skip
            effort -= piece - left
            if effort <= 0 or count > _MOST_STATES or ended():
                return None, 0
            if count + len(gains) > len(new_keys):
                new_keys = np.concatenate((new_keys, np.empty_like(new_keys)))
                new_values = np.concatenate((new_values, np.empty_like(new_values)))
                table = np.empty(2 * len(new_keys), np.int64)
                core.rehash(table, new_keys, count)
        return (new_keys[:count].copy(), new_values[:count].copy(), table), effort

    def _enumerate(
        self,
        lists: dict[int, tuple[IntArray, FloatArray, float]],
        layers: list[tuple[IntArray, FloatArray, IntArray]],
        ahead: list[FloatArray],
        least: float,
        effort: int,
        ended: Callable[[], bool],
    ) -> Found | None:
        types = self.shape.types[self._jobs]
        number = len(types)
        firsts = _ends([lists[t][1] for t in types.tolist()])
        jobs = np.concatenate([lists[t][0] for t in types.tolist()])
        gains = np.concatenate([lists[t][1] for t in types.tolist()])
        alike = np.append(False, types[1:] == types[:-1])
        found, worths = np.empty((_MOST_FOUND, number), np.int64), np.empty(_MOST_FOUND)
        turn, at, gained = np.zeros(number, np.int64), np.zeros(number, np.int64), np.zeros(number)
        turn[0], gained[0] = -1, self._paid
        depth, count = 0, 0
        keys = np.concatenate([layer[0] for layer in layers])
        tables = np.concatenate([layer[2] for layer in layers])
        key_ends, table_ends = _ends([layer[0] for layer in layers]), _ends([layer[2] for layer in layers])
        all_ahead = np.concatenate(ahead)
        while depth >= 0 and count < _MOST_FOUND:
            piece = min(effort, _PIECE)
            depth, count, left = core.descend(
                depth, turn, at, gained, firsts, jobs, gains, alike, self.rooms, self._strides,
                key_ends, keys, all_ahead, table_ends, tables, least, found, worths, count, piece,
            )  # fmt: skip
            effort -= piece - left
            if effort <= 0 or ended():
                break
        order = np.argsort(-worths[:count], kind="stable")
        splits = np.empty((count, number, len(self.rooms)), np.int64)
        splits[:, self._jobs] = jobs[found[:count][order]]
        most = self._paid + float(ahead[0][0])
        return Found(splits, worths[:count][order], most, depth < 0)


def _ends(parts: Sequence[IntArray | FloatArray]) -> IntArray:
    # Where each part begins once all stand one after another, and the end.
    ends: IntArray = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
    return ends
