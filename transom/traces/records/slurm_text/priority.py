"""What a ``slurm.conf`` says of priorities: weights and terms of Slurm's multifactor plugin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from transom.errors import TraceError
from transom.traces.job_facts import AMOUNTS
from transom.traces.records.slurm_conf import read_settings, read_site
from transom.traces.records.values import count, seconds

_FLAGS = ("ACCRUE_ALWAYS", "CALCULATE_RUNNING", "MAX_TRES", "NO_FAIR_TREE", "SMALL_RELATIVE_TO_TIME")
_DAY = 86400


SETTINGS = (
    "PriorityWeightAge", "PriorityWeightFairshare", "PriorityWeightJobSize", "PriorityWeightPartition",
    "PriorityWeightQOS", "PriorityMaxAge", "PriorityFavorSmall", "PriorityDecayHalfLife",
)  # fmt: skip
"""Settings that may be tried in place of what a file states."""


class PartitionTerms(NamedTuple):
    """What priorities of jobs of a partition go by.

    Parameters
    ----------
    tier : jobs of a higher one come first (``PriorityTier``).
    factor : the partition's factor, 0 to 1 (``PriorityJobFactor`` over the largest).
    total : what the partition has of each of :data:`~transom.traces.job_facts.AMOUNTS`.
    billing : what one of each counts (``TRESBillingWeights``); None where only cores count.
    """

    tier: int = 1
    factor: float = 1.0
    total: tuple[int, ...] = (0,) * len(AMOUNTS)
    billing: tuple[float, ...] | None = None


class PriorityTerms(NamedTuple):
    """The terms of priorities; times in seconds.

    Parameters
    ----------
    age, fairshare, job_size, partition, qos : weights.
    tres : weight of each of :data:`~transom.traces.job_facts.AMOUNTS` (``PriorityWeightTRES``).
    max_age : the age that counts in full.
    favor_small : whether small jobs come first.
    half_life : in which past use loses half of its weight; 0 where it never does.
    period : from one computation of all priorities to the next (``PriorityCalcPeriod``).
    dampening : ``FairShareDampeningFactor``, of the classic fair share.
    flags : those of ``PriorityFlags``.
    nodes, cores : of the machine.
    partitions : by name in lower case.
    """

    age: int
    fairshare: int
    job_size: int
    partition: int
    qos: int
    tres: tuple[float, ...]
    max_age: int
    favor_small: bool
    half_life: int
    period: int
    dampening: int
    flags: tuple[str, ...]
    nodes: int
    cores: int
    partitions: Mapping[str, PartitionTerms]


def read_priority_terms(path: str, instead: Mapping[str, str] | None = None) -> PriorityTerms:
    """The terms in a ``slurm.conf``.

    Parameters
    ----------
    path : the file.
    instead : settings by name that stand in place of those of the file; some of :data:`SETTINGS`.

    Raises
    ------
    TraceError : the file cannot be read, does not state ``PriorityType=priority/multifactor`` or which nodes there are,
        or states what cannot be read or is not modelled.
    """
    stated, partitions = read_settings(path)
    stated |= {name.lower(): value for name, value in (instead or {}).items()}
    if stated.get("prioritytype", "") != "priority/multifactor":
        raise TraceError(
            f"{path}: PriorityType: expected priority/multifactor, got {stated.get('prioritytype', 'none')}"
        )
    site = read_site([path])
    nodes, cores = site.machine.get("nodes", 0), site.machine.get("cores", 0)
    if not nodes or not cores:
        raise TraceError(f"{path}: names no nodes, which priorities of sizes need")

    def number(name: str, default: int) -> int:
        value = count(stated.get(name.lower(), str(default)))
        if value is None or value < 0:
            raise TraceError(f"{path}: {name}: {stated[name.lower()]!r} is no whole number")
        return value

    def time(name: str, default: int) -> int:
        value = seconds(stated[name.lower()], 60) if name.lower() in stated else default
        if value is None or value < 0:
            raise TraceError(f"{path}: {name}: {stated[name.lower()]!r} is no time")
        return value

    flags = tuple(sorted({*filter(None, re.split(r"[,\s]+", stated.get("priorityflags", "").upper()))}))
    for flag in flags:
        if flag not in _FLAGS:
            raise TraceError(f"{path}: PriorityFlags: {flag} is not modelled; known are {', '.join(_FLAGS)}")
    if number("PriorityWeightAssoc", 0):
        raise TraceError(f"{path}: PriorityWeightAssoc is not modelled")
    if stated.get("priorityusageresetperiod", "NONE").upper() != "NONE":
        raise TraceError(f"{path}: PriorityUsageResetPeriod is not modelled")
    factors = {name: _whole(path, each, "priorityjobfactor", 1) for name, each in partitions.items()}
    sizes = {name.lower(): each for name, each in site.partitions.items()}
    most = max(factors.values(), default=0)
    return PriorityTerms(
        age=number("PriorityWeightAge", 0),
        fairshare=number("PriorityWeightFairshare", 0),
        job_size=number("PriorityWeightJobSize", 0),
        partition=number("PriorityWeightPartition", 0),
        qos=number("PriorityWeightQOS", 0),
        tres=_weights(path, "PriorityWeightTRES", stated.get("priorityweighttres", "")) or (0.0,) * len(AMOUNTS),
        max_age=time("PriorityMaxAge", 7 * _DAY),
        favor_small=stated.get("priorityfavorsmall", "NO").upper() == "YES",
        half_life=time("PriorityDecayHalfLife", 7 * _DAY),
        period=max(time("PriorityCalcPeriod", 300), 1),
        dampening=max(number("FairShareDampeningFactor", 1), 1),
        flags=flags,
        nodes=nodes,
        cores=cores,
        partitions={
            name: PartitionTerms(
                _whole(path, each, "prioritytier", 1),
                factors[name] / most if most else 0.0,
                (0, *(int(sizes.get(name, {}).get(of, 0)) for of in ("cores", "memory", "nodes", "gpus"))),
                _weights(path, "TRESBillingWeights", each.get("tresbillingweights", "")),
            )
            for name, each in partitions.items()
        },
    )


def _whole(path: str, record: Mapping[str, str], name: str, default: int) -> int:
    value = count(record.get(name, record.get("priority", str(default))))
    if value is None or value < 0:
        raise TraceError(f"{path}: partition {record['partitionname']}: {name} is no whole number")
    return value


def _weights(path: str, setting: str, text: str) -> tuple[float, ...] | None:
    """Weights of amounts out of ``CPU=1.0,Mem=0.25G``; memory counts in MiB, or in what the letter says."""
    if not text:
        return None
    made = dict.fromkeys(AMOUNTS, 0.0)
    for part in text.split(","):
        found = re.fullmatch(r"\s*([\w/:.-]+)=(\d+(?:\.\d*)?|\.\d+)([KMGT]?)\s*", part, re.IGNORECASE)
        name = found[1].lower() if found else ""
        if found is None or name == "jobs" or name not in made or (found[3] and name != "mem"):
            raise TraceError(f"{path}: {setting}: {part!r} is not modelled; known are {', '.join(AMOUNTS[1:])}")
        made[name] = float(found[2]) / {"K": 1 / 1024, "G": 1024, "T": 1024**2}.get(found[3].upper(), 1)
    return tuple(made.values())
