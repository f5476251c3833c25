"""How good a repair is: destroyed windows that nobody trained on, repaired by an actor and by plain rules.

Every rule repairs the same destroyed windows. They come about as annealing makes them, under repairs at random
first nodes, so that no rule has them to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.heuristics.allocation.arrays import Switches, slide
from transom.learned.repair.pool import CLUSTERS, ClusterName, WindowPool, stream_windows
from transom.learned.repair.process import (
    SEEN,
    BatchState,
    Ended,
    Windows,
    act,
    begin_all,
    empty_batch,
    look_all,
    step_all,
)
from transom.learned.repair.task import RepairTask
from transom.models.arrays import FloatArray, IntArray
from transom.rng import stream

_WARM_UP = 30  # jobs that are placed at random before windows are taken

Scores = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""An actor: observations, shape ``(windows, rows, 100)``, to scores of first nodes, shape ``(windows, 100)``."""


class Destroyed(NamedTuple):
    """Windows with jobs taken out.

    Parameters
    ----------
    pool : where the windows are from.
    task : how they were destroyed.
    batch : one for each.
    """

    pool: WindowPool
    task: RepairTask
    batch: BatchState


COUNT, EPOCHS = 4000, 10
"""Destroyed windows that actors are scored on, and the streams that they are of."""


def held_out(cluster: ClusterName, rows: int = 5, count: int = COUNT, epochs: int = EPOCHS, seed: int = 0) -> Destroyed:
    """Destroyed windows of streams that no training, and no test epoch, draws from.

    Parameters
    ----------
    cluster : whose windows.
    rows : of observations.
    count : how many, > 0.
    epochs : streams of 100 periods that the windows come from, > 0.
    seed : of the streams, and of what is taken out.
    """
    model, cost = CLUSTERS[cluster]
    problems = stream_windows(model, cost, seed, "repair held out", epochs)
    return destroy(WindowPool.of(problems, model.sizes[1]), RepairTask(rows=rows), count, seed)


def destroy(pool: WindowPool, task: RepairTask, count: int, seed: int = 0) -> Destroyed:
    """Destroyed windows of a pool, after some repairs at random first nodes.

    Parameters
    ----------
    pool, task : what is destroyed, and how.
    count : how many, > 0; a window may come more than once.
    seed : of what is taken out.
    """
    rows = task.rows
    batch, rng = empty_batch(pool.windows, count), stream(seed, "repair held out", "destroyed")
    seen, costs, done = _room(count, rows), np.empty(count), np.empty(count, np.bool_)
    options, habits = task.options(), task.habits()
    begin_all(rng, pool.windows, batch, options, habits, True, seen)
    ended = Ended(seen.copy(), costs, done)
    for _ in range(_WARM_UP):
        step_all(rng, pool.windows, batch, options, habits, _uniform(rng, batch), seen, ended)
    # Episodes are begun anew where jobs are back already, so that every window is as it was destroyed.
    while (batch.at > 0).any():
        some = np.flatnonzero(batch.at > 0)
        part = _part(batch, some)
        ended = Ended(_room(len(some), rows), np.empty(len(some)), np.empty(len(some), np.bool_))
        step_all(rng, pool.windows, part, options, habits, _uniform(rng, part), _room(len(some), rows), ended)
        for whole, piece in zip(batch, part, strict=True):
            whole[some] = piece
    return Destroyed(pool, task, batch)


def compare(destroyed: Destroyed, scores: Scores, seed: int = 0) -> dict[str, float]:
    """Mean cost of the repaired jobs, rule by rule.

    Parameters
    ----------
    destroyed : the windows, the same for all.
    scores : the actor, which is taken at its highest score (``argmax``), and drawn from (``sampled``). Beside it:
        a first node at random among those it may choose (``uniform``), the first of them (``first fit``), and the
        one at which the job costs least (``cheapest``), job by job.
    seed : of what is drawn.
    """
    rng = stream(seed, "repair scoring")

    def drawn(batch: BatchState, seen: NDArray[np.float32]) -> IntArray:
        # The highest of scores with noise of Gumbel's law is a draw from their softmax.
        return _best(scores(seen) + rng.gumbel(size=(len(seen), SEEN)), batch)

    rules: dict[str, Callable[[BatchState, NDArray[np.float32]], IntArray]] = {
        "argmax": lambda batch, seen: _best(scores(seen), batch),
        "sampled": drawn,
        "uniform": lambda batch, _: _uniform(rng, batch),
        "first fit": lambda batch, _: np.zeros(len(batch.at), np.int64),
        "cheapest": lambda batch, _: _cheapest(destroyed.pool.windows, batch),
    }
    return {name: float(_repair(destroyed, rule).mean()) for name, rule in rules.items()}


def torch_scores(actor: Any) -> Scores:
    """An actor of torch layers as :data:`Scores`."""
    import torch

    flat = isinstance(actor[0], torch.nn.Linear)
    device = next(actor.parameters()).device

    def scores(seen: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.no_grad():
            given = torch.from_numpy(seen).to(device)
            said: NDArray[np.float32] = actor(given.flatten(1) if flat else given).cpu().numpy()
            return said

    return scores


def _repair(destroyed: Destroyed, rule: Callable[[BatchState, NDArray[np.float32]], IntArray]) -> FloatArray:
    """Cost of the repaired jobs of each window."""
    windows = destroyed.pool.windows
    batch = BatchState._make(array.copy() for array in destroyed.batch)
    total = np.zeros(len(batch.at))
    open_ = np.arange(len(total))
    while len(open_):
        seen, costs, done = _room(len(open_), destroyed.task.rows), np.empty(len(open_)), np.empty(len(open_), np.bool_)
        look_all(windows, batch, seen)
        act(windows, batch, rule(batch, seen), seen, costs, done)
        total[open_[done]] = costs[done]
        open_, batch = open_[~done], _part(batch, np.flatnonzero(~done))
    return total


def _part(batch: BatchState, which: IntArray) -> BatchState:
    return BatchState._make(array[which] for array in batch)


def _room(count: int, rows: int) -> NDArray[np.float32]:
    return np.empty((count, rows, SEEN), np.float32)


def _uniform(rng: np.random.Generator, batch: BatchState) -> IntArray:
    drawn: IntArray = (rng.random(len(batch.length)) * np.minimum(batch.length, SEEN)).astype(np.int64)
    return drawn


def _best(scores: FloatArray | NDArray[np.float32], batch: BatchState) -> IntArray:
    masked = np.where(np.arange(SEEN) < batch.length[:, None], scores, -np.inf)
    best: IntArray = masked.argmax(axis=1)
    return best


@compiled
def _cheapest(windows: Windows, batch: BatchState) -> IntArray:
    """The first node at which the next job of each environment costs least, among those that an actor may choose."""
    in_leaf, in_pod = np.zeros(int(windows.scale[0]), np.int64), np.zeros(int(windows.scale[1]), np.int64)
    chosen, costs = np.empty(len(batch.at), np.int64), np.empty(SEEN)
    for i in range(len(chosen)):
        w, m = batch.window[i], batch.length[i]
        a, b = windows.first_node[w], windows.first_node[w + 1]
        size = windows.sizes[windows.first_job[w] + batch.out[i, batch.at[i]]]
        last = min(m, SEEN)
        three_levels, unsummed = np.empty((0, b - a), np.int64), np.empty((2, 5, 0))
        switches = Switches(
            windows.leaf[a:b], windows.pod[a:b], windows.weights, three_levels, in_leaf, in_pod, unsummed
        )
        slide(batch.left[i], m, last, size, switches, costs)
        chosen[i] = np.argmin(costs[:last])
    return chosen
