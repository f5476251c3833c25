"""Limits on what the running jobs of users, accounts and QOS may have, compiled."""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core.events import NOW, RUNNING, State

UNLIMITED = 2**62
"""An amount that no limit holds back."""


class Limits(NamedTuple):
    """Limits, each on several amounts that the running jobs below it may have together.

    ``member`` ``(n, K)``: the limits that a job is below, -1 for none; ``checked`` ``(n, K)``: a bit for each amount
    that is limited there, since a QOS replaces the limits of accounts; ``amount`` ``(n, A)``: what a job holds;
    ``most`` ``(L, A)`` and ``held`` ``(L, A)``: what may run below each limit, and what does, of which the first amount
    is one for each job; ``alone`` ``(L,)``: whether a job of any size may run where no other one does; ``seen``
    ``(n,)``: when a limit held back a job last [s].
    """

    member: IntArray
    checked: IntArray
    amount: IntArray
    most: IntArray
    held: IntArray
    alone: BoolArray
    seen: IntArray


@no_refcount
def count_held(s: State, limits: Limits) -> None:
    """What the running jobs have, below each limit."""
    limits.held[:] = 0
    for i in range(s.at[RUNNING]):
        hold(limits, s.expected[i, 1])


@inlined
def hold(limits: Limits, job: int) -> None:
    """Count a job that starts."""
    for k in range(limits.member.shape[1]):
        limit = limits.member[job, k]
        if limit >= 0:
            for a in range(limits.amount.shape[1]):
                limits.held[limit, a] += limits.amount[job, a]


@no_refcount
def reached(limits: Limits, job: int) -> int:
    """The first limit that holds back a job, times the number of amounts, plus the amount; -1 where it may run."""
    amounts = limits.amount.shape[1]
    for k in range(limits.member.shape[1]):
        limit = limits.member[job, k]
        if limit < 0 or (limits.alone[limit] and limits.held[limit, 0] == 0):
            continue
        for a in range(amounts):
            within = limits.held[limit, a] + limits.amount[job, a] <= limits.most[limit, a]
            if not within and limits.checked[job, k] >> a & 1:
                found: int = limit * amounts + a
                return found
    return -1


@inlined
def allowed(s: State, limits: Limits, job: int, passed: IntArray) -> bool:
    """Whether limits let a job run.

    ``passed`` counts the jobs that they hold back in this pass, and keeps the first of them and what :func:`reached`
    says of it.
    """
    limit = reached(limits, job)
    if limit >= 0 and limits.seen[job] != s.at[NOW]:
        limits.seen[job] = s.at[NOW]
        if passed[0] == 0:
            passed[1], passed[2] = job, limit
        passed[0] += 1
    return limit < 0
