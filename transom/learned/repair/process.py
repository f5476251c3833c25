"""The process of repairing destroyed windows: what is seen, what an action does, and what comes next.

Jobs that were taken out of a window come back one by one. An action is the first node of the next one, counted in
what is left of Q; the job takes consecutive entries from there, across the end if need be, and they leave Q (the
dynamic rule). The last one ends the episode. The repaired solution, or the one before it, is then destroyed again, as
annealing does, and after some repairs another window is opened.

The states of many repairs lie in arrays, the *batch*, and one call steps all of them.

References
----------
Lan et al. (2023), section V-B.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.heuristics.allocation.annealing import ANYTHING, MEND, Options, take_out
from transom.heuristics.allocation.arrays import Switches, block_cost, gather, take
from transom.models.arrays import BoolArray, FloatArray, IntArray, SingleArray
from transom.models.fat_tree import FatTree

SEEN = 100
"""Entries of what is left of Q that are seen, and may be a first node (q of table I)."""

SCHEMAS = {"repair-5x100/1": 5, "repair-4x100/1": 4}
"""Rows of the observations of each schema, as :func:`observe` describes them."""

# Positions in the habits of a process: least and largest temperature, chance of a window in which every repair stays,
# chance of a random start, repairs of a window.
TMIN, TMAX, WALK, SCATTERED, REPAIRS = range(5)


class Windows(NamedTuple):
    """Windows one after the other: those of window w are the entries ``first[w]`` to ``first[w + 1]``."""

    first_node: IntArray
    """Where the idle nodes of each window begin, shape ``(windows + 1,)``."""
    first_job: IntArray
    """Where its jobs begin, shape ``(windows + 1,)``."""
    leaf: IntArray
    """Leaf switch of each idle node, numbered as in the tree."""
    pod: IntArray
    """Its pod."""
    sizes: IntArray
    """Nodes of each job."""
    weights: IntArray
    """Of the cost model, shape ``(5,)``."""
    scale: NDArray[np.float32]
    """What observations are divided by: :func:`scale_of`."""


class BatchState(NamedTuple):
    """Where so many repairs stand; the first dimension is the environment, the second is as long as any window
    needs."""

    window: IntArray
    """Number of the window."""
    repairs: IntArray
    """Repairs begun in this window; 0: no window was opened."""
    temperature: FloatArray
    """At which a worse repair is kept in this window [cost]; infinite: always."""
    owner: IntArray
    """Job of each idle node, -1: none, shape ``(batch, idle nodes)``."""
    costs: FloatArray
    """Cost of each job, shape ``(batch, jobs)``; of those that are out, where they were last."""
    owner_before: IntArray
    """The owners before jobs were taken out."""
    costs_before: FloatArray
    """The costs before."""
    out: IntArray
    """The jobs that were taken out, in the order in which they come back, shape ``(batch, jobs)``."""
    moved: IntArray
    """How many were taken out."""
    at: IntArray
    """How many of them are back."""
    left: IntArray
    """What is left of Q: positions of idle nodes, shape ``(batch, idle nodes)``."""
    length: IntArray
    """How many are left."""


class Ended(NamedTuple):
    """Which episodes ended, one entry for each environment.

    Parameters
    ----------
    final : what was seen at the end, where one ended, shape ``(batch, rows, 100)``.
    costs : the total cost of the repaired jobs where an episode ended, 0 elsewhere.
    done : whether it did.
    """

    final: SingleArray
    costs: FloatArray
    done: BoolArray


def empty_batch(windows: Windows, batch: int) -> BatchState:
    """A batch in which no window was opened."""
    nodes = int(np.diff(windows.first_node).max())
    jobs = int(np.diff(windows.first_job).max())

    def ints(*shape: int) -> IntArray:
        return np.zeros((batch, *shape), np.int64)

    return BatchState(
        ints(), ints(), np.zeros(batch), ints(nodes), np.zeros((batch, jobs)), ints(nodes), np.zeros((batch, jobs)),
        ints(jobs), ints(), ints(), ints(nodes), ints(),
    )  # fmt: skip


def scale_of(tree: FatTree, largest: int) -> NDArray[np.float32]:
    """What observations are divided by: leaf switches, pods, nodes of the largest job; shape ``(3,)``."""
    return np.array([tree.num_leaves, tree.num_pods, largest], np.float32)


@compiled
def observe(
    left: IntArray, leaf: IntArray, pod: IntArray, out: IntArray, sizes: IntArray, scale: SingleArray, seen: SingleArray
) -> None:
    r"""Fill what a network sees, float32, shape ``(5, 100)`` or ``(4, 100)`` (Lan et al. 2023, section V-B1).

    The columns are the first 100 entries of ``left``, what is left of Q; those behind it are 0. The rows:
    leaf switch and pod of the entry, :math:`(i + 1) / (\text{number of them})`, so that none looks like a missing one;
    with five rows, 1 as a sign that the node is idle; :math:`n_j / n^{\max}` of the job that comes next; and the mean
    of that over the other jobs that are still out, 0 if there is none.

    Parameters
    ----------
    left : positions of idle nodes that nobody holds.
    leaf, pod : leaf switch and pod of each idle node, numbered as in the tree from 0.
    out : the jobs that are still out, the next one first; there may be none.
    sizes : nodes of each job.
    scale : of :func:`scale_of`.
    """
    shown = min(len(left), SEEN)
    jobs = np.float32(0)
    size = np.float32(0)
    others = np.float32(0)
    if len(out):
        size = np.float32(sizes[out[0]]) / scale[2]
        for k in range(1, len(out)):
            jobs += np.float32(sizes[out[k]])
        if len(out) > 1:
            others = jobs / (np.float32(len(out) - 1) * scale[2])
    rows = seen.shape[0]
    for k in range(shown):
        i = left[k]
        seen[0, k] = np.float32(leaf[i] + 1) / scale[0]
        seen[1, k] = np.float32(pod[i] + 1) / scale[1]
        if rows == 5:
            seen[2, k] = 1
        seen[rows - 2, k] = size
        seen[rows - 1, k] = others
    seen[:, shown:] = 0


@compiled
def step_all(
    rng: np.random.Generator,
    windows: Windows,
    batch: BatchState,
    options: Options,
    habits: FloatArray,
    actions: IntArray,
    seen: SingleArray,
    ended: Ended,
) -> None:
    """Take an action in every environment; where that ends an episode, begin the next one.

    Parameters
    ----------
    options : as those of annealing; what it does where an order is missing is set for each environment.
    habits : of the process, by the positions above.
    actions : entry of what is left of Q where the next job begins, shape ``(batch,)``.
    seen : filled with what is seen next, shape ``(batch, rows, 100)``.
    ended : filled.
    """
    counts, (final, costs, done) = _counts(windows), ended
    for i in range(len(actions)):
        done[i], costs[i] = _place(windows, batch, i, actions[i], counts)
        if done[i]:
            _look(windows, batch, i, final[i])
            _begin(rng, windows, batch, i, options, habits, False, counts)
        _look(windows, batch, i, seen[i])


@compiled
def act(
    windows: Windows, batch: BatchState, actions: IntArray, seen: SingleArray, costs: FloatArray, done: BoolArray
) -> None:
    """Take an action in every environment, as :func:`step_all` does, and begin nothing."""
    counts = _counts(windows)
    for i in range(len(actions)):
        done[i], costs[i] = _place(windows, batch, i, actions[i], counts)
        _look(windows, batch, i, seen[i])


@compiled
def begin_all(
    rng: np.random.Generator,
    windows: Windows,
    batch: BatchState,
    options: Options,
    habits: FloatArray,
    fresh: bool,
    seen: SingleArray,
) -> None:
    """Begin an episode in every environment, in a window that is opened now if ``fresh``; fill what is seen.

    A repair that was not ended counts as none.
    """
    counts = _counts(windows)
    for i in range(len(batch.window)):
        _begin(rng, windows, batch, i, options, habits, fresh, counts)
        _look(windows, batch, i, seen[i])


@compiled
def look_all(windows: Windows, batch: BatchState, seen: SingleArray) -> None:
    """Fill what is seen in every environment."""
    for i in range(len(batch.window)):
        _look(windows, batch, i, seen[i])


@compiled
def _counts(windows: Windows) -> tuple[IntArray, IntArray]:
    """Counters of nodes per leaf switch and per pod, all 0."""
    return np.zeros(int(windows.scale[0]), np.int64), np.zeros(int(windows.scale[1]), np.int64)


@compiled
def _switches(windows: Windows, first: int, end: int, counts: tuple[IntArray, IntArray]) -> Switches:
    """The switches of a window, whose nodes are these."""
    leaf, pod = windows.leaf[first:end], windows.pod[first:end]
    return Switches(leaf, pod, windows.weights, np.empty((0, end - first), np.int64), *counts, np.empty((2, 5, 0)))


@compiled
def _look(windows: Windows, batch: BatchState, i: int, seen: SingleArray) -> None:
    w = batch.window[i]
    a, b = windows.first_node[w], windows.first_node[w + 1]
    sizes = windows.sizes[windows.first_job[w] : windows.first_job[w + 1]]
    left, out = batch.left[i, : batch.length[i]], batch.out[i, batch.at[i] : batch.moved[i]]
    observe(left, windows.leaf[a:b], windows.pod[a:b], out, sizes, windows.scale, seen)


@compiled
def _place(
    windows: Windows, batch: BatchState, i: int, action: int, counts: tuple[IntArray, IntArray]
) -> tuple[bool, float]:
    """Put the next job of an environment where it begins; whether it was the last, and then the cost of all that came
    back."""
    w = batch.window[i]
    a, b = windows.first_node[w], windows.first_node[w + 1]
    job = batch.out[i, batch.at[i]]
    size = windows.sizes[windows.first_job[w] + job]
    batch.at[i] += 1
    _put(batch, i, job, size, action, _switches(windows, a, b, counts))
    total = 0.0
    if batch.at[i] < batch.moved[i]:
        return False, total
    for k in range(batch.moved[i]):
        total += batch.costs[i, batch.out[i, k]]
    return True, total


@compiled
def _put(batch: BatchState, i: int, job: int, size: int, start: int, switches: Switches) -> None:
    """Put a job of an environment on consecutive entries of what is left of Q."""
    left, m = batch.left[i], batch.length[i]
    batch.costs[i, job] = block_cost(left, m, start, size, switches)
    batch.length[i] = take(batch.owner[i], left, m, start, size, job)


@compiled
def _begin(
    rng: np.random.Generator,
    windows: Windows,
    batch: BatchState,
    i: int,
    options: Options,
    habits: FloatArray,
    fresh: bool,
    counts: tuple[IntArray, IntArray],
) -> None:
    """Go on in the window of an environment, or open another one, and take jobs out."""
    if fresh or batch.repairs[i] == 0 or batch.repairs[i] >= habits[REPAIRS]:
        _open(rng, windows, batch, i, habits, counts)
    elif not _kept(rng, batch, i):
        _copy(batch.owner_before, batch.owner, i, _nodes(windows, batch, i))
        _copy(batch.costs_before, batch.costs, i, batch.costs.shape[1])
    w, nodes = batch.window[i], _nodes(windows, batch, i)
    _copy(batch.owner, batch.owner_before, i, nodes)
    _copy(batch.costs, batch.costs_before, i, batch.costs.shape[1])
    owner = batch.owner[i, :nodes]
    sizes = windows.sizes[windows.first_job[w] : windows.first_job[w + 1]]
    # As annealing does, which keeps to states that an order of placing reaches; the walk does not ask.
    options.nested = MEND if batch.temperature[i] < np.inf else ANYTHING
    moved = take_out(rng, owner, batch.out[i], np.zeros(len(sizes), np.bool_), sizes, options)
    batch.repairs[i] += 1
    batch.moved[i], batch.at[i] = moved, 0
    batch.length[i] = gather(owner, batch.left[i])


@compiled
def _nodes(windows: Windows, batch: BatchState, i: int) -> int:
    """Idle nodes in the window of an environment."""
    w = batch.window[i]
    return int(windows.first_node[w + 1] - windows.first_node[w])


@compiled
def _copy(source: IntArray | FloatArray, target: IntArray | FloatArray, i: int, count: int) -> None:
    # Not by assignment, which takes seconds to compile because it may fail with words.
    for k in range(count):
        target[i, k] = source[i, k]


@compiled
def _kept(rng: np.random.Generator, batch: BatchState, i: int) -> bool:
    """Whether the repair of an environment was ended and stays (algorithm 1, steps 5 to 9)."""
    if batch.at[i] < batch.moved[i]:
        return False
    loss = batch.costs[i].sum() - batch.costs_before[i].sum()
    return loss <= 0 or rng.random() < math.exp(-loss / batch.temperature[i])


@compiled
def _open(
    rng: np.random.Generator,
    windows: Windows,
    batch: BatchState,
    i: int,
    habits: FloatArray,
    counts: tuple[IntArray, IntArray],
) -> None:
    """Draw a window for an environment, a temperature and a solution to begin with: the first fit or a random one."""
    w = int(rng.random() * (len(windows.first_node) - 1))
    a, b = windows.first_node[w], windows.first_node[w + 1]
    nodes = b - a
    switches = _switches(windows, a, b, counts)
    batch.window[i], batch.repairs[i] = w, 0
    walks = rng.random() < habits[WALK]
    batch.temperature[i] = np.inf if walks else habits[TMIN] * (habits[TMAX] / habits[TMIN]) ** rng.random()
    scattered = rng.random() < habits[SCATTERED]
    batch.owner[i, :nodes] = -1
    batch.costs[i] = 0.0
    batch.length[i] = gather(batch.owner[i, :nodes], batch.left[i])
    for job in range(windows.first_job[w + 1] - windows.first_job[w]):
        size = windows.sizes[windows.first_job[w] + job]
        start = int(rng.random() * min(batch.length[i], SEEN)) if scattered else 0
        _put(batch, i, job, size, start, switches)
