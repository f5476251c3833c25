"""The process of repairing destroyed windows: what is seen, what an action does, and what comes next.

Jobs that were taken out of a window come back one by one. An action is the first node of the next one, counted in
what is left of Q; the job takes consecutive entries from there, across the end if need be, and they leave Q (the
dynamic rule). The last one ends the episode. The repaired solution, or the one before it, is then destroyed again, as
annealing does, and after some repairs another window is opened.

Many repairs lie beside each other in arrays, the *lanes*, and one call steps all of them.

References
----------
papers/nsa, section V-B.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.heuristics.allocation.annealing import ANYTHING, MEND, NESTED, take_out
from transom.heuristics.allocation.arrays import Switches, block_cost, gather, take
from transom.models.arrays import BoolArray, FloatArray, IntArray, SingleArray
from transom.models.fat_tree import FatTree

SEEN = 100
"""Entries of what is left of Q that are seen, and may be a first node (q of table I)."""

SCHEMAS = {"repair-5x100/1": 5, "repair-4x100/1": 4}
"""Rows of the observations of each schema, as :func:`observe` describes them."""

ROWS = {
    "repair-5x100/1": ("leaf switch", "pod", "1 if idle", "nodes of the job", "mean nodes of the others that are out"),
    "repair-4x100/1": ("leaf switch", "pod", "nodes of the job", "mean nodes of the others that are out"),
}
"""What the rows hold; sizes are divided by those of the largest job."""

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


class Lanes(NamedTuple):
    """Where so many repairs stand; the first dimension is the lane, the second is as long as any window needs."""

    window: IntArray
    """Number of the window."""
    repairs: IntArray
    """Repairs begun in this window; 0: no window was opened."""
    temperature: FloatArray
    """At which a worse repair is kept in this window [cost]; infinite: always."""
    owner: IntArray
    """Job of each idle node, -1: none, shape ``(lanes, idle nodes)``."""
    costs: FloatArray
    """Cost of each job, shape ``(lanes, jobs)``; of those that are out, where they were last."""
    owner_before: IntArray
    """The owners before jobs were taken out."""
    costs_before: FloatArray
    """The costs before."""
    out: IntArray
    """The jobs that were taken out, in the order in which they come back, shape ``(lanes, jobs)``."""
    moved: IntArray
    """How many were taken out."""
    at: IntArray
    """How many of them are back."""
    left: IntArray
    """What is left of Q: positions of idle nodes, shape ``(lanes, idle nodes)``."""
    length: IntArray
    """How many are left."""


class Ended(NamedTuple):
    """Which episodes ended, one entry for each lane.

    Parameters
    ----------
    final : what was seen at the end, where one ended, shape ``(lanes, rows, 100)``.
    costs : the total cost of the repaired jobs where an episode ended, 0 elsewhere.
    done : whether it did.
    """

    final: SingleArray
    costs: FloatArray
    done: BoolArray


def empty_lanes(windows: Windows, lanes: int) -> Lanes:
    """Lanes in which no window was opened."""
    nodes = int(np.diff(windows.first_node).max())
    jobs = int(np.diff(windows.first_job).max())

    def ints(*shape: int) -> IntArray:
        return np.zeros((lanes, *shape), np.int64)

    return Lanes(
        ints(), ints(), np.zeros(lanes), ints(nodes), np.zeros((lanes, jobs)), ints(nodes), np.zeros((lanes, jobs)),
        ints(jobs), ints(), ints(), ints(nodes), ints(),
    )  # fmt: skip


def scale_of(tree: FatTree, largest: int) -> NDArray[np.float32]:
    """What observations are divided by: leaf switches, pods, nodes of the largest job; shape ``(3,)``."""
    return np.array([tree.num_leaves, tree.num_pods, largest], np.float32)


@compiled
def observe(
    left: IntArray, leaf: IntArray, pod: IntArray, out: IntArray, sizes: IntArray, scale: SingleArray, seen: SingleArray
) -> None:
    r"""Fill what a network sees, float32, shape ``(5, 100)`` or ``(4, 100)`` (papers/nsa, section V-B1).

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
    lanes: Lanes,
    options: IntArray,
    habits: FloatArray,
    actions: IntArray,
    seen: SingleArray,
    ended: Ended,
) -> None:
    """Take an action in every lane; where that ends an episode, begin the next one.

    Parameters
    ----------
    options : as those of annealing; what it does where an order is missing is set for each lane.
    habits : of the process, by the positions above.
    actions : entry of what is left of Q where the next job begins, shape ``(lanes,)``.
    seen : filled with what is seen next, shape ``(lanes, rows, 100)``.
    ended : filled.
    """
    counts, (final, costs, done) = _counts(windows), ended
    for i in range(len(actions)):
        done[i], costs[i] = _place(windows, lanes, i, actions[i], counts)
        if done[i]:
            _look(windows, lanes, i, final[i])
            _begin(rng, windows, lanes, i, options, habits, False, counts)
        _look(windows, lanes, i, seen[i])


@compiled
def act(
    windows: Windows, lanes: Lanes, actions: IntArray, seen: SingleArray, costs: FloatArray, done: BoolArray
) -> None:
    """Take an action in every lane, as :func:`step_all` does, and begin nothing."""
    counts = _counts(windows)
    for i in range(len(actions)):
        done[i], costs[i] = _place(windows, lanes, i, actions[i], counts)
        _look(windows, lanes, i, seen[i])


@compiled
def begin_all(
    rng: np.random.Generator,
    windows: Windows,
    lanes: Lanes,
    options: IntArray,
    habits: FloatArray,
    fresh: bool,
    seen: SingleArray,
) -> None:
    """Begin an episode in every lane, in a window that is opened now if ``fresh``; fill what is seen.

    A repair that was not ended counts as none.
    """
    counts = _counts(windows)
    for i in range(len(lanes.window)):
        _begin(rng, windows, lanes, i, options, habits, fresh, counts)
        _look(windows, lanes, i, seen[i])


@compiled
def look_all(windows: Windows, lanes: Lanes, seen: SingleArray) -> None:
    """Fill what is seen in every lane."""
    for i in range(len(lanes.window)):
        _look(windows, lanes, i, seen[i])


@compiled
def _counts(windows: Windows) -> tuple[IntArray, IntArray]:
    """Counters of nodes per leaf switch and per pod, all 0."""
    return np.zeros(int(windows.scale[0]), np.int64), np.zeros(int(windows.scale[1]), np.int64)


@compiled
def _look(windows: Windows, lanes: Lanes, i: int, seen: SingleArray) -> None:
    w = lanes.window[i]
    a, b = windows.first_node[w], windows.first_node[w + 1]
    sizes = windows.sizes[windows.first_job[w] : windows.first_job[w + 1]]
    left, out = lanes.left[i, : lanes.length[i]], lanes.out[i, lanes.at[i] : lanes.moved[i]]
    observe(left, windows.leaf[a:b], windows.pod[a:b], out, sizes, windows.scale, seen)


@compiled
def _place(
    windows: Windows, lanes: Lanes, i: int, action: int, counts: tuple[IntArray, IntArray]
) -> tuple[bool, float]:
    """Put the next job of a lane where it begins; whether it was the last, and then the cost of all that came back."""
    w = lanes.window[i]
    a, b = windows.first_node[w], windows.first_node[w + 1]
    job = lanes.out[i, lanes.at[i]]
    size = windows.sizes[windows.first_job[w] + job]
    lanes.at[i] += 1
    _put(
        lanes,
        i,
        job,
        size,
        action,
        Switches(windows.leaf[a:b], windows.pod[a:b], windows.weights, counts[0], counts[1]),
    )
    total = 0.0
    if lanes.at[i] < lanes.moved[i]:
        return False, total
    for k in range(lanes.moved[i]):
        total += lanes.costs[i, lanes.out[i, k]]
    return True, total


@compiled
def _put(lanes: Lanes, i: int, job: int, size: int, start: int, switches: Switches) -> None:
    """Put a job of a lane on consecutive entries of what is left of Q."""
    left, m = lanes.left[i], lanes.length[i]
    lanes.costs[i, job] = block_cost(left, m, start, size, switches)
    lanes.length[i] = take(lanes.owner[i], left, m, start, size, job)


@compiled
def _begin(
    rng: np.random.Generator,
    windows: Windows,
    lanes: Lanes,
    i: int,
    options: IntArray,
    habits: FloatArray,
    fresh: bool,
    counts: tuple[IntArray, IntArray],
) -> None:
    """Go on in the window of a lane, or open another one, and take jobs out."""
    if fresh or lanes.repairs[i] == 0 or lanes.repairs[i] >= habits[REPAIRS]:
        _open(rng, windows, lanes, i, habits, counts)
    elif not _kept(rng, lanes, i):
        _copy(lanes.owner_before, lanes.owner, i, _nodes(windows, lanes, i))
        _copy(lanes.costs_before, lanes.costs, i, lanes.costs.shape[1])
    w, nodes = lanes.window[i], _nodes(windows, lanes, i)
    _copy(lanes.owner, lanes.owner_before, i, nodes)
    _copy(lanes.costs, lanes.costs_before, i, lanes.costs.shape[1])
    owner = lanes.owner[i, :nodes]
    sizes = windows.sizes[windows.first_job[w] : windows.first_job[w + 1]]
    # As annealing does, which keeps to states that an order of placing reaches; the walk does not ask.
    options[NESTED] = MEND if lanes.temperature[i] < np.inf else ANYTHING
    removed, asides = np.zeros(len(sizes), np.bool_), np.zeros(2)
    moved = take_out(rng, owner, lanes.out[i], removed, sizes, options, asides)
    lanes.repairs[i] += 1
    lanes.moved[i], lanes.at[i] = moved, 0
    lanes.length[i] = gather(owner, lanes.left[i])


@compiled
def _nodes(windows: Windows, lanes: Lanes, i: int) -> int:
    """Idle nodes in the window of a lane."""
    w = lanes.window[i]
    return int(windows.first_node[w + 1] - windows.first_node[w])


@compiled
def _copy(source: IntArray | FloatArray, target: IntArray | FloatArray, i: int, count: int) -> None:
    # Not by assignment, which takes seconds to compile because it may fail with words.
    for k in range(count):
        target[i, k] = source[i, k]


@compiled
def _kept(rng: np.random.Generator, lanes: Lanes, i: int) -> bool:
    """Whether the repair of a lane was ended and stays (algorithm 1, steps 5 to 9)."""
    if lanes.at[i] < lanes.moved[i]:
        return False
    loss = lanes.costs[i].sum() - lanes.costs_before[i].sum()
    return loss <= 0 or rng.random() < math.exp(-loss / lanes.temperature[i])


@compiled
def _open(
    rng: np.random.Generator,
    windows: Windows,
    lanes: Lanes,
    i: int,
    habits: FloatArray,
    counts: tuple[IntArray, IntArray],
) -> None:
    """Draw a window for a lane, a temperature and a solution to begin with: the first fit or a random one."""
    w = int(rng.random() * (len(windows.first_node) - 1))
    a, b = windows.first_node[w], windows.first_node[w + 1]
    nodes = b - a
    switches = Switches(windows.leaf[a:b], windows.pod[a:b], windows.weights, counts[0], counts[1])
    lanes.window[i], lanes.repairs[i] = w, 0
    walks = rng.random() < habits[WALK]
    lanes.temperature[i] = np.inf if walks else habits[TMIN] * (habits[TMAX] / habits[TMIN]) ** rng.random()
    scattered = rng.random() < habits[SCATTERED]
    lanes.owner[i, :nodes] = -1
    lanes.costs[i] = 0.0
    lanes.length[i] = gather(lanes.owner[i, :nodes], lanes.left[i])
    for job in range(windows.first_job[w + 1] - windows.first_job[w]):
        size = windows.sizes[windows.first_job[w] + job]
        start = int(rng.random() * min(lanes.length[i], SEEN)) if scattered else 0
        _put(lanes, i, job, size, start, switches)
