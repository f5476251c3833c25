"""Local search: take started jobs away, start others in another order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import reordered, stable_order, sum_of
from transom.errors import SpecError
from transom.heuristics.joint.greedy import TINY, JointGreedy, construct, order_of
from transom.heuristics.joint.room import Jobs, Room, cost_of, insert, jobs_of, move, owners, room_of
from transom.models.arrays import FloatArray, IntArray
from transom.models.joint import Joint
from transom.solving import TakesAll, presolve
from transom.stop import Budget

_WORK = 30_000  # of a chunk of steps between two looks at the clock: jobs times leaf switches times levels
_STEPS = 20_000  # where nothing else ends the search


class Best(NamedTuple):
    """The best state, and the present one: nodes of each job by leaf switch, what each started job brings."""

    counts: IntArray
    gains: FloatArray
    now: IntArray
    brings: FloatArray


@dataclass(frozen=True, slots=True)
class JointSearch(TakesAll):
    """Ruin and recreate: some started jobs give their nodes back, jobs start again in a blurred greedy order.

    It begins with the greedy answer or with ``start``. A step is kept if it is worth no less than the present state;
    after ``patience`` steps without a better state it restarts from the best one with a larger ruin. An iteration is a
    step; time only ever ends the search. Without any limit it takes 20,000 steps. It may find room for mandatory jobs
    where one pass does not.

    Parameters
    ----------
    patience : steps without an improvement before a restart, >= 1.

    Raises
    ------
    SpecError : the condition above does not hold.

    References
    ----------
    Schrimpf et al., Record breaking optimization results using the ruin and recreate principle, Journal of
    Computational Physics 159, 2000.
    """

    name: ClassVar[str] = "joint-search"
    solves: ClassVar[type] = Joint

    patience: int = 200

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise SpecError(f"joint-search: patience must be >= 1, got {self.patience}")

    def warm_up(self) -> None:
        """Compile the kernels."""
        JointGreedy().warm_up()
        room, jobs, best = _begin(TINY, np.zeros(2, np.int64))[1:]
        search(room, jobs, order_of(jobs), best, np.random.default_rng(0), 1, 0)

    def __call__(self, problem: Joint, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        owner = construct(problem)
        feasible = not problem.violations(owner)
        if feasible:
            budget.found(owner)
        if start is not None and (not feasible or problem.value(start) > problem.value(owner)):
            budget.found(start)
            owner = np.array(start, np.int64)
        leaf, room, jobs, best = _begin(problem, owner)
        order = order_of(jobs)
        chunk = max(1, _WORK // (1 + best.now.size * len(room.above)))
        endless = budget.seconds_left() == math.inf and budget.iterations_left() is None
        since = 0
        while not budget.done() and not (endless and budget.iterations >= _STEPS):
            limit = budget.iterations_left()
            count = min(chunk, self.patience - since, chunk if limit is None else limit)
            better_at = search(room, jobs, order, best, rng, count, since)
            budget.spend(better_at or count)
            since = count - better_at if better_at else since + count
            if better_at:
                owner = owners(problem, leaf, best.counts)
                if not problem.violations(owner):
                    budget.found(owner)
                budget.spend(count - better_at)
            if since >= self.patience:
                since = 0
                move_all(room, best.now, 1)
                best.now[:], best.brings[:] = best.counts, best.gains
                move_all(room, best.now, -1)


def _begin(problem: Joint, owner: IntArray) -> tuple[IntArray, Room, Jobs, Best]:
    """Leaf switch of each idle node, what is left, the jobs, and the state that a solution is."""
    room, leaf = room_of(problem)
    jobs = jobs_of(problem)
    counts = np.zeros((len(problem), room.above.shape[1]), np.int64)
    np.add.at(counts, (owner[owner >= 0], leaf[owner >= 0]), 1)
    gains, pairs = np.zeros(len(problem)), np.zeros(counts.shape[1], np.int64)
    for job in np.flatnonzero(counts.any(axis=1)).tolist():
        gains[job] = jobs.weights[job] - jobs.cost_weight * cost_of(room, jobs.sizes[job], counts[job], pairs)
    counts[gains <= 0] = gains[gains <= 0] = 0  # of a given start: better without
    move_all(room, counts, -1)
    return leaf, room, jobs, Best(counts.copy(), gains.copy(), counts, gains)


@compiled
def move_all(room: Room, counts: IntArray, sign: int) -> None:
    """Give back or take the nodes of all jobs."""
    for job in range(len(counts)):
        move(room, counts[job], sign)


@compiled
def search(
    room: Room, jobs: Jobs, order: IntArray, best: Best, rng: np.random.Generator, steps: int, since: int
) -> int:
    """Take steps from the present state; ``best`` becomes the best state that was met.

    Parameters
    ----------
    order : the greedy order of the jobs.
    steps : how many.
    since : steps since the last improvement: ruins grow with them.

    Returns
    -------
    The step that made ``best`` what it is, from 1; 0 if none did.
    """
    number, better_at = len(order), 0
    record, present = sum_of(best.gains), sum_of(best.brings)
    kept, brought, free = np.empty_like(best.now), np.empty_like(best.brings), np.empty_like(room.free)
    held, rank = np.empty(number, np.int64), np.empty(number)
    for step in range(1, steps + 1):
        kept[:], brought[:], free[:] = best.now, best.brings, room.free
        started = 0
        for job in range(number):
            if best.brings[job] != 0:
                held[started] = job
                started += 1
        most = min(started, 2 + (since + step) // 20)
        out = int(rng.integers(1, most + 1)) if started else 0
        for k in range(out):
            at = int(rng.integers(k, started))
            held[k], held[at] = held[at], held[k]
            move(room, best.now[held[k]], 1)
            best.now[held[k]] = 0
            best.brings[held[k]] = 0
        blur = rng.random() * number
        for k in range(number):
            rank[k] = k + blur * rng.random()
        insert(room, jobs, reordered(order, stable_order(rank)), best.now, best.brings)
        trial = sum_of(best.brings)
        if trial < present:
            best.now[:], best.brings[:], room.free[:] = kept, brought, free
            continue
        present = trial
        if present > record * (1 + 1e-12) + 1e-12:
            record, better_at = present, step
            best.counts[:], best.gains[:] = best.now, best.brings
    return better_at
