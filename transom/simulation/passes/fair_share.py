"""Fair share of the users of associations, by what they and the accounts above them have used: two ways of Slurm."""

from __future__ import annotations

import math
from typing import NamedTuple

from transom._system.compiling import no_refcount
from transom.models.arrays import BoolArray, FloatArray, IntArray

BEGIN, END, AT, OF, TIED = range(5)
"""Columns of :attr:`Shares.frames`."""


class Shares(NamedTuple):
    """``A`` associations, which are accounts and users.

    ``share`` ``(A,)``: of each, beside those of its siblings; ``user`` ``(A,)``: whether it is a user; ``first``
    ``(A + 2,)``: where the siblings below each begin in ``below``, and behind them those below the root; ``ranked``:
    the same as it was ordered last. ``usage`` ``(A,)``: what each has used, those below it included, in any unit;
    ``factor`` ``(A,)``: of each user, from 0 to 1 for who comes first. Scratch: ``level`` and ``part`` ``(A,)``,
    ``listed`` ``(A,)`` and ``frames`` ``(A + 1, 5)``, the siblings that are gone through, and their places in it.
    """

    share: FloatArray
    user: BoolArray
    first: IntArray
    below: IntArray
    ranked: IntArray
    usage: FloatArray
    factor: FloatArray
    level: FloatArray
    part: FloatArray
    listed: IntArray
    frames: IntArray


@no_refcount
def fair_tree(t: Shares) -> None:
    """Rank each user by Slurm's fair tree; ``factor`` is its rank over the number of users.

    Siblings are ordered by level fair share, their share of the shares over their part of the use; users in an account
    come before those in a sibling that has less. Accounts of one level fair share are merged, users of one have one
    rank, and a user beside such accounts has the rank of the best of them.

    References
    ----------
    Slurm's documentation, Fair Tree Fairshare Algorithm.
    """
    users, root = 0, len(t.share)
    for a in range(root):
        users += t.user[a]
        t.factor[a] = 0.0
    rank, left, depth = users, users, 0
    top = _list_below(t, root, 0)
    _push(t, depth, 0, top, root, 0)
    while depth >= 0:
        at, end = t.frames[depth, AT], t.frames[depth, END]
        if at == end:
            depth -= 1
            continue
        a = t.listed[at]
        if at > t.frames[depth, BEGIN]:
            t.frames[depth, TIED] = t.level[t.listed[at - 1]] == t.level[a]
        tied = t.frames[depth, TIED]
        if t.user[a]:
            rank = rank if tied else left
            t.factor[a] = rank / users
            left -= 1
            t.frames[depth, AT] = at + 1
            continue
        begin, of = top, a
        while at < end and t.level[t.listed[at]] == t.level[a]:  # users stand before accounts
            of = a if t.listed[at] == a else -1
            top = _list_below(t, t.listed[at], top)
            at += 1
        t.frames[depth, AT] = at
        depth += 1
        _push(t, depth, begin, top, of, tied)


@no_refcount
def _list_below(t: Shares, account: int, top: int) -> int:
    """List those right below an account from ``top`` on, and find their level fair shares; where the list ends."""
    shares, used = 0.0, 0.0
    for k in range(t.first[account], t.first[account + 1]):
        shares += t.share[t.below[k]]
        used += t.usage[t.below[k]]
    for k in range(t.first[account], t.first[account + 1]):
        a = t.ranked[k]
        t.listed[top] = a
        top += 1
        if t.share[a] == 0:
            t.level[a] = 0.0
        elif t.usage[a] == 0:
            t.level[a] = math.inf
        else:
            t.level[a] = (t.share[a] / shares) / (t.usage[a] / used)
    return top


@no_refcount
def _push(t: Shares, depth: int, begin: int, end: int, of: int, tied: int) -> None:
    """Go through a list of siblings next: by level fair share, users first.

    From one time to the next few change places: the order below one account is kept.
    """
    t.frames[depth, BEGIN], t.frames[depth, END], t.frames[depth, AT] = begin, end, begin
    t.frames[depth, OF], t.frames[depth, TIED] = of, tied
    for i in range(begin + 1, end):
        a, k = t.listed[i], i
        while k > begin and _comes_first(t, a, t.listed[k - 1]):
            t.listed[k] = t.listed[k - 1]
            k -= 1
        t.listed[k] = a
    if of >= 0:
        for i in range(end - begin):
            t.ranked[t.first[of] + i] = t.listed[begin + i]


@no_refcount
def _comes_first(t: Shares, a: int, other: int) -> bool:
    return t.level[a] > t.level[other] or (t.level[a] == t.level[other] and t.user[a] and not t.user[other])


@no_refcount
def classic(t: Shares, dampening: int) -> None:
    """Find the classic factor of each user: ``2**(-U / S / d)``.

    ``S`` are its shares, as a part of those of its siblings and of what the account above has; ``U`` is its effective
    use: of an account below the root what it has used of all that was used, of every other one ``A + (U' - A) s``,
    with the same ``A``, the effective use ``U'`` of the account above, and its part ``s`` of its siblings' shares.

    Parameters
    ----------
    dampening : ``d``.

    References
    ----------
    Slurm's documentation, Classic Fairshare Algorithm.
    """
    root, top, at, used = len(t.share), 0, 0, 0.0
    for a in range(root):
        t.factor[a] = 0.0
    for k in range(t.first[root], t.first[root + 1]):
        used += t.usage[t.below[k]]
    parent, share, above = root, 1.0, 1.0
    while True:
        shares = 0.0
        for k in range(t.first[parent], t.first[parent + 1]):
            shares += t.share[t.below[k]]
        for k in range(t.first[parent], t.first[parent + 1]):
            a = t.below[k]
            part = t.share[a] / shares if shares > 0 else 0.0
            actual = t.usage[a] / used if used > 0 else 0.0
            effective = actual if parent == root else actual + (above - actual) * part
            t.part[a], t.level[a] = share * part, effective
            if not t.user[a]:
                t.listed[top] = a
                top += 1
            elif share * part > 0:
                t.factor[a] = 2.0 ** (-effective / (share * part) / dampening)
        if at == top:
            return
        parent = t.listed[at]
        share, above = t.part[parent], t.level[parent]
        at += 1
