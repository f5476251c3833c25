"""What every policy has to keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from transom.errors import PolicyError, SpecError
from transom.heuristics.priority_rules import PriorityRule
from transom.models import Cluster, Job
from transom.simulation import Policy, Schedule, simulate
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.verification import check_nodes, check_schedule
from transom.simulation.policies.by_name import policy_of
from transom.testing.requiring import require
from transom.traces import TracedJob, Workload


def check_policy(
    policy: str | Policy | PriorityRule,
    workloads: Iterable[Workload] | None = None,
    *,
    seed: int = 0,
    repeats: bool = True,
) -> None:
    """Check that a policy satisfies what :func:`~transom.simulate` and the bench require.

    Every job starts once, not before its submission, and no resource is oversubscribed. Decisions do not depend on
    future runtimes or on an earlier replay: the same seed gives the same schedule, so a policy must reset its state.

    Parameters
    ----------
    policy : a policy, a priority rule, or the name or specification of a policy.
    workloads : workloads to replay; by default small random ones with many ties, on eight nodes.
    seed : >= 0, for policies that draw random numbers, and for the workloads.
    repeats : whether the same seed must give the same schedule; False for policies with a time limit.

    Raises
    ------
    AssertionError : a condition is violated; the message names it and the workload.
    """
    name = policy if isinstance(policy, str) else str(getattr(policy, "name", type(policy).__name__))
    try:
        chosen: Any = policy_of(policy)
    except SpecError as error:
        raise AssertionError(f"{name}: has no decide(window): {error}") from None
    digest = getattr(chosen, "digest", "")
    require(isinstance(digest, str), f"{name}: digest must be a text, got {digest!r}")
    rng = np.random.default_rng(seed)
    given = [random_workload(rng) for _ in range(20)] if workloads is None else list(workloads)
    require(given, "check_policy: no workloads to replay")
    for number, workload in enumerate(given):
        where = f"{name}, workload {number} ({len(workload)} jobs)"
        first = _replayed(workload, chosen, where, seed)
        require(not (wrong := check_schedule(workload, first)), f"{where}: {'; '.join(wrong)}")
        runs = first.runs or assign_nodes(first)
        require(not (wrong := check_nodes(first, runs)), f"{where}: {'; '.join(wrong)}")
        if not repeats:
            continue
        require(
            np.array_equal(first.start, _replayed(workload, chosen, where, seed).start),
            f"{where}: a second replay with the same seed differs; what a policy keeps goes in reset(rng)",
        )
        _is_blind(workload, chosen, first, where, seed, rng)


def random_workload(rng: np.random.Generator, jobs: int = 12) -> Workload:
    """A small workload on eight nodes with many ties in every column; at most ``jobs`` jobs."""
    made = []
    for i in range(int(rng.integers(1, jobs + 1))):
        walltime = int(rng.integers(1, 13))
        job = Job(i + 1, int(rng.integers(0, 21)) if i else 0, int(rng.integers(1, 9)), walltime)
        made.append(TracedJob(job, int(rng.integers(1, walltime + 1))))
    return Workload.of(made, Cluster(8), "random")


def _replayed(workload: Workload, policy: Policy, where: str, seed: int) -> Schedule:
    try:
        return simulate(workload, policy, seed=seed)
    except PolicyError as error:
        raise AssertionError(f"{where}: {error}") from error


def _is_blind(
    workload: Workload, policy: Policy, first: Schedule, where: str, seed: int, rng: np.random.Generator
) -> None:
    """Lengthen what has not ended at some instant: until then every start must stay."""
    if not len(workload):
        return
    now = int(rng.integers(0, int(first.end.max()) + 1))
    runtime = np.where(first.end > now, np.maximum(workload.jobs.walltime, workload.runtime), workload.runtime)
    longer = Workload(workload.name, workload.cluster, workload.jobs, runtime)
    second = _replayed(longer, policy, where, seed)
    started = first.start <= now
    require(
        np.array_equal(first.start[started], second.start[started]) and (second.start[~started] > now).all(),
        f"{where}: starts up to {now} s change with runtimes that lie ahead",
    )
