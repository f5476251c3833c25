"""Placement: how many instances of each waiting task to start on which machine."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError, shown
from transom.models.arrays import NONE, BoolArray, Frozen, IntArray, Like, Several, as_array, frozen_ints, model
from transom.models.knapsack import Knapsack
from transom.models.objectives import SCALE, Objective, UsedNodes
from transom.models.window import Window

AMOUNT = 2**62
"""What an amount of a resource must stay below: a machine of 2**61 units leaves room to add two of them in 64 bits."""

INSTANCES = 2**31
"""What the waiting instances of a task must stay below."""

OBJECTIVES = ("count", "area", "area-duration")
"""What an instance can be worth by name; see :meth:`Placement.with_objective`."""

_DEFAULT: Any = None  # stands for an array that follows from the others
_SHOWN = 3  # lines of a kind in a list of violations


@model
class Placement(Frozen):
    r"""Place instances of tasks on machines so that no capacity is exceeded and the placed ones are worth the most.

    .. math:: \max \sum_t v_t \sum_m x_{tm} \quad\text{s.t.}\quad \sum_t d_{tr} x_{tm} \le c_{mr},\quad
        \sum_m x_{tm} \le n_t,\quad x_{tm} \in \{0, 1, \dots\}

    A solution is an integer array of shape ``(T, M)``: instances of task t on machine m. All amounts are integers, in
    units that are as small as they have to be: memory in 2**-61 of a machine holds every share that is stored in double
    precision. Amounts of one machine are added up in 64 bits, those of several machines in integers of any length.

    Parameters
    ----------
    free : :math:`c`, what each machine has left of each resource, int64, >= 0 and < 2**62, shape ``(M, R)``.
    demands : :math:`d`, what an instance of each task needs, int64, >= 0 and < 2**62, shape ``(T, R)``.
    waiting : :math:`n`, instances of each task that wait, int64, >= 0 and < 2**31, shape ``(T,)``.
    values : :math:`v`, what an instance is worth, int64, >= 0, shape ``(T,)``; by default 1.
    durations : expected runtime of an instance of each task [s], int64, >= 0, shape ``(T,)``; by default 1.
    maximal : whether a solution is refused in which a waiting instance still fits on a machine (a non-delay schedule).
    scale : what real values were multiplied by before they became integers.
    capacities : what each machine has of each resource when it is empty, at least ``free``, shape ``(M, R)``;
        by default ``free``.
    resources : names of the resources; by default ``r0``, ``r1`` and so on.

    Raises
    ------
    ModelError : shapes differ, an amount is out of range, or all waiting instances together are worth 2**62 or more.
    """

    kind: ClassVar[str] = "placement"
    sense: ClassVar[str] = "max"

    free: Like[IntArray]
    demands: Like[IntArray]
    waiting: Like[IntArray]
    values: Like[IntArray] = _DEFAULT
    durations: Like[IntArray] = _DEFAULT
    maximal: bool = False
    scale: int = 1
    capacities: Like[IntArray] = _DEFAULT
    resources: Several[str] = NONE

    def __post_init__(self) -> None:
        free = _amounts(self.free, "free", (-1, -1), "machine", AMOUNT)
        machines, resources = free.shape
        if not machines or not resources:
            raise ModelError(f"placement: there must be a machine and a resource, free has shape {free.shape}")
        given = as_array(self.demands)
        rows = given.reshape(0, resources) if given.size == 0 else self.demands
        demands = _amounts(rows, "demands", (-1, resources), "task", AMOUNT)
        tasks = (len(demands),)
        waiting = _amounts(self.waiting, "waiting", tasks, "task", INSTANCES)
        ones = np.ones(tasks, np.int64)
        values = _amounts(ones if self.values is None else self.values, "values", tasks, "task", AMOUNT)
        durations = _amounts(ones if self.durations is None else self.durations, "durations", tasks, "task", 2**63)
        capacities = self.free if self.capacities is None else self.capacities
        capacities = _amounts(capacities, "capacities", free.shape, "machine", AMOUNT)
        if (free > capacities).any():
            machine, resource = np.argwhere(free > capacities)[0].tolist()
            raise ModelError(
                f"placement: machine {machine}: {free[machine, resource]} of resource {resource} are free, but its "
                f"capacity is {capacities[machine, resource]}"
            )
        if (values.astype(np.float64) @ waiting.astype(np.float64)) >= 2.0**62:
            raise ModelError("placement: what all waiting instances are worth does not fit into 62 bits")
        scale = int(frozen_ints(self.scale, "placement: scale", ()))
        if scale <= 0:
            raise ModelError(f"placement: scale must be > 0, got {scale}")
        if not isinstance(self.maximal, (bool, np.bool_)):
            raise ModelError(f"placement: maximal must be true or false, got {shown(self.maximal)}")
        for name, value in (
            ("free", free), ("demands", demands), ("waiting", waiting), ("values", values), ("durations", durations),
            ("maximal", bool(self.maximal)), ("scale", scale), ("capacities", capacities),
            ("resources", _names(self.resources, resources)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @classmethod
    def from_window(cls, window: Window, objective: Objective | None = None) -> Placement:
        """The placement of a window: jobs are tasks of one instance, all that is free is one machine.

        Parameters
        ----------
        window : the window. A job whose parent waits or runs in it cannot start now: none of it waits.
        objective : value per queued job, by default the used nodes; floats are scaled by
            :data:`~transom.models.objectives.SCALE` and rounded, positive ones to 1 at least.
        """
        given = np.asarray((objective or UsedNodes())(window))
        values, scale = _scaled(given) if given.dtype.kind == "f" else (given, 1)
        present = {*window.queue.id.tolist(), *window.running.id.tolist()}
        parents = window.queue.depends_on
        blocked = [bool(present.intersection(parents.get(job, ()))) for job in window.queue.id.tolist()]
        return cls(
            free=window.available[None, :],
            demands=window.requests(),
            waiting=1 - np.array(blocked, np.int64),
            values=np.maximum(values, 0),
            durations=window.queue.walltime,
            scale=scale,
            capacities=[[window.cluster.num_nodes, *window.cluster.capacities]],
            resources=("nodes", *window.cluster.resources),
        )

    @classmethod
    def from_knapsack(cls, problem: Knapsack) -> Placement:
        """A knapsack as one machine with one resource; items of negative value do not wait."""
        return cls(
            free=[[problem.capacity]],
            demands=problem.weights[:, None],
            waiting=(problem.values >= 0).astype(np.int64),
            values=np.maximum(problem.values, 0),
            scale=problem.scale,
        )

    def with_objective(self, objective: str) -> Placement:
        r"""The same placement with other values.

        Parameters
        ----------
        objective : ``count``, 1 for every instance; ``area``, :math:`a_t = \sum_r d_{tr} / C_r` with the capacity
            :math:`C_r` of all machines together; ``area-duration``, :math:`a_t` times the duration. The latter two are
            scaled by :data:`~transom.models.objectives.SCALE` and rounded, positive ones to 1 at least; resources of
            which there are none do not count.

        Raises
        ------
        ModelError : there is no such objective, or the values are too large.
        """
        if objective not in OBJECTIVES:
            raise ModelError(f"placement: unknown objective {objective!r}. Known: {', '.join(OBJECTIVES)}")
        values: ArrayLike = np.ones(len(self), np.int64)
        scale = 1
        if objective != "count":
            totals = self.capacities.astype(np.float64).sum(axis=0)  # in double precision: 64 bits may not hold the sum
            areas = (self.demands[:, totals > 0] / totals[totals > 0]).sum(axis=1)
            values, scale = _scaled(areas * (self.durations if objective == "area-duration" else 1))
        return Placement(
            self.free, self.demands, self.waiting, values, self.durations,
            self.maximal, scale, self.capacities, self.resources,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.demands)

    def value(self, solution: ArrayLike) -> int:
        """What the placed instances, shape ``(T, M)``, are worth."""
        return int(np.einsum("i,ij->", self.values, self._matrix(solution)))

    def used(self, solution: ArrayLike) -> IntArray:
        """What a feasible solution takes of each machine's resources, shape ``(M, R)``."""
        taken: IntArray = self._matrix(solution).T @ self.demands
        return taken

    def fitting(self, room: IntArray) -> IntArray:
        """How many instances of each task fit on each machine alone, without regard to how many wait.

        Parameters
        ----------
        room : what is free, shape ``(M, R)``.

        Returns
        -------
        Shape ``(T, M)``; :data:`INSTANCES` where nothing limits them.
        """
        limits = np.full((len(self), len(room)), INSTANCES, np.int64)
        for needed, left in zip(self.demands.T, room.T, strict=True):
            asked = needed > 0
            limits[asked] = np.minimum(limits[asked], left // needed[asked, None])
        return limits

    def violations(self, solution: ArrayLike) -> list[str]:
        """Every condition that ``solution``, shape ``(T, M)``, breaks, in words; empty if it is feasible."""
        given = as_array(solution)
        shape = (len(self), len(self.free))
        if given.shape != shape and (len(self) or given.size):
            return [f"a solution has shape {shape}, got {given.shape}"]
        if given.size and given.dtype.kind not in "iub":
            return ["a solution holds whole numbers"]
        # Of millions of pairs of task and machine few are used; numpy finds those of a comparison faster.
        pairs = np.flatnonzero(given != 0)
        tasks, machines = pairs // max(len(self.free), 1), pairs % max(len(self.free), 1)
        counts = given.reshape(-1)[pairs].astype(np.int64)
        if counts.size and counts.min() < 0:
            at = int(np.argmax(counts < 0))
            return [f"task {tasks[at]}: {counts[at]} instances on machine {machines[at]}"]
        over = np.zeros(len(self), np.bool_)
        over[tasks[counts > self.waiting[tasks]]] = True  # before they are added up, which might overflow
        sums = np.zeros(len(self), np.int64)
        np.add.at(sums, tasks, np.where(over[tasks], 0, counts))
        over |= sums > self.waiting
        broken = [f"task {t}: {self.waiting[t]} instances wait, but more are placed" for t in np.flatnonzero(over)]
        if broken:
            return _first(broken)
        amounts = np.zeros(self.free.shape)
        np.add.at(amounts, machines, counts[:, None] * self.demands[tasks].astype(np.float64))
        # Below 2**62 in double precision is below 2**63 in truth: 64 bits hold the sum.
        exact: Any = object if amounts.size and amounts.max() >= 2.0**62 else np.int64
        taken: Any = np.zeros(self.free.shape, exact)
        np.add.at(taken, machines, counts.astype(exact)[:, None] * self.demands[tasks].astype(exact))
        broken = [
            f"machine {m}: {taken[m, r]} of {self.resources[r]} are taken, {self.free[m, r]} are free"
            for m, r in np.argwhere(taken > self.free).tolist()
        ]
        if broken or not self.maximal:
            return _first(broken)
        left = self.waiting > sums
        fits = (self.fitting(self.free - taken) > 0) & left[:, None]
        return _first([f"task {t} still fits on machine {m}" for t, m in np.argwhere(fits).tolist()])

    def frozen(self, solution: ArrayLike) -> IntArray:
        """``solution`` as a read-only array, shape ``(T, M)``: itself where it is one, as copies take time."""
        array = self._matrix(solution)
        if array.flags.writeable or array.base is not None:
            array = array.copy()
            array.flags.writeable = False
        return array

    def completed(self, solution: ArrayLike) -> IntArray:
        """A feasible solution, shape ``(T, M)``, with all that still fits: high values first, on the first machines."""
        placed = self._matrix(solution).copy()
        room, left = self.free - self.used(placed), self.waiting - placed.sum(axis=1)
        fits = ((self.fitting(room) > 0) & (left > 0)[:, None]).any(axis=1)
        for task in sorted(np.flatnonzero(fits).tolist(), key=lambda task: -self.values[task]):
            needed = self.demands[task]
            limits = [room[:, r] // need for r, need in enumerate(needed.tolist()) if need]
            most = np.minimum(np.minimum.reduce(limits), left[task]) if limits else np.full(len(room), left[task])
            count = np.clip(left[task] - np.cumsum(most) + most, 0, most)
            placed[task] += count
            room -= count[:, None] * needed
        return placed

    def trivial(self) -> IntArray | None:
        """All waiting instances, shape ``(T, M)``, where first-fit has room, none where nothing fits, else None."""
        # Those that fit on the machine with the most of some resource are most of all, and few machines to ask.
        widest = self.free[np.unique(self.free.argmax(axis=0))] if self.free.size else self.free
        if self._exceed((self.waiting > 0) & (self.fitting(widest) > 0).any(axis=1)):
            return None
        fits = (self.waiting > 0) & (self.fitting(self.free) > 0).any(axis=1)
        if self._exceed(fits):
            return None
        wanted = np.where(fits, self.waiting, 0)
        placed = self.completed(np.zeros((len(self), len(self.free)), np.int64))
        return placed if (placed.sum(axis=1) == wanted).all() else None

    def _exceed(self, chosen: BoolArray) -> bool:
        """Whether all waiting instances of some tasks, shape ``(T,)``, need more than all machines have together."""
        asked = np.where(chosen, self.waiting, 0).astype(np.float64) @ self.demands.astype(np.float64)
        return bool((asked > self.free.astype(np.float64).sum(axis=0) * (1 + 1e-9)).any())

    def _matrix(self, solution: ArrayLike) -> IntArray:
        array, shape = np.asarray(solution, np.int64), (len(self), len(self.free))
        return array if array.shape == shape else array.reshape(shape)


def _amounts(given: ArrayLike, name: str, shape: tuple[int, ...], row: str, below: int) -> IntArray:
    array = frozen_ints(given, f"placement: {name}", shape)
    wrong = (array < 0) | (array >= below)
    if wrong.any():
        at = np.argwhere(wrong)[0].tolist()
        value = array[tuple(at)]
        condition = ">= 0" if value < 0 else f"< 2**{below.bit_length() - 1}"
        raise ModelError(f"placement: {row} {at[0]}: {name} must be {condition}, got {value}")
    return array


def _scaled(given: Any) -> tuple[ArrayLike, int]:
    if given.size and given.max() >= AMOUNT / SCALE:
        raise ModelError(f"placement: an instance is worth {given.max():g}, which must be below {AMOUNT / SCALE:g}")
    # What is worth something stays worth something, or it would not count at all.
    return frozen_ints(np.where(given > 0, np.maximum(np.rint(given * SCALE), 1), 0), "placement: values"), SCALE


def _names(given: Any, resources: int) -> tuple[str, ...]:
    names = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if isinstance(given, (tuple, list)) and not names:
        return tuple(f"r{r}" for r in range(resources))
    if (
        not all(isinstance(name, str) and name for name in names)
        or len({*names}) != resources
        or len(names) != resources
    ):
        raise ModelError(f"placement: resources must be {resources} distinct names, got {shown(given)}")
    return names


def _first(broken: list[str]) -> list[str]:
    more = len(broken) - _SHOWN
    return broken if more <= 0 else [*broken[:_SHOWN], f"and {more} more such"]
