"""Workflow: tasks that wait for one another, and the formal problem of when to start each on a machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from transom._system.sorting import radix_order
from transom.errors import ModelError, shown
from transom.models.arrays import (
    NONE,
    FloatArray,
    Frozen,
    IntArray,
    Like,
    Several,
    as_array,
    frozen_floats,
    frozen_ints,
    model,
    whole,
)
from transom.models.task_graph import Adjacency, adjacency, cycle, longest_paths, topological_order

AMOUNT = 2**53
"""What an amount of a resource must stay below."""

_TOTAL = 2.0**50  # ticks that all tasks together take at most
_LATEST = 2**40  # s, before which tasks are released
_SHOWN = 3  # lines of a kind in a list of violations, and twice as many tasks of a cycle

_DEFAULT: Any = None  # stands for an array that follows from the others


class _Known:
    """What follows from the fields and is asked for again and again: rows of the edges, an order, ticks, the digest."""

    __slots__ = ("_children", "_digest", "_durations", "_order", "_parents", "_ticks")
    _digest: str
    _parents: Adjacency
    _children: Adjacency
    _order: IntArray
    _ticks: int
    _durations: IntArray


@model
class Workflow(_Known, Frozen):
    r"""Start each task of a workflow so that the last one ends as early as possible.

    .. math:: \min \max_t (s_t + p_t) \quad\text{s.t.}\quad s_t \ge r_t,\quad
        s_u + p_u \le s_t \;\text{for each edge } (u, t),\quad
        \sum_{t: s_t \le \tau < s_t + p_t} d_{tr} \le c_r \;\text{for all } \tau, r

    This is resource-constrained project scheduling. A solution is an integer array of shape ``(tasks,)``: the start of
    each task in ticks, of which :attr:`ticks` make a second. Values are seconds. Without a machine nothing is scarce.

    Parameters
    ----------
    name : of the workflow.
    tasks : names of the tasks, distinct.
    runtimes : :math:`p`, how long each task runs [s], >= 0, shape ``(tasks,)``.
    edges : pairs (parent, child) of positions; the child starts when the parent has ended, shape ``(edges, 2)``. They
        are kept distinct and sorted by child, then parent.
    nodes : nodes of each task, > 0 and < 2**53, shape ``(tasks,)``; by default 1.
    walltimes : limits that a scheduler knows [s], > 0, shape ``(tasks,)``; by default the runtimes, at least 1 s.
    resources : names of further resources, such as ``memory``.
    demands : what each task needs of these, >= 0 and < 2**53, shape ``(tasks, resources)``.
    costs : of running each task, in any unit, >= 0, shape ``(tasks,)``; by default 0.
    programs : what each task runs: tasks of the same program are alike; by default their names.
    submit : when the workflow is submitted [s]. The formal problem starts at 0 in any case.
    releases : :math:`r`, when each task may start at the earliest, on the clock of the problem [s], >= 0, shape
        ``(tasks,)``; by default 0. A window of several workflows has them
        (:func:`~transom.reductions.joining.joined`).
    machine : :math:`c`, nodes of the machine, then its amounts of the further resources, shape ``(1 + resources,)``;
        None: more than enough.
    repairs : what a reader guessed or left out: reason -> number; neither compared nor part of the digest.

    Raises
    ------
    ModelError : a condition above does not hold, tasks wait for each other in a cycle, or one does not fit on the
        machine; the message names the task.

    References
    ----------
    Brucker et al., Resource-constrained project scheduling: notation, classification, models, and methods, European
    Journal of Operational Research 112, 1999 (PS | prec | Cmax).
    """

    kind: ClassVar[str] = "workflow"
    sense: ClassVar[str] = "min"

    name: str
    tasks: Several[str]
    runtimes: Like[FloatArray]
    edges: Like[IntArray] = NONE
    nodes: Like[IntArray] = _DEFAULT
    walltimes: Like[FloatArray] = _DEFAULT
    resources: Several[str] = NONE
    demands: Like[IntArray] = _DEFAULT
    costs: Like[FloatArray] = _DEFAULT
    programs: Several[str] = NONE
    submit: int = 0
    machine: IntArray | None = None
    releases: Like[IntArray] = _DEFAULT
    repairs: Mapping[str, int] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError(f"workflow: name must be a text, got {shown(self.name)}")
        tasks, resources = _texts(self.tasks, "tasks"), _texts(self.resources, "resources")
        for what, names in (("task", tasks), ("resource", ("nodes", *resources))):
            if len({*names}) < len(names):
                raise ModelError(f"workflow: {what} {_twice(names)!r} stands twice")
        programs = _texts(self.programs, "programs") or tasks
        if len(programs) != len(tasks):
            raise ModelError(f"workflow: {len(tasks)} tasks, but {len(programs)} programs")
        count = (len(tasks),)
        runtimes = _numbers(self.runtimes, "runtime", tasks, 0.0)
        if runtimes.sum() >= 2.0**40:
            raise ModelError("workflow: all tasks together run for 2**40 s or more")
        limits = np.maximum(runtimes, 1.0) if self.walltimes is None else self.walltimes
        walltimes = _numbers(limits, "walltime", tasks, 0.0)
        if (walltimes <= 0).any():
            raise ModelError(f"workflow: task {tasks[int(walltimes.argmin())]!r}: walltime must be > 0 s")
        costs = _numbers(np.zeros(count) if self.costs is None else self.costs, "cost", tasks, 0.0)
        nodes = frozen_ints(np.ones(count, np.int64) if self.nodes is None else self.nodes, "workflow: nodes", count)
        shape = (len(tasks), len(resources))
        given = self.demands if self.demands is not None and np.size(self.demands) else np.zeros(shape, np.int64)
        demands = frozen_ints(given, "workflow: demands", shape)
        for names, amounts, least in (("nodes",), nodes[:, None], 1), (resources, demands, 0):
            for task, r in np.argwhere((amounts < least) | (amounts >= AMOUNT))[:1].tolist():
                condition = f">= {least}" if amounts[task, r] < least else "< 2**53"
                raise ModelError(
                    f"workflow: task {tasks[task]!r}: {names[r]} must be {condition}, got {amounts[task, r]}"
                )
        object.__setattr__(self, "repairs", MappingProxyType(dict(self.repairs)))
        releases = _releases(self.releases, tasks)
        edges = _edges(self.edges, tasks)
        for name, value in (
            ("tasks", tasks), ("resources", resources), ("programs", programs), ("runtimes", runtimes),
            ("walltimes", walltimes), ("costs", costs), ("nodes", nodes), ("demands", demands), ("edges", edges),
            ("submit", whole(self.submit, "workflow: submit")), ("releases", releases),
        ):  # fmt: skip
            object.__setattr__(self, name, value)
        parents, children = adjacency(edges, len(tasks))
        order = topological_order(parents, children)
        for name, known in (("_parents", parents), ("_children", children), ("_order", order)):
            object.__setattr__(self, name, known)
        if (found := cycle(parents, order)) is not None:
            circle = [tasks[each] for each in found]
            circle = circle if len(circle) <= 2 * _SHOWN else [*circle[: 2 * _SHOWN - 2], "...", circle[-1]]
            raise ModelError(f"workflow: tasks wait for each other in a cycle: {' -> '.join(circle)}")
        object.__setattr__(self, "_ticks", _ticks(runtimes))
        object.__setattr__(self, "_durations", np.rint(runtimes * self._ticks).astype(np.int64))
        if self.machine is not None:
            object.__setattr__(self, "machine", self._fitting(self.machine))

    def _fitting(self, given: ArrayLike) -> IntArray:
        """The machine, on which every task must fit."""
        machine = frozen_ints(given, "workflow: machine", (1 + len(self.resources),))
        names = ("nodes", *self.resources)
        for r in np.flatnonzero((machine < (np.arange(len(machine)) == 0)) | (machine >= AMOUNT))[:1].tolist():
            raise ModelError(f"workflow: {names[r]} of the machine must be {'> 0' if r == 0 else '>= 0'} and < 2**53")
        for task, r in np.argwhere(self.requests() > machine)[:1].tolist():
            wanted = self.requests()[task, r]
            raise ModelError(
                f"workflow: task {self.tasks[task]!r} needs {wanted} of {names[r]}, the machine has {machine[r]}"
            )
        return machine

    def on(self, nodes: int, amounts: Mapping[str, int] | None = None) -> Workflow:
        """The same workflow on a machine.

        Parameters
        ----------
        nodes : of the machine, > 0.
        amounts : of further resources, by name; of those that are not named there is enough for all tasks at once.

        Raises
        ------
        ModelError : a resource is unknown, or a task does not fit.
        """
        given = dict(amounts or {})
        enough = np.minimum(self.demands.sum(axis=0), AMOUNT - 1).tolist()
        machine = [nodes, *(given.pop(name, most) for name, most in zip(self.resources, enough, strict=True))]
        for name in given:
            known = ", ".join(self.resources) or "none"
            raise ModelError(f"workflow: no task states {name!r}; further resources: {known}")
        return replace(self, machine=frozen_ints(machine, "workflow: machine"))

    def take(self, tasks: ArrayLike) -> Workflow:
        """The tasks at some positions, shape ``(n,)``, in that order, and the edges among them.

        Raises
        ------
        ModelError : a position stands twice.
        """
        index = np.asarray(tasks, np.int64)
        at = np.full(len(self), -1)
        at[index] = np.arange(len(index))
        edges = at[self.edges]
        return Workflow(
            self.name, [self.tasks[i] for i in index.tolist()], self.runtimes[index], edges[(edges >= 0).all(axis=1)],
            self.nodes[index], self.walltimes[index], self.resources, self.demands[index], self.costs[index],
            [self.programs[i] for i in index.tolist()], self.submit, self.machine, self.releases[index],
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def parents(self) -> Adjacency:
        """The tasks that each task waits for."""
        return Adjacency(*(each.copy() for each in self._parents))

    @property
    def children(self) -> Adjacency:
        """The tasks that wait for each task."""
        return Adjacency(*(each.copy() for each in self._children))

    @property
    def ticks(self) -> int:
        """How many ticks make a second: the least power of ten up to 10**6 in which runtimes are whole numbers."""
        return self._ticks

    @property
    def durations(self) -> IntArray:
        """The runtimes in ticks, rounded where they have more than six decimals, shape ``(tasks,)``."""
        return self._durations.copy()

    def requests(self) -> IntArray:
        """Nodes, then further resources, shape ``(tasks, 1 + resources)``."""
        return np.column_stack((self.nodes, self.demands))

    def earliest(self) -> IntArray:
        """The earliest starts on a machine where nothing is scarce, in ticks, shape ``(tasks,)``."""
        return longest_paths(self._order, *self._parents, self._durations, self.releases * self._ticks)

    def tails(self) -> IntArray:
        """What follows after the end of each task on the longest path from it, in ticks, shape ``(tasks,)``."""
        backwards = np.ascontiguousarray(self._order[::-1])
        return longest_paths(backwards, *self._children, self._durations, np.zeros(len(self), np.int64))

    def critical_path(self) -> float:
        """When the longest path ends, releases counted [s]: no machine ends the workflow earlier."""
        return self.value(self.earliest())

    def order(self) -> IntArray:
        """The tasks level by level, parents before children, each level as in :attr:`tasks`; shape ``(tasks,)``."""
        return self._order.copy()

    def value(self, solution: ArrayLike) -> float:
        """The makespan [s] of starts in ticks, shape ``(tasks,)``."""
        makespan, ticks = int((np.asarray(solution, np.int64) + self.durations).max(initial=0)), self.ticks
        return makespan if ticks == 1 else makespan / ticks

    def violations(self, solution: ArrayLike) -> list[str]:
        """Every condition that ``solution``, shape ``(tasks,)``, breaks, in words; empty if it is feasible."""
        given = as_array(solution)
        if given.shape != (len(self),):
            return [f"a solution has a start for each of {len(self)} tasks, got shape {given.shape}"]
        if given.size and given.dtype.kind not in "iu":
            return ["a solution holds whole numbers of ticks"]
        if ((given < 0) | (given >= 2**62)).any():
            return [f"task {self.tasks[int(given.argmin())]!r} starts before 0, or one starts too late"]
        starts, durations, ticks = given.astype(np.int64), self.durations, self.ticks
        ends = starts + durations
        parent, child = self.edges.T
        early = np.flatnonzero(starts[child] < ends[parent])
        broken = [
            f"task {self.tasks[child[e]]!r} starts at {starts[child[e]] / ticks:g} s, its parent "
            f"{self.tasks[parent[e]]!r} ends at {ends[parent[e]] / ticks:g} s"
            for e in early[:_SHOWN].tolist()
        ]
        if len(early) > _SHOWN:
            broken.append(f"... and {len(early) - _SHOWN} more edges")
        unreleased = np.flatnonzero(starts < self.releases * ticks)
        broken += [
            f"task {self.tasks[t]!r} starts at {starts[t] / ticks:g} s, it is released at {self.releases[t]} s"
            for t in unreleased[:_SHOWN].tolist()
        ]
        if len(unreleased) > _SHOWN:
            broken.append(f"... and {len(unreleased) - _SHOWN} more releases")
        runs = durations > 0
        if self.machine is None or not runs.any():
            return broken
        times = np.concatenate((ends[runs], starts[runs]))
        by_time = radix_order(times)  # ends stand before starts of the same instant
        for r, name in enumerate(("nodes", *self.resources)):
            requests = (self.nodes if r == 0 else self.demands[:, r - 1])[runs]
            wide = 2 * float(requests.astype(np.float64).sum()) >= 2.0**62  # 64 bits may not hold the sums
            changes = np.concatenate((-requests, requests))[by_time]
            used = np.cumsum(changes.astype(object) if wide else changes)
            peak = int(used.argmax())
            if used[peak] > self.machine[r]:
                broken.append(
                    f"at {times[by_time][peak] / ticks:g} s {used[peak]} of {name} are in use, "
                    f"the machine has {self.machine[r]}"
                )
        return broken

    def frozen(self, solution: ArrayLike) -> IntArray:
        """``solution`` as a read-only array of its own, shape ``(tasks,)``."""
        return frozen_ints(solution, "workflow: solution", (len(self),))

    def digest(self) -> str:
        """As of every model; of 100,000 tasks it takes longer than a schedule, so it is made once."""
        if not hasattr(self, "_digest"):
            object.__setattr__(self, "_digest", Frozen.digest(self))
        return self._digest

    def warm_up(self) -> None:
        """Compile what longest paths are found with, and make the digest."""
        self.digest()
        none = np.zeros(0, np.int64)
        longest_paths(none, np.zeros(1, np.int64), none, none, none)

    def trivial(self) -> IntArray | None:
        """The earliest starts, shape ``(tasks,)``, if the machine has room for all of them, else None."""
        starts = self.earliest()
        if self.machine is not None and len(self):
            # The usual no, without a look at every instant: all tasks together take more than there is until the end.
            room = self.machine * float((starts + self._durations).max()) * (1 + 1e-6)
            if ((self._durations.astype(np.float64)[:, None] * self.requests()).sum(axis=0) > room).any():
                return None
        return None if self.violations(starts) else starts


def _texts(given: Any, what: str) -> tuple[str, ...]:
    if not isinstance(given, (tuple, list)) or not all(isinstance(each, str) and each for each in given):
        raise ModelError(f"workflow: {what} must be texts that are not empty, got {shown(given)}")
    return tuple(given)


def _twice(given: tuple[str, ...]) -> str:
    return next(each for each, times in Counter(given).items() if times > 1)


def _numbers(given: ArrayLike, what: str, tasks: tuple[str, ...], least: float) -> FloatArray:
    array = frozen_floats(given, f"workflow: {what}s", (len(tasks),))
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= least)))
    if wrong.size:
        task, number = tasks[wrong[0]], array[wrong[0]]
        raise ModelError(f"workflow: task {task!r}: {what} must be a number >= 0, got {number:g}")
    return array


def _releases(given: ArrayLike | None, tasks: tuple[str, ...]) -> IntArray:
    count = (len(tasks),)
    releases = frozen_ints(np.zeros(count, np.int64) if given is None else given, "workflow: releases", count)
    for task in np.flatnonzero((releases < 0) | (releases >= _LATEST))[:1].tolist():
        raise ModelError(f"workflow: task {tasks[task]!r}: release must be >= 0 and < 2**40 s, got {releases[task]}")
    return releases


def _edges(given: ArrayLike, tasks: tuple[str, ...]) -> IntArray:
    pairs = np.empty((0, 2), np.int64) if not np.size(given) else given
    edges = frozen_ints(pairs, "workflow: edges", (-1, 2))
    wrong = np.flatnonzero(((edges < 0) | (edges >= len(tasks))).any(axis=1))
    if wrong.size:
        raise ModelError(f"workflow: edge {edges[wrong[0]].tolist()}: there are {len(tasks)} tasks, from 0")
    ordered = edges[np.lexsort((edges[:, 0], edges[:, 1]))]
    new = np.ones(len(ordered), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return frozen_ints(ordered[new], "workflow: edges")


def _ticks(runtimes: FloatArray) -> int:
    total = float(runtimes.sum())
    for decimals in range(6):
        power: int = 10**decimals
        exact = runtimes * power
        if (np.abs(exact - np.rint(exact)) <= 2 * np.spacing(exact)).all() or total * power * 10 >= _TOTAL:
            return power
    return 1_000_000
