"""What limits the jobs of a workload: associations and QOS of a Slurm, and limits of each user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from transom.errors import SpecError
from transom.models import JobTable
from transom.models.arrays import BoolArray, IntArray
from transom.models.cluster import LARGEST
from transom.simulation.passes.slurm_limits import UNLIMITED, Limits
from transom.traces.job_facts import AMOUNTS, JobFacts, Kind
from transom.traces.records.slurm_text.limits import NONE, UNSET, Amounts, Association, Key, Qos, chain

_SIZE = len(AMOUNTS)  # the column of the size of a job, in what the machine is counted in
_BITS = [1 << a for a in range(_SIZE + 1)]
_OF_USER = ("QOSMaxJobsPerUserLimit", "QOSMaxCpuPerUserLimit", "QOSMaxMemoryPerUser", "QOSMaxNodePerUserLimit",
            "QOSMaxGRESPerUser")  # fmt: skip
_OF_ACCOUNT = ("MaxJobsPerAccount", "MaxCpuPerAccount", "MaxMemoryPerAccount", "MaxNodePerAccount", "MaxGRESPerAccount")
_OF_QOS = ("QOSGrpJobsLimit", "QOSGrpCpuLimit", "QOSGrpMemLimit", "QOSGrpNodeLimit", "QOSGrpGRES")
_OF_GROUP = ("AssocGrpJobsLimit", "AssocGrpCpuLimit", "AssocGrpMemLimit", "AssocGrpNodeLimit", "AssocGrpGRES")
_OF_JOB = ("", "AssocMaxCpuPerJobLimit", "AssocMaxMemPerJob", "AssocMaxNodePerJobLimit", "AssocMaxGRESPerJob")
_OF_QOS_JOB = ("", "QOSMaxCpuPerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxNodePerJobLimit", "QOSMaxGRESPerJob")
_MOST = ("AssocMaxJobsLimit",) * len(AMOUNTS)


class _Limit(NamedTuple):
    """A limit that a kind of jobs is below: what it is of, what it allows, what it is called, what a QOS replaces."""

    of: tuple[str, ...]
    most: Amounts
    reasons: Sequence[str]
    replaced: Amounts = NONE


class SiteLimits(NamedTuple):
    """The limits of a replay, and what Slurm calls them.

    Parameters
    ----------
    limits : for the compiled pass.
    reasons : by what :func:`~transom.simulation.passes.slurm_limits.reached` says.
    """

    limits: Limits
    reasons: tuple[str, ...]


def limits_of_users(jobs: JobTable, user_jobs: int, user_nodes: int) -> SiteLimits:
    """Limits on the running jobs of each user whose number is known, and on their nodes.

    Where no other job of a user runs, one of any size may.
    """
    users, user = np.unique(jobs.user, return_inverse=True)
    user = user.reshape(-1) - int(np.searchsorted(users, 0))  # unknown ones are below 0
    limited = user_jobs < LARGEST or user_nodes < LARGEST
    member = np.maximum(user, -1).astype(np.int64).reshape(-1, 1)[:, : int(limited)]
    count = int(user.max(initial=-1)) + 1 if limited else 0
    most = np.full((count, _SIZE + 1), UNLIMITED, np.int64)
    most[:, 0], most[:, _SIZE] = user_jobs, user_nodes
    amount = np.zeros((len(jobs), _SIZE + 1), np.int64)
    amount[:, 0], amount[:, _SIZE] = 1, jobs.nodes
    reasons = (*_OF_USER, _OF_USER[AMOUNTS.index("node")]) * count
    return SiteLimits(_limits(member, np.full_like(member, -1), amount, most, np.ones(count, bool)), reasons)


def with_site(
    users: SiteLimits, facts: JobFacts, ids: IntArray, associations: Mapping[Key, Association], qos: Mapping[str, Qos]
) -> SiteLimits:
    """Further limits: those of associations and QOS, as Slurm applies them.

    A QOS comes first: what it limits is not limited again by accounts and their users. ``MaxJobs`` of a user is that
    of the first in the chain upwards that has one, and so is each amount of ``MaxTRES``.

    Parameters
    ----------
    users : limits that there are already.
    facts : of the jobs.
    ids : of the jobs, for messages, shape ``(jobs,)``.
    associations, qos : what the site has set.

    Raises
    ------
    SpecError : a job is larger than a limit lets a job be, so that it would never start, or it is not known how large
        it is.
    """
    number: dict[tuple[str, ...], int] = {}
    most: list[Amounts] = []
    reasons = list(users.reasons)
    before, rows = len(users.limits.most), []
    order = np.argsort(facts.of, kind="stable")
    jobs_of = np.split(order, np.searchsorted(facts.of[order], np.arange(1, len(facts.kinds))))
    for kind, of in zip(facts.kinds, jobs_of, strict=True):
        row: list[tuple[int, int]] = []
        for each in _limits_of(kind, associations, qos):
            if each.most == NONE:
                continue
            wanted = np.where(np.array(each.replaced) != UNSET, UNSET, np.array(each.most))
            _check_alone(each, wanted, facts.amounts[of], ids[of])
            if each.of[0] == "job":
                continue
            if each.of not in number:
                number[each.of] = before + len(most)
                most.append((*(UNLIMITED if stated == UNSET else stated for stated in each.most), UNLIMITED))
                reasons += [*each.reasons, ""]
            row.append(
                (number[each.of], sum(bit for bit, stated in zip(_BITS, wanted, strict=False) if stated != UNSET))
            )
        rows.append(row)
    width = max(map(len, rows), default=0)
    table = np.array([row + [(-1, 0)] * (width - len(row)) for row in rows], np.int64).reshape(len(rows), width, 2)
    old = users.limits
    amount = old.amount.copy()
    amount[:, 1:_SIZE] = np.maximum(facts.amounts[:, 1:], 0)
    made = _limits(
        np.hstack((old.member, table[facts.of, :, 0])),
        np.hstack((old.checked, table[facts.of, :, 1])),
        amount,
        np.vstack((old.most, np.array(most, np.int64).reshape(len(most), _SIZE + 1))),
        np.concatenate((old.alone, np.zeros(len(most), bool))),
    )
    return SiteLimits(made, tuple(reasons))


def _limits(member: IntArray, checked: IntArray, amount: IntArray, most: IntArray, alone: BoolArray) -> Limits:
    return Limits(
        np.ascontiguousarray(member),
        np.ascontiguousarray(checked),
        np.ascontiguousarray(amount),
        np.ascontiguousarray(most),
        np.zeros_like(most),
        alone,
        np.full(len(amount), -1, np.int64),
    )


def _limits_of(kind: Kind, associations: Mapping[Key, Association], qos: Mapping[str, Qos]) -> Iterator[_Limit]:
    """The limits that jobs of a kind are below."""
    of = qos.get(kind.qos, Qos(""))
    yield _Limit(("qos", of.name), of.group, _OF_QOS)
    if kind.user:
        yield _Limit(("qos-user", of.name, kind.user), of.user, _OF_USER)
    if kind.account:
        yield _Limit(("qos-account", of.name, kind.account), of.account, _OF_ACCOUNT)
    yield _Limit(("job", f"QOS {of.name}"), of.per_job, _OF_QOS_JOB)
    above = chain(associations, (kind.account, kind.user, kind.partition))
    for each in above:
        key = (each.account, each.user, each.partition)
        yield _Limit(("group", *key), each.group, _OF_GROUP, of.group)
    if above and above[0].user:
        jobs = next((each.jobs for each in above if each.jobs != UNSET), UNSET)
        # A QOS that says how many jobs a user or an account may have replaces it.
        replaced = max(of.user[0], of.account[0])
        key = (above[0].account, above[0].user, above[0].partition)
        yield _Limit(("max", *key), (jobs, *NONE[1:]), _MOST, (replaced, *NONE[1:]))
    per_job = tuple(next((each.per_job[a] for each in above if each.per_job[a] != UNSET), UNSET) for a in range(_SIZE))
    yield _Limit(("job", f"account {kind.account}"), per_job, _OF_JOB, of.per_job)


def _check_alone(limit: _Limit, wanted: IntArray, amounts: IntArray, ids: IntArray) -> None:
    """Refuse jobs that no end of another one lets start."""
    for a in np.flatnonzero(wanted != UNSET).tolist():
        name, of = AMOUNTS[a], " ".join(filter(None, limit.of[1:]))
        unknown, above = np.flatnonzero(amounts[:, a] < 0), np.flatnonzero(amounts[:, a] > wanted[a])
        if unknown.size:
            raise SpecError(
                f"job {ids[unknown[0]]}: its {name} is not known, and {limit.reasons[a]} of {of} is {wanted[a]}"
            )
        if above.size:
            text = f"{limit.reasons[a]} of {of} is {wanted[a]}: it never starts"
            raise SpecError(f"job {ids[above[0]]}: asks for {amounts[above[0], a]} {name}, and {text}")
