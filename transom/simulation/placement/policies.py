"""Policies that place tasks on machines, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from transom.models.arrays import FloatArray, IntArray
from transom.simulation.placement import passes
from transom.simulation.placement.passes import Rule
from transom.simulation.placement.state import Arranged, State
from transom.traces.tasks.workload import TaskWorkload

AsCoded = Literal["yes", "no", "rules"]
"""Whether a rule is that of the CloudSimPy program: ``rules``: under its event rules."""


@runtime_checkable
class TaskRule(Protocol):
    """A policy that is compiled."""

    def rule(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Rule:
        """The rule for a replay."""


@runtime_checkable
class TaskLoop(Protocol):
    """A policy with a compiled loop of its own."""

    def advance(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Callable[[State], bool]:
        """What goes on with a replay, as :func:`~transom.simulation.placement.passes.run_rule`: False when it is over,
        True when there is more to do or no room left to record it."""


def new_rule(
    choice_of: int,
    workload: TaskWorkload,
    arranged: Arranged,
    weight: FloatArray,
    rank: IntArray | None = None,
    draws: int = 0,
    rng: np.random.Generator | None = None,
) -> Rule:
    """A rule with its scratch arrays; tasks in order of submission unless a rank is given."""
    tasks, machines, jobs = len(workload), len(workload.machines), len(workload.job_ids)
    return Rule(
        choice_of=choice_of,
        rank=np.arange(tasks) if rank is None else rank,
        weight=weight,
        job=workload.job,
        first_task=np.searchsorted(workload.job, np.arange(jobs + 1)),
        draws=np.empty(0) if rng is None else rng.random(draws),
        score=np.empty(machines),
        choice=np.empty(machines, np.int64),
        share=np.empty(jobs),
        fitting=np.empty((machines, tasks if choice_of == passes.UNIFORM else 0), np.bool_),
        least=arranged.machines.max(axis=0),
    )


def _shares(arranged: Arranged) -> FloatArray:
    """What part of the largest machine a unit of each resource is, shape ``(M, R)``."""
    machines = arranged.machines.astype(np.float64)
    return np.broadcast_to(1 / machines.max(axis=0), machines.shape).copy()


def _as_coded(asked: AsCoded, arranged: Arranged) -> bool:
    return arranged.ticks if asked == "rules" else asked == "yes"


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Tasks in order of submission, each instance on the first machine where it fits.

    Parameters
    ----------
    as_coded : as the CloudSimPy program has it: the last machine that fits anything takes the first task that fits it;
        by default under its event rules.
    """

    as_coded: AsCoded = "rules"

    def rule(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Rule:
        """The rule for a replay."""
        coded = _as_coded(self.as_coded, arranged)
        return new_rule(passes.LAST_MACHINE if coded else passes.FIRST, workload, arranged, _shares(arranged))


@dataclass(frozen=True, slots=True)
class BestFit:
    """Tasks in order of submission, each instance on the machine with the least left, as shares of all resources."""

    def rule(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Rule:
        """The rule for a replay."""
        return new_rule(passes.TIGHTEST, workload, arranged, _shares(arranged))


@dataclass(frozen=True, slots=True)
class LongestFirst:
    """Tasks by falling estimate of their duration, each instance on the machine with the most free."""

    def rule(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Rule:
        """The rule for a replay."""
        return new_rule(passes.FREEST, workload, arranged, _shares(arranged), _rank(-workload.estimate))


@dataclass(frozen=True, slots=True)
class ShortestFirst:
    """Tasks by rising estimate of their duration, each instance on the machine with the most free."""

    def rule(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Rule:
        """The rule for a replay."""
        return new_rule(passes.FREEST, workload, arranged, _shares(arranged), _rank(workload.estimate))


@dataclass(frozen=True, slots=True)
class Tetris:
    """The pair of task and machine with the largest sum over resources of demand x free, as shares of the machine.

    Parameters
    ----------
    as_coded : as the CloudSimPy program has it: in raw units, where CPU weighs as many times memory as a machine has
        cores; by default under its event rules.

    References
    ----------
    Grandl et al., Multi-resource packing for cluster schedulers, SIGCOMM 2014, section 3.2.
    """

    as_coded: AsCoded = "rules"

    def rule(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Rule:
        """The rule for a replay."""
        if _as_coded(self.as_coded, arranged):
            whole = arranged.machines.dtype.kind == "i"
            scale = np.array(workload.units, np.float64) if whole else np.ones(len(workload.units))
            weight = np.broadcast_to(scale**-2.0, arranged.machines.shape).copy()
        else:
            weight = arranged.machines.astype(np.float64) ** -2.0
        return new_rule(passes.ALIGNMENT, workload, arranged, weight)


@dataclass(frozen=True, slots=True)
class DominantResourceFairness:
    """The job with the least dominant share gets the next instance, of its first task that fits, on the first machine.

    References
    ----------
    Ghodsi et al., Dominant resource fairness, NSDI 2011, Algorithm 1.
    """

    def rule(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Rule:
        """The rule for a replay."""
        totals = arranged.machines.astype(np.float64).sum(axis=0)
        return new_rule(passes.FAIREST, workload, arranged, np.broadcast_to(1 / totals, arranged.machines.shape).copy())


@dataclass(frozen=True, slots=True)
class UniformRandom:
    """Any pair of a waiting task and a machine where it fits, each equally likely, instance by instance."""

    def rule(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Rule:
        """The rule for a replay."""
        total = int(workload.instances.sum())
        return new_rule(passes.UNIFORM, workload, arranged, _shares(arranged), draws=total, rng=rng)


def _rank(key: FloatArray) -> IntArray:
    """The place of each task by a key, of equal ones by submission."""
    rank = np.empty(len(key), np.int64)
    rank[np.argsort(key, kind="stable")] = np.arange(len(key))
    return rank


def tetris_as_coded() -> Tetris:
    """:class:`Tetris` as the CloudSimPy program has it."""
    return Tetris("yes")
