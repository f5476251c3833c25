"""Slurm's multifactor priorities in a replay: computed when a job comes to wait, and for all jobs once in a period."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.events import END, NOW, QUEUED, START, State
from transom.simulation.policies.fair_share import children_of, classic, fair_tree
from transom.traces.job_facts import AMOUNTS, JobFacts
from transom.traces.records.slurm_text.limits import Association, Key, Qos, chain
from transom.traces.records.slurm_text.priority import PartitionTerms, PriorityTerms

_CPU, _NODE = AMOUNTS.index("cpu"), AMOUNTS.index("node")
_LN2 = 0.693  # as Slurm has it


class Priorities:
    """Priorities of the jobs of a replay, and what they depend on: waits, and past use.

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

    def __init__(
        self,
        terms: PriorityTerms,
        facts: JobFacts,
        submit: IntArray,
        walltime: IntArray,
        associations: Mapping[Key, Association],
        qos: Mapping[str, Qos],
    ) -> None:
        if terms.fairshare and not associations:
            raise SpecError("slurm-backfill: PriorityWeightFairshare needs shares: assoc=FILE")
        if terms.qos and not qos:
            raise SpecError("slurm-backfill: PriorityWeightQOS needs priorities: qos=FILE")
        self.terms, self.submit = terms, submit
        self.associations, self.children = associations, children_of(associations)
        partitions = [terms.partitions.get(kind.partition, PartitionTerms()) for kind in facts.kinds]
        amounts = np.maximum(facts.amounts, 0).astype(np.float64)
        amounts[:, _CPU] = np.where(facts.amounts[:, _CPU] > 0, facts.amounts[:, _CPU], facts.amounts[:, _NODE])
        self.tier = np.array([each.tier for each in partitions], np.int64)[facts.of]
        self.fixed = terms.partition * np.array([each.factor for each in partitions])[facts.of]
        self.fixed = self.fixed + terms.job_size * _sizes(terms, amounts, walltime)
        most = max((each.priority for each in qos.values()), default=0)
        of_qos = [qos[kind.qos].priority / most if most and kind.qos in qos else 0.0 for kind in facts.kinds]
        self.fixed = self.fixed + terms.qos * np.array(of_qos)[facts.of]
        total = np.array([each.total for each in partitions], np.float64)[facts.of]
        share = np.divide(amounts, total, out=np.zeros_like(amounts), where=total > 0)
        self.fixed = self.fixed + np.minimum(share, 1.0) @ np.array(terms.tres)
        self.billing = _billing(terms, partitions, facts, amounts)
        chains = [chain(associations, (kind.account, kind.user, kind.partition)) for kind in facts.kinds]
        self.chains = [[(each.account, each.user, each.partition) for each in above] for above in chains]
        self.kind = facts.of
        self.fair = self._fair({})
        self.usage: dict[Key, float] = {}
        self.priority = np.full(len(submit), -1, np.int64)
        self.since = np.zeros(len(submit), np.int64)
        self.tick = int(submit[0]) if len(submit) else 0
        self.active = np.empty(0, np.int64)

    def reorder(self, s: State) -> None:
        """Bring the queue into the order of priorities that holds now."""
        now, waiting = int(s.at[NOW]), s.queue[: s.at[QUEUED]]
        last = self.tick + (now - self.tick) // self.terms.period * self.terms.period
        if last > self.tick:
            self._use(s, last)
            self.fair = self._fair(self.usage)
            known = waiting[self.priority[waiting] >= 0]
            self.priority[known] = self.of(known, last)
        new = waiting[self.priority[waiting] < 0]
        self.since[new] = self.submit[new] if "ACCRUE_ALWAYS" in self.terms.flags else now
        self.priority[new] = self.of(new, now)
        s.queue[: len(waiting)] = waiting[np.lexsort((waiting, -self.priority[waiting], -self.tier[waiting]))]

    def started(self, jobs: IntArray) -> None:
        """Count jobs that have started among those that use the machine."""
        self.active = np.union1d(self.active, jobs)

    def of(self, jobs: IntArray, now: int) -> IntArray:
        """The priority of some jobs at an instant, shape ``(jobs,)``."""
        terms = self.terms
        age = np.clip((now - self.since[jobs]) / terms.max_age, 0.0, 1.0) if terms.max_age else np.ones(len(jobs))
        sums: FloatArray = terms.age * age + terms.fairshare * self.fair[self.kind[jobs]] + self.fixed[jobs]
        return np.maximum(sums, 1.0).astype(np.int64)

    def _use(self, s: State, last: int) -> None:
        """Take in what was used up to an instant, period by period, and let earlier use decay."""
        terms = self.terms
        decay = 1.0 - _LN2 / terms.half_life if terms.half_life else 1.0
        self.active = self.active[s.jobs[self.active, START] >= 0]  # others wait again, after an outage
        while self.tick < last:
            # Without running jobs the remaining periods are one.
            end = self.tick + terms.period if len(self.active) else last
            self.usage = {key: used * decay ** (end - self.tick) for key, used in self.usage.items()}
            until = np.where(s.jobs[self.active, END] >= 0, s.jobs[self.active, END], end)
            ran = np.minimum(until, end) - np.maximum(s.jobs[self.active, START], self.tick)
            some = ran > 0
            used = ran[some] * decay ** ran[some] * self.billing[self.active[some]]
            for job, amount in zip(self.active[some].tolist(), used.tolist(), strict=True):
                for key in self.chains[self.kind[job]]:
                    self.usage[key] = self.usage.get(key, 0.0) + amount
            self.active = self.active[until >= end]
            self.tick = end

    def _fair(self, usage: Mapping[Key, float]) -> FloatArray:
        """The fair share of each kind of jobs; 0 where no user is known."""
        if not self.terms.fairshare:
            return np.zeros(len(self.chains))
        if "NO_FAIR_TREE" in self.terms.flags:
            made = classic(self.associations, self.children, usage, self.terms.dampening)
        else:
            made = fair_tree(self.associations, self.children, usage)
        return np.array([made.get(above[0], 0.0) if above else 0.0 for above in self.chains])


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
