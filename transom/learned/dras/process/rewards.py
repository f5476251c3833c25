"""What an agent is rewarded for, as plain numbers that the kernels take.

``capability`` and ``capacity`` are the paper's rewards (eq. 1 and 2), one for every selection. ``waiting`` and
``slowdown`` are costs per second: whoever waits costs something until it starts, and what is added up from one
decision to the next is the reward of the first. Over a whole trace that is minus the total waiting time, or minus the
total of waiting time over runtime. Runtimes are known afterwards: nothing that decides ever sees a reward.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from transom import registry
from transom._system.compiling import no_refcount
from transom._system.settings import Above, AtLeast, check_settings
from transom.learned.dras.process.process import PICKED, DecisionState
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.events import DEMAND, NOW, QUEUED, SUBMIT, WALLTIME, State

HOUR = 3600.0
LEAST_RUNTIME = 10
"""Bound of the slowdown [s]."""

WAITING, CAPABILITY, CAPACITY, MEAN_WAIT = range(4)


class Reward(NamedTuple):
    """A reward in plain numbers.

    Parameters
    ----------
    kind : ``WAITING`` (cost per second, for ``waiting`` and ``slowdown``), ``CAPABILITY``, ``CAPACITY``, ``MEAN_WAIT``.
    by_runtime : whether a waiting job costs 1 / max(runtime, 10 s) per second rather than 1 / hour.
    growth : how much more per second it costs after ``tau``, relative to its first second.
    tau : that time [s].
    power : with which power of the waiting time the cost per second grows.
    w1, w2, w3 : weights of eq. 1.
    """

    kind: int
    by_runtime: int = 0
    growth: AtLeast = 0.0
    tau: Above = 86_400.0
    power: Annotated[float, Meta(gt=0, le=8)] = 1.0
    w1: AtLeast = 0.0
    w2: AtLeast = 0.0
    w3: AtLeast = 0.0


def waiting(growth: float = 0.0, tau: float = 86_400.0, power: float = 1.0) -> Reward:
    r"""Minus the number of waiting jobs, integrated over time [job-hours].

    With the penalty a job costs :math:`1 + g (w / \tau)^p` per second after it has waited :math:`w`.

    Parameters
    ----------
    growth : g, >= 0; 0 for none.
    tau : :math:`\tau` [s], > 0.
    power : p, > 0, at most 8.
    """
    return Reward(WAITING, 0, growth, tau, power)


def slowdown(growth: float = 0.0, tau: float = 86_400.0, power: float = 1.0) -> Reward:
    r"""Minus the sum of :math:`1/\max(r_j, 10)` over waiting jobs, integrated over time: minus their slowdowns.

    Parameters
    ----------
    growth, tau, power : as of :func:`waiting`.
    """
    return Reward(WAITING, 1, growth, tau, power)


def capability(w1: float = 1 / 3, w2: float = 1 / 3, w3: float = 1 / 3) -> Reward:
    r"""The paper's reward for capability computing, of one selected job.

    .. math:: w_1 \frac{t_i}{t_{\max}} + w_2 \frac{n_i}{N} + w_3 \frac{N_{used}}{N}

    with the waiting time :math:`t_i` of the job, the longest one :math:`t_{\max}` in the queue (the term is 0 where
    nobody waited), and the nodes in use after the selection.

    References
    ----------
    Fan et al., DRAS, section III-A, eq. (1).
    """
    return Reward(CAPABILITY, w1=w1, w2=w2, w3=w3)


def capacity(of: Literal["estimate", "wait"] = "estimate") -> Reward:
    r"""The paper's reward for capacity computing after a selection: the mean of :math:`-1/t_j` over the waiting jobs.

    Parameters
    ----------
    of : what the paper leaves open. ``estimate``: :math:`t_j` is the walltime [h]; ``wait``: minus the mean waiting
        time [h] instead, since one over the waiting time would reward waiting.

    References
    ----------
    Fan et al., DRAS, section III-A, eq. (2).
    """
    return Reward(CAPACITY if of == "estimate" else MEAN_WAIT)


_KNOWN = {"waiting": waiting, "slowdown": slowdown, "capability": capability, "capacity": capacity}


def parse_reward(spec: str) -> Reward:
    """The reward that a specification describes: ``waiting:growth=0.5``, ``slowdown``, ``capability``, ``capacity`` ...

    Raises
    ------
    SpecError : the name or a parameter is unknown, or a value does not fit.
    """
    name, settings = registry.parse(spec)
    if name not in _KNOWN:
        raise registry.unknown("reward", name, _KNOWN)
    built: Reward = registry.build(_KNOWN[name], name, settings)
    check_settings(name, built)
    return built


def holding_cost(reward: Reward, runtime: IntArray) -> FloatArray:
    """What each job costs in its first second of waiting, shape ``(jobs,)``."""
    if reward.by_runtime:
        return 1.0 / np.maximum(runtime, LEAST_RUNTIME)
    return np.full(len(runtime), 1 / HOUR)


class RewardState(NamedTuple):
    """The rewards of a replay in progress.

    ``reward``: what is rewarded; ``cost`` ``(jobs,)``: :func:`holding_cost`; ``gathered`` ``(1,)``: the sum since the
    last decision.
    """

    reward: Reward
    cost: FloatArray
    gathered: FloatArray


@no_refcount
def passed(reward: Reward, jobs: IntArray, queue: IntArray, at: IntArray, cost: FloatArray, until: int) -> float:
    """Reward for the time from now to ``until``, during which the queue waits as it is."""
    total = 0.0
    if reward.kind != WAITING:
        return total
    now = at[NOW]
    if reward.by_runtime == 0 and reward.growth == 0:
        return float(-at[QUEUED] * (until - now) / HOUR)
    p = reward.power + 1
    for i in range(at[QUEUED]):
        job = queue[i]
        total -= cost[job] * (until - now)
        if reward.growth > 0:
            a, b = (now - jobs[job, SUBMIT]) / reward.tau, (until - jobs[job, SUBMIT]) / reward.tau
            grown = b * b - a * a if p == 2 else b**p - a**p
            total -= cost[job] * reward.growth * reward.tau * grown / p
    return total


@no_refcount
def selected(reward: Reward, s: State, c: DecisionState, job: int, nodes: int) -> float:
    """Reward for the selection of a job, after it was carried out."""
    if reward.kind == WAITING:
        return 0.0
    now, jobs, queue, at = s.at[NOW], s.jobs, s.queue, s.at
    if reward.kind == CAPABILITY:
        longest = now - jobs[job, SUBMIT]
        for i in range(at[QUEUED]):
            if queue[i] >= 0:
                longest = max(longest, now - jobs[queue[i], SUBMIT])
        total = reward.w2 * jobs[job, DEMAND] / nodes + reward.w3 * (nodes - s.free[0]) / nodes  # (eq. 1)
        if longest > 0:
            total += reward.w1 * (now - jobs[job, SUBMIT]) / longest
        return float(total)
    waiting = at[QUEUED] - c.at[PICKED]
    if waiting == 0:
        return 0.0
    total = 0.0
    for i in range(at[QUEUED]):
        if queue[i] >= 0:
            if reward.kind == CAPACITY:
                total -= HOUR / jobs[queue[i], WALLTIME]  # (eq. 2)
            else:
                total -= (now - jobs[queue[i], SUBMIT]) / HOUR
    return float(total / waiting)
