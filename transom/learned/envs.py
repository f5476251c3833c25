"""The environments by their ids in Gymnasium: ``import transom.learned.envs``, then ``gymnasium.make``.

- ``transom/Scheduling-v0``: :class:`~transom.learned.dras.envs.scheduling_env.SchedulingEnv`, made by
  :func:`scheduling`;
- ``transom/Window-v0``: :class:`~transom.learned.dras.envs.scheduling_env.WindowEnv`, made by :func:`window`;
- ``transom/Repair-v0``: :class:`~transom.learned.repair.repair_env.RepairEnv`, made by :func:`repair`.

``gymnasium.make_vec`` with ``vectorization_mode="vector_entry_point"`` makes ``transom/Scheduling-v0`` with
environments that are stepped in one compiled call (:func:`scheduling_vector`). Keywords are those of the functions;
they are plain values, so that a specification can be stored, but objects are taken, too. Wrappers hide
``action_masks``: it is found at ``env.unwrapped.action_masks()``, or as ``env.get_wrapper_attr("action_masks")``.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import gymnasium

from transom.errors import SpecError
from transom.generate import by_months, generate_lublin
from transom.learned.dras.envs.scheduling_env import SchedulingEnv, WindowEnv
from transom.learned.dras.envs.vector_env import SchedulingVectorEnv
from transom.learned.dras.process.observing import Observation
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.training.jobsets import JITTER
from transom.learned.repair.pool import CLUSTERS, ClusterName, WindowPool
from transom.learned.repair.repair_env import RepairEnv
from transom.learned.repair.task import RepairTask
from transom.models import Window
from transom.rng import stream
from transom.simulation import simulate
from transom.simulation.snapshots import snapshots
from transom.traces import Workload, read_swf

IDS = ("transom/Scheduling-v0", "transom/Window-v0", "transom/Repair-v0")
"""What ``gymnasium.make`` knows once this module is imported."""


def scheduling(
    trace: str | PathLike[str] | None = None,
    workloads: Sequence[Workload] | None = None,
    months: tuple[int, int] | None = None,
    epoch: int = 0,
    jobs: int = 500,
    nodes: int = 64,
    load: float = 1.1,
    workload_seed: int = 0,
    reward: str = "waiting",
    observation: Observation = "paper",
    shuffled: bool = False,
    **scheme: int,
) -> SchedulingEnv:
    """Workloads to schedule, decision by decision.

    Parameters
    ----------
    trace : a file in the Standard Workload Format; without it, and without workloads, jobs of the Lublin-Feitelson
        model.
    workloads : instead, these, one episode each.
    months, epoch : of the trace (:func:`~transom.generate.by_months`).
    jobs, nodes, load, workload_seed : of the model.
    reward, observation, shuffled : as of the environment.
    scheme : numbers of the :class:`~transom.learned.dras.process.process.AgentConfig`; ``longest`` is the longest
        walltime unless stated.

    Raises
    ------
    SpecError, ModelError, DocumentError : a value does not fit, or the trace cannot be read.
    """
    made = _workloads(trace, workloads, months, epoch, (jobs, nodes, load, workload_seed))
    return SchedulingEnv(made, _scheme(made, scheme), reward, observation, shuffled)


def scheduling_vector(
    num_envs: int = 1,
    trace: str | PathLike[str] | None = None,
    workloads: Sequence[Workload] | None = None,
    months: tuple[int, int] | None = None,
    epoch: int = 0,
    jobs: int = 500,
    nodes: int = 64,
    load: float = 1.1,
    workload_seed: int = 0,
    reward: str = "waiting",
    observation: Observation = "paper",
    **scheme: int,
) -> SchedulingVectorEnv:
    """As :func:`scheduling`, with a workload in each environment.

    Parameters
    ----------
    num_envs : how many environments, > 0. Of a trace they are jittered copies; of the model workloads of the seeds
        ``workload_seed``, ``workload_seed + 1`` ...; with ``workloads`` it must be their number.

    The others are as there.

    Raises
    ------
    SpecError, ModelError, DocumentError : a value does not fit, or the trace cannot be read.
    """
    if num_envs < 1:
        raise SpecError(f"num_envs must be > 0, got {num_envs}")
    if workloads is not None and len(workloads) != num_envs:
        raise SpecError(f"{len(workloads)} workloads need as many environments, got num_envs={num_envs}")
    made = list(workloads or ())
    if trace is not None:
        (whole,) = _workloads(trace, workloads, months, epoch, (jobs, nodes, load, workload_seed))
        made = [whole.jittered(JITTER, stream(workload_seed, "lane", env)) for env in range(num_envs)]
    elif workloads is None:
        for env in range(num_envs):
            made += _workloads(None, None, months, epoch, (jobs, nodes, load, workload_seed + env))
    return SchedulingVectorEnv(made, _scheme(made, scheme), reward, observation)


def window(
    trace: str | PathLike[str] | None = None,
    windows: Sequence[Window] | None = None,
    months: tuple[int, int] | None = None,
    epoch: int = 0,
    jobs: int = 500,
    nodes: int = 64,
    load: float = 1.1,
    workload_seed: int = 0,
    policy: str = "fcfs-easy",
    every: int = 3600,
    reward: str = "capability",
    observation: Observation = "paper",
    **scheme: int,
) -> WindowEnv:
    """Single instants to decide.

    Parameters
    ----------
    trace, months, epoch, jobs, nodes, load, workload_seed : as in :func:`scheduling`.
    windows : instead, these.
    policy, every : windows are what this policy saw, one in so many seconds [s].
    reward, observation : as of the environment.
    scheme : as in :func:`scheduling`.

    Raises
    ------
    SpecError, ModelError, DocumentError : a value does not fit, or the trace cannot be read.
    """
    if windows is not None:
        if trace is not None or months is not None:
            raise SpecError("windows: they do not go with trace or months")
        longest = max((int(each.queue.walltime.max()) for each in windows if len(each.queue)), default=1)
        return WindowEnv(windows, AgentConfig(**{"longest": longest, **scheme}), reward, observation)
    (made,) = _workloads(trace, None, months, epoch, (jobs, nodes, load, workload_seed))
    seen = list(snapshots(simulate(made, policy), every, minimum=2, workload=made))
    return WindowEnv(seen, _scheme([made], scheme), reward, observation)


def repair(
    cluster: ClusterName = "authors",
    streams: int = 1,
    pool_seed: int = 0,
    pool: WindowPool | None = None,
    task: RepairTask | None = None,
    **settings: Any,
) -> RepairEnv:
    """Repairs of destroyed windows.

    Parameters
    ----------
    cluster, streams, pool_seed : the windows are those of so many streams of 100 periods on a cluster.
    pool : instead, these windows.
    task : what is repaired.
    settings : or the fields of a :class:`~transom.learned.repair.task.RepairTask`, such as ``rows=4``.

    Raises
    ------
    SpecError : a value does not fit.
    """
    if cluster not in CLUSTERS:
        raise SpecError(f"cluster must be one of {', '.join(CLUSTERS)}, got {cluster!r}")
    if task is not None and settings:
        raise SpecError(f"{', '.join(settings)}: these do not go with task")
    if pool is None:
        pool = WindowPool.generate(*CLUSTERS[cluster], pool_seed, streams)
    return RepairEnv(pool, task or RepairTask(**settings))


def _workloads(
    trace: str | PathLike[str] | None,
    workloads: Sequence[Workload] | None,
    months: tuple[int, int] | None,
    epoch: int,
    model: tuple[int, int, float, int],
) -> list[Workload]:
    if trace is not None and workloads is not None:
        raise SpecError("workloads: they do not go with trace")
    if trace is None:
        if months is not None:
            raise SpecError("months: they are those of a trace")
        if workloads is not None:
            return list(workloads)
        jobs, nodes, load, seed = model
        return [generate_lublin(jobs, nodes, stream(seed, "scheduling env workload"), load)]
    whole = read_swf(trace)
    return [whole if months is None else by_months(whole, *months, epoch)]


def _scheme(workloads: Sequence[Workload], stated: dict[str, int]) -> AgentConfig:
    unknown = stated.keys() - set(AgentConfig._fields)
    if unknown:
        raise SpecError(f"scheme: unknown {', '.join(sorted(unknown))}. Known: {', '.join(AgentConfig._fields)}")
    longest = max((int(each.jobs.walltime.max()) for each in workloads if len(each)), default=1)
    return AgentConfig(**{"longest": longest, **stated})


def _register() -> None:
    module = __name__
    if IDS[0] in gymnasium.registry:
        return
    vector = f"{module}:scheduling_vector"
    gymnasium.register(IDS[0], f"{module}:scheduling", vector_entry_point=vector)
    gymnasium.register(IDS[1], f"{module}:window")
    gymnasium.register(IDS[2], f"{module}:repair")


_register()
