"""Slurm's multifactor priorities: what a site has set, and what the trace states of its jobs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transom._system.records import record
from transom.errors import SpecError
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.passes.fair_share import Shares
from transom.simulation.passes.slurm_priority import Priorities, Progress, Weights, find_shares
from transom.traces.job_facts import AMOUNTS, JobFacts
from transom.traces.records.slurm_text.limits import Association, Key, Qos, chain
from transom.traces.records.slurm_text.priority import PartitionTerms, PriorityTerms

_CPU, _NODE = AMOUNTS.index("cpu"), AMOUNTS.index("node")
_LN2 = 0.693  # as Slurm has it
_ROOT = ("root", "", "")


def slurm_priorities(
    terms: PriorityTerms,
    facts: JobFacts,
    submit: IntArray,
    walltime: IntArray,
    associations: Mapping[Key, Association],
    qos: Mapping[str, Qos],
) -> Priorities:
    """Priorities of the jobs of a replay, before its first event.

    Parameters
    ----------
    terms : weights and terms.
    facts : of the jobs; where cores are not known, a job has one for each node.
    submit, walltime : of the jobs [s], shape ``(jobs,)``.
    associations, qos : of the site.

    Raises
    ------
    SpecError : there is a weight of fair share or of QOS, but nothing is known of these.

    References
    ----------
    Slurm's documentation, Multifactor Priority Plugin.
    """
    if terms.fairshare and not associations:
        raise SpecError("slurm-backfill: PriorityWeightFairshare needs shares: assoc=FILE")
    if terms.qos and not qos:
        raise SpecError("slurm-backfill: PriorityWeightQOS needs priorities: qos=FILE")
    partitions = [terms.partitions.get(kind.partition, PartitionTerms()) for kind in facts.kinds]
    amounts = np.maximum(facts.amounts, 0).astype(np.float64)
    amounts[:, _CPU] = np.where(facts.amounts[:, _CPU] > 0, facts.amounts[:, _CPU], facts.amounts[:, _NODE])
    fixed = terms.partition * np.array([each.factor for each in partitions])[facts.of]
    fixed = fixed + terms.job_size * _sizes(terms, amounts, walltime)
    most = max((each.priority for each in qos.values()), default=0)
    of_qos = [qos[kind.qos].priority / most if most and kind.qos in qos else 0.0 for kind in facts.kinds]
    fixed = fixed + terms.qos * np.array(of_qos)[facts.of]
    total = np.array([each.total for each in partitions], np.float64)[facts.of]
    share = np.divide(amounts, total, out=np.zeros_like(amounts), where=total > 0)
    fixed = fixed + np.minimum(share, 1.0) @ np.array(terms.tres)
    _, tier = np.unique([each.tier for each in partitions], return_inverse=True)
    above_all = float(terms.age + terms.fairshare + fixed.max(initial=0.0) + 1.0)  # no priority reaches it
    n = len(submit)
    made = Priorities(
        weights=Weights(
            age=float(terms.age),
            fairshare=float(terms.fairshare),
            max_age=terms.max_age,
            decay=1.0 - _LN2 / terms.half_life if terms.half_life else 1.0,
            period=terms.period,
            accrue_always="ACCRUE_ALWAYS" in terms.flags,
            dampening=terms.dampening if "NO_FAIR_TREE" in terms.flags else 0,
        ),
        submit=np.ascontiguousarray(submit),
        fixed=np.ascontiguousarray(fixed, np.float64),
        tier=np.floor(above_all) * -tier.reshape(-1).astype(np.float64)[facts.of],
        billing=_billing(terms, partitions, facts, amounts),
        kind=np.ascontiguousarray(facts.of, np.int64),
        chain=_chains(facts, associations),
        shares=shares_of(associations),
        priority=np.full(n, -1, np.int64),
        since=np.zeros(n, np.int64),
        active=np.empty(n, np.int64),
        scores=np.empty(n),
        left=np.empty(n, np.int64),
        left_scores=np.empty(n),
        now=record(Progress),
    )
    made.now.tick = int(submit[0]) if n else 0
    if terms.fairshare:
        find_shares(made)
    return made


def shares_of(associations: Mapping[Key, Association]) -> Shares:
    """The shares of a site, none of which has been used; associations are numbered as they come."""
    place, count = {key: a for a, key in enumerate(associations)}, len(associations)
    place_of_account = {**{key: a for key, a in place.items() if not key[1]}, _ROOT: count}
    below: list[list[int]] = [[] for _ in range(count + 1)]
    for a, (key, each) in enumerate(associations.items()):
        above = place_of_account.get((each.account if each.user else each.parent, "", ""))
        if key != _ROOT and above is not None:
            below[above].append(a)
    listed = np.array([a for siblings in below for a in siblings], np.int64)
    return Shares(
        share=np.array([each.share for each in associations.values()], np.float64),
        user=np.array([bool(each.user) for each in associations.values()], bool),
        first=np.cumsum([0, *map(len, below)], dtype=np.int64),
        below=listed,
        ranked=listed.copy(),
        usage=np.zeros(count),
        factor=np.zeros(count),
        level=np.zeros(count),
        part=np.zeros(count),
        listed=np.empty(count, np.int64),
        frames=np.empty((count + 1, 5), np.int64),
    )


def _chains(facts: JobFacts, associations: Mapping[Key, Association]) -> IntArray:
    """The associations of each kind of jobs, by their numbers, shape ``(kinds, longest)``."""
    place = {key: a for a, key in enumerate(associations)}
    chains = [chain(associations, (kind.account, kind.user, kind.partition)) for kind in facts.kinds]
    made = np.full((len(chains), max(map(len, chains), default=0) + 1), -1, np.int64)
    for row, above in zip(made, chains, strict=True):
        row[: len(above)] = [place[each.account, each.user, each.partition] for each in above]
    return made


def _sizes(terms: PriorityTerms, amounts: FloatArray, walltime: IntArray) -> FloatArray:
    """The factor of each job's size, 0 to 1."""
    nodes, cores = amounts[:, _NODE], amounts[:, _CPU]
    size: FloatArray
    if "SMALL_RELATIVE_TO_TIME" in terms.flags:
        held = np.maximum(nodes * terms.cores / terms.nodes, cores)
        size = held / np.maximum(walltime // 60, 1) / terms.cores
    else:
        size = (nodes / terms.nodes + cores / terms.cores) / 2
    return np.clip(1.0 - size if terms.favor_small else size, 0.0, 1.0)


def _billing(
    terms: PriorityTerms, partitions: list[PartitionTerms], facts: JobFacts, amounts: FloatArray
) -> FloatArray:
    """What a second of each job counts: its cores, or what its partition says."""
    unweighted = np.zeros(len(AMOUNTS))
    unweighted[_CPU] = 1.0
    weights = np.array([unweighted if each.billing is None else each.billing for each in partitions])[facts.of]
    each: FloatArray = amounts * weights
    most: FloatArray = each.max(axis=1)
    total: FloatArray = each.sum(axis=1)
    return most if "MAX_TRES" in terms.flags else total
