"""The environments by their ids in Gymnasium: ``import transom.learned.envs``, then ``gymnasium.make``.

- ``transom/Scheduling-v0``: :class:`~transom.learned.dras.process.scheduling_env.SchedulingEnv`, made by
  :func:`scheduling`;
- ``transom/Window-v0``: :class:`~transom.learned.dras.process.scheduling_env.WindowEnv`, made by :func:`window`;
- ``transom/Repair-v0``: :class:`~transom.learned.repair.repair_env.RepairEnv`, made by :func:`repair`.

``gymnasium.make_vec`` with ``vectorization_mode="vector_entry_point"`` makes ``transom/Scheduling-v0`` with
environments that are stepped in one compiled call (:func:`scheduling_vector`). Keywords are those of the functions;
they are plain values, so that a specification can be stored, but objects are taken, too. Wrappers hide
``action_masks``: it is found at ``env.unwrapped.action_masks()``, or as ``env.get_wrapper_attr("action_masks")``.
:func:`make_policy` makes a policy of what was trained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypedDict, Unpack, cast

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'transom[learned]'", name="gymnasium") from error

from transom.errors import SpecError
from transom.generate import by_months, generate_lublin
from transom.learned.dras.agent.any_agent import AgentPolicy, MaskedAct
from transom.learned.dras.process.observing import Observation
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.process.scheduling_env import SchedulingEnv, WindowEnv
from transom.learned.dras.process.vector_env import SchedulingVectorEnv
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


class EnvOptions(TypedDict, total=False):
    """Keywords that the environments of DRAS share: one workload, and the numbers of the agent.

    Parameters
    ----------
    trace : a file in the Standard Workload Format; without it, jobs of the Lublin-Feitelson model.
    months : the first and the last month of the trace, counted from 1, both included
        (:func:`~transom.generate.by_months`); without them, the whole trace.
    epoch : second 0 of the trace's clock in Unix time [s].
    jobs, nodes, load, workload_seed : of the model: how many jobs (500) on how many nodes (64), the offered load as a
        share of the nodes (1.1), and the seed (0).
    levels, window, head, keep : of the :class:`~transom.learned.dras.process.process.AgentConfig`.
    longest : likewise, a walltime [s]; the longest of the jobs unless stated.
    """

    trace: str | PathLike[str] | None
    months: tuple[int, int] | None
    epoch: int
    jobs: int
    nodes: int
    load: float
    workload_seed: int
    levels: int
    window: int
    head: int
    keep: int
    longest: int


_WORKLOAD = EnvOptions.__annotations__.keys() - set(AgentConfig._fields)


def scheduling(
    *,
    workloads: Sequence[Workload] | None = None,
    reward: str = "waiting",
    observation: Observation = "paper",
    shuffled: bool = False,
    **options: Unpack[EnvOptions],
) -> SchedulingEnv:
    """Workloads to schedule, decision by decision.

    Parameters
    ----------
    workloads : these, one episode each; without them, that of the options.
    reward, observation, shuffled : as of the environment.
    options : the workload and the numbers of the agent (:class:`EnvOptions`).

    Raises
    ------
    SpecError, ModelError, DocumentError : a value does not fit, or the trace cannot be read.
    """
    made = [_workload(options)] if workloads is None else _given(workloads, options)
    return SchedulingEnv(made, _scheme(_longest(made), options), reward, observation, shuffled)


def scheduling_vector(
    num_envs: int = 1,
    workloads: Sequence[Workload] | None = None,
    reward: str = "waiting",
    observation: Observation = "paper",
    **options: Unpack[EnvOptions],
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
    seed = options.get("workload_seed", 0)
    if workloads is not None:
        made = _given(workloads, options)
    elif options.get("trace") is not None:
        whole = _workload(options)
        made = [whole.jittered(JITTER, stream(seed, "lane", env)) for env in range(num_envs)]
    else:
        made = [_workload({**options, "workload_seed": seed + env}) for env in range(num_envs)]
    return SchedulingVectorEnv(made, _scheme(_longest(made), options), reward, observation)


def window(
    *,
    windows: Sequence[Window] | None = None,
    policy: str = "fcfs-easy",
    every: int = 3600,
    reward: str = "capability",
    observation: Observation = "paper",
    **options: Unpack[EnvOptions],
) -> WindowEnv:
    """Single instants to decide.

    Parameters
    ----------
    windows : these; without them, what ``policy`` saw of the workload of the options.
    policy, every : windows are what this policy saw, one in so many seconds [s].
    reward, observation : as of the environment.
    options : as in :func:`scheduling`.

    Raises
    ------
    SpecError, ModelError, DocumentError : a value does not fit, or the trace cannot be read.
    """
    if windows is not None:
        if options.get("trace") is not None or options.get("months") is not None:
            raise SpecError("windows: they do not go with trace or months")
        longest = max((int(each.queue.walltime.max()) for each in windows if len(each.queue)), default=1)
        return WindowEnv(windows, _scheme(longest, options), reward, observation)
    made = _workload(options)
    seen = list(snapshots(simulate(made, policy), every, minimum=2, workload=made))
    return WindowEnv(seen, _scheme(_longest([made]), options), reward, observation)


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


def make_policy(
    act: Callable[[Any], Any] | MaskedAct,
    env: gymnasium.Env[Any, Any],
    masked: bool = False,
    name: str = "agent",
    digest: str = "",
) -> AgentPolicy:
    """A policy of an agent that was trained in an environment of DRAS, for ``simulate`` and, from a file, anywhere.

    Parameters
    ----------
    act, masked, name, digest : as of :class:`~transom.learned.dras.agent.any_agent.AgentPolicy`.
    env : the environment, which says what is observed and how jobs are selected; wrappers that change observations or
        actions are none of it, so ``act`` has to do what they do.

    Raises
    ------
    SpecError : ``act`` is no function, or the environment is another one.
    """
    inner = env.unwrapped
    if not isinstance(inner, (SchedulingEnv, WindowEnv)):
        raise SpecError(
            f"expected an environment transom/Scheduling-v0 or transom/Window-v0, got {type(inner).__name__}"
        )
    return AgentPolicy(act, inner.scheme, inner.observation, masked, name, digest)


def _given(workloads: Sequence[Workload], options: EnvOptions) -> list[Workload]:
    if options.get("trace") is not None:
        raise SpecError("workloads: they do not go with trace")
    _no_months(options)
    return list(workloads)


def _workload(options: EnvOptions) -> Workload:
    """What the options read or generate."""
    trace, months = options.get("trace"), options.get("months")
    if trace is None:
        _no_months(options)
        rng = stream(options.get("workload_seed", 0), "scheduling env workload")
        return generate_lublin(options.get("jobs", 500), options.get("nodes", 64), rng, options.get("load", 1.1))
    whole = read_swf(trace)
    return whole if months is None else by_months(whole, *months, options.get("epoch", 0))


def _no_months(options: EnvOptions) -> None:
    if options.get("months") is not None:
        raise SpecError("months: they are those of a trace")


def _longest(workloads: Sequence[Workload]) -> int:
    return max((int(each.jobs.walltime.max()) for each in workloads if len(each)), default=1)


def _scheme(longest: int, options: EnvOptions) -> AgentConfig:
    numbers = {name: value for name, value in options.items() if name not in _WORKLOAD}
    unknown = numbers.keys() - set(AgentConfig._fields)
    if unknown:
        raise SpecError(f"scheme: unknown {', '.join(sorted(unknown))}. Known: {', '.join(AgentConfig._fields)}")
    return AgentConfig(**{"longest": longest, **cast(dict[str, int], numbers)})


def _register() -> None:
    module = __name__
    if IDS[0] in gymnasium.registry:
        return
    vector = f"{module}:scheduling_vector"
    gymnasium.register(IDS[0], f"{module}:scheduling", vector_entry_point=vector)
    gymnasium.register(IDS[1], f"{module}:window")
    gymnasium.register(IDS[2], f"{module}:repair")


_register()
