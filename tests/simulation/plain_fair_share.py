"""Slurm's two ways of fair share as they are described, recursively over dictionaries; shares nothing with ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from transom.traces.records.slurm_text.limits import Association, Key

_ROOT = ("root", "", "")


def children_of(associations: Mapping[Key, Association]) -> dict[Key, list[Key]]:
    """The associations right below each account: users of the account, and accounts."""
    made: dict[Key, list[Key]] = {}
    for key, each in associations.items():
        if key != _ROOT:
            made.setdefault((each.account if each.user else each.parent, "", ""), []).append(key)
    return made


def fair_tree(
    associations: Mapping[Key, Association], children: Mapping[Key, Sequence[Key]], usage: Mapping[Key, float]
) -> dict[Key, float]:
    """The rank of each user, from above 0 to 1 for who comes first, by Slurm's fair tree.

    Siblings are ordered by level fair share, their share of the shares over their part of the use; users in an account
    come before those in a sibling that has less. Accounts of one level fair share are merged, users of one have one
    rank, and a user beside such accounts has the rank of the best of them.

    Parameters
    ----------
    associations : by account, user and partition.
    children : see :func:`children_of`.
    usage : of each association, those below it included, in any unit.

    References
    ----------
    Slurm's documentation, Fair Tree Fairshare Algorithm.
    """
    users = sum(bool(each.user) for each in associations.values())
    made: dict[Key, float] = {}
    rank = left = users

    def level(siblings: Sequence[Key]) -> list[tuple[float, Key]]:
        shares, used = sum(associations[key].share for key in siblings), sum(usage.get(key, 0.0) for key in siblings)
        found = []
        for key in siblings:
            share, part = associations[key].share, usage.get(key, 0.0)
            value = 0.0 if not share else math.inf if not part else (share / shares) / (part / used)
            found.append((value, key))
        return found

    def visit(ranked: list[tuple[float, Key]], tied: bool) -> None:
        nonlocal rank, left
        ranked.sort(key=lambda each: (-each[0], not associations[each[1]].user))
        at = 0
        while at < len(ranked):
            value, key = ranked[at]
            tied = tied if at == 0 else ranked[at - 1][0] == value
            if associations[key].user:
                rank = rank if tied else left
                made[key] = rank / users
                left -= 1
                at += 1
                continue
            merged = [other for same, other in ranked[at:] if same == value]  # users stand before accounts
            visit([each for other in merged for each in level(children.get(other, ()))], tied)
            at += len(merged)

    visit(level(children.get(_ROOT, ())), False)
    return made


def classic(
    associations: Mapping[Key, Association],
    children: Mapping[Key, Sequence[Key]],
    usage: Mapping[Key, float],
    dampening: int = 1,
) -> dict[Key, float]:
    """The classic factor of each user: ``2**(-U / S / d)``.

    ``S`` are its shares, as a part of those of its siblings and of what the account above has; ``U`` is its effective
    use: of an account below the root what it has used of all that was used, of every other one ``A + (U' - A) s``,
    with the same ``A``, the effective use ``U'`` of the account above, and its part ``s`` of its siblings' shares.

    Parameters
    ----------
    associations, children, usage : see :func:`fair_tree`.
    dampening : ``d``.

    References
    ----------
    Slurm's documentation, Classic Fairshare Algorithm.
    """
    made: dict[Key, float] = {}
    used = sum(usage.get(key, 0.0) for key in children.get(_ROOT, ()))

    def visit(parent: Key, share: float, above: float) -> None:
        siblings = children.get(parent, ())
        shares = sum(associations[key].share for key in siblings)
        for key in siblings:
            part = associations[key].share / shares if shares else 0.0
            actual = usage.get(key, 0.0) / used if used else 0.0
            effective = actual if parent == _ROOT else actual + (above - actual) * part
            if associations[key].user:
                made[key] = 2.0 ** (-effective / (share * part) / dampening) if share * part else 0.0
            else:
                visit(key, share * part, effective)

    visit(_ROOT, 1.0, 1.0)
    return made
