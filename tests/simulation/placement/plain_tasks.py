"""Replays of tasks in plain Python, instance by instance, sharing nothing with the package but the workload."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from transom.traces.tasks import TaskWorkload

Cell = tuple[int, int]
"""A task and a machine."""

Choose = Callable[["PlainReplay"], "Cell | None"]


class PlainReplay:
    """Textbook events: whole seconds, exact integers; ``choose`` is asked until it has nothing to start."""

    def __init__(self, work: TaskWorkload) -> None:
        self.work = work
        self.free: list[list[Any]] = work.machines.tolist()
        self.demand: list[list[Any]] = work.demands.tolist()
        self.left: list[int] = work.instances.tolist()
        self.running = [0] * len(self.left)
        self.open: list[int] = []
        self.starts: list[tuple[int, int, int, int]] = []

    def fits(self, task: int, machine: int) -> bool:
        return all(has >= need for has, need in zip(self.free[machine], self.demand[task], strict=True))

    def waiting(self) -> list[int]:
        return [task for task in self.open if self.left[task]]

    def pairs(self) -> list[Cell]:
        """All that fits, machine by machine."""
        return [(t, m) for m in range(len(self.free)) for t in self.waiting() if self.fits(t, m)]

    def take(self, task: int, machine: int) -> None:
        self.left[task] -= 1
        self.running[task] += 1
        for r, need in enumerate(self.demand[task]):
            self.free[machine][r] -= need

    def give_back(self, task: int, machine: int) -> None:
        self.running[task] -= 1
        for r, need in enumerate(self.demand[task]):
            self.free[machine][r] += need

    def run(self, choose: Choose) -> PlainReplay:
        submit = [int(self.work.submit[job]) for job in self.work.job]
        length = [math.ceil(d) for d in self.work.duration.tolist()]
        ends: list[tuple[int, int, int]] = []
        for now in range(10**9):
            for end, task, machine in [each for each in ends if each[0] == now]:
                ends.remove((end, task, machine))
                self.give_back(task, machine)
            self.open += [task for task, when in enumerate(submit) if when == now]
            while (cell := choose(self)) is not None:
                self.take(*cell)
                ends.append((now + length[cell[0]], *cell))
                self.starts.append((*cell, now, now + length[cell[0]]))
            if not ends and not any(self.left):
                return self
        raise AssertionError


class PlainCloudSimPy(PlainReplay):
    """The program as a queue of events by (time, urgency, number), as SimPy has it; returns the last event's time."""

    def __init__(self, work: TaskWorkload) -> None:
        super().__init__(work)
        units = work.units
        self.free = [[int(a) / u for a, u in zip(row, units, strict=True)] for row in work.machines]
        self.demand = [[int(a) / u for a, u in zip(row, units, strict=True)] for row in work.demands]

    def makespan(self, choose: Choose) -> int:
        queue: list[tuple[float, int, int, Callable[[], None]]] = []
        numbers = iter(range(10**9))
        clock = [0.0]
        running = [0]
        arrived = [0]
        jobs = len(self.work.job_ids)

        def schedule(delay: float, what: Callable[[], None], urgent: bool = False) -> None:
            heapq.heappush(queue, (clock[0] + delay, 0 if urgent else 1, next(numbers), what))

        def broker() -> None:
            if arrived[0] < jobs:
                schedule(int(self.work.submit[arrived[0]]) - clock[0], submit)

        def submit() -> None:
            self.open += np.flatnonzero(self.work.job == arrived[0]).tolist()
            arrived[0] += 1
            broker()

        def scheduler() -> None:
            if arrived[0] == jobs and not any(self.left) and not running[0]:
                return
            while (cell := choose(self)) is not None:
                self.take(*cell)
                running[0] += 1
                self.starts.append((*cell, int(clock[0]), 0))
                schedule(0, lambda cell=cell: instance(*cell), urgent=True)
            schedule(1, scheduler)

        def instance(task: int, machine: int) -> None:
            def end() -> None:
                self.give_back(task, machine)
                running[0] -= 1

            schedule(float(self.work.duration[task]), end)

        schedule(0, broker, urgent=True)
        schedule(0, scheduler, urgent=True)
        last = 0.0
        while queue:
            clock[0], _, _, what = heapq.heappop(queue)
            last = clock[0]
            what()
        return int(last)


def _shares(replay: PlainReplay, machine: int) -> float:
    machines = replay.work.machines.astype(float)
    total = 0.0
    for r, amount in enumerate(replay.free[machine]):
        total += amount * (1 / machines[:, r].max())
    return total


def in_order(key: Callable[[PlainReplay, int], float], prefer: Callable[[PlainReplay, int], float]) -> Choose:
    """The first task by a key, on the machine that is preferred, of equal ones the first."""

    def choose(replay: PlainReplay) -> Cell | None:
        for task in sorted(replay.waiting(), key=lambda t: (key(replay, t), t)):
            if machines := [m for m in range(len(replay.free)) if replay.fits(task, m)]:
                return task, min(machines, key=lambda m: (prefer(replay, m), m))
        return None

    return choose


def last_machine(replay: PlainReplay) -> Cell | None:
    """FirstFitAlgorithm of the program: the machines' loop goes on after a hit."""
    found = None
    for machine in range(len(replay.free)):
        for task in replay.waiting():
            if replay.fits(task, machine):
                found = task, machine
                break
    return found


def aligned(weigh: Callable[[PlainReplay, int, int], float]) -> Choose:
    """The pair of greatest alignment; ``weigh(replay, machine, resource)`` is what a unit counts."""

    def choose(replay: PlainReplay) -> Cell | None:
        best, cell = -math.inf, None
        for task, machine in replay.pairs():
            score = 0.0
            for r, need in enumerate(replay.demand[task]):
                score += replay.free[machine][r] * weigh(replay, machine, r) * need
            if score > best:
                best, cell = score, (task, machine)
        return cell

    return choose


def fairest(replay: PlainReplay) -> Cell | None:
    """The first task that fits of the job with the least dominant share."""
    work = replay.work
    totals = work.machines.astype(float).sum(axis=0)

    def share(job: int) -> float:
        shares = []
        for r in range(len(totals)):
            share = 0.0
            for task in np.flatnonzero(work.job == job).tolist():
                share += replay.running[task] * (replay.demand[task][r] * (1 / totals[r]))
            shares.append(share)
        return max(shares)

    cells = [(t, m) for t in replay.waiting() for m in range(len(replay.free)) if replay.fits(t, m)]
    return min(cells, key=lambda cell: (share(int(work.job[cell[0]])), cell), default=None)


def uniform(draws: list[float]) -> Choose:
    """Any pair with equal chance, by the number drawn for this start."""

    def choose(replay: PlainReplay) -> Cell | None:
        pairs = replay.pairs()
        return pairs[int(draws[len(replay.starts)] * len(pairs))] if pairs else None

    return choose


RULES: dict[str, Choose] = {
    "first-fit": in_order(lambda _, t: t, lambda _, m: m),
    "best-fit": in_order(lambda _, t: t, _shares),
    "longest-first": in_order(lambda r, t: -r.work.estimate[t], lambda r, m: -_shares(r, m)),
    "shortest-first": in_order(lambda r, t: r.work.estimate[t], lambda r, m: -_shares(r, m)),
    "tetris": aligned(lambda r, m, k: float(r.work.machines[m, k]) ** -2.0),
    "tetris:as-coded=yes": aligned(lambda r, _, k: float(r.work.units[k]) ** -2.0),
    "first-fit:as-coded=yes": last_machine,
    "drf": fairest,
}
"""The compiled rules by name, but for ``random``."""
