"""The answer to "what would this policy have done for us?": waits under a policy beside those under the first one.

Replays of jittered copies say how much of a difference is noise. Each copy is replayed under every policy, so that
differences are taken copy by copy; what is stated is the lowest and the highest of them. A further copy falls between
these two with probability (n - 1) / (n + 1), for n copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any, NamedTuple

NOISE = 0.01
"""A smaller change of a waiting time, relative to what it was, is none; nor is one below a second."""

Waits = dict[str, dict[str, tuple[int, float]]]
"""Number of jobs and mean wait [s] by kind of groups and by group (:mod:`~transom.simulation.output.job_groups`)."""


class Repetition(NamedTuple):
    """A replay of one policy: the figures of ``summary``, and the mean waits of groups of jobs."""

    figures: dict[str, float]
    waits: Waits


class Change(NamedTuple):
    """A waiting time [s] under the first policy and under another one.

    ``lowest`` and ``highest`` are those of the difference over jittered copies, ``least`` and ``most`` those of the
    difference over the wait under the first policy. None where there are no copies, or that wait is 0.
    """

    baseline: float
    value: float
    lowest: float | None = None
    highest: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def difference(self) -> float:
        """Seconds more under the other policy."""
        return self.value - self.baseline

    @property
    def relative(self) -> float | None:
        """The difference over the wait under the first policy."""
        return self.difference / self.baseline if self.baseline else None

    def sign(self, error: float = 0.0) -> int:
        """1 if the wait grows and -1 if it shrinks; 0 where copies do not agree, or that is within noise or error.

        Parameters
        ----------
        error : of the replays, relative to the wait under the first policy.
        """
        seen = [self.difference, *(each for each in (self.lowest, self.highest) if each is not None)]
        if not differs(self.baseline, self.value, error):
            return 0
        return 1 if min(seen) > 0 else -1 if max(seen) < 0 else 0

    def document(self) -> dict[str, float | None]:
        """The same in JSON's terms."""
        return {**self._asdict(), "difference": self.difference, "relative": self.relative}


def differs(before: float, after: float, error: float = 0.0) -> bool:
    """Whether waiting times [s] differ by at least a second, :data:`NOISE` and the error of the replays."""
    return abs(after - before) >= max(1.0, max(NOISE, error) * before)


class Users(NamedTuple):
    """How many users wait longer, shorter and about the same in the mean over their jobs; ``fewest`` and ``most`` wait
    longer in a copy, None without copies."""

    known: int
    longer: int
    shorter: int
    same: int
    fewest: int | None = None
    most: int | None = None


class GroupChange(NamedTuple):
    """The mean wait of a group of jobs under both policies."""

    name: str
    jobs: int
    change: Change


class Comparison(NamedTuple):
    """One policy beside the first: mean and longest wait, users (None where unknown), groups by kind."""

    policy: str
    mean_wait: Change
    max_wait: Change
    users: Users | None
    groups: dict[str, list[GroupChange]]

    def document(self) -> dict[str, Any]:
        """The same in JSON's terms."""
        groups = {
            kind: [{"name": each.name, "jobs": each.jobs, **each.change.document()} for each in listed]
            for kind, listed in self.groups.items()
        }
        return {
            "policy": self.policy,
            "mean_wait": self.mean_wait.document(),
            "max_wait": self.max_wait.document(),
            "users": None if self.users is None else self.users._asdict(),
            "groups": groups,
        }


def identical(replays: Sequence[Repetition], copies: Sequence[Sequence[Repetition]]) -> bool:
    """Whether all copies have the figures of their replays: nothing was moved or drawn. Missing figures are equal."""
    return all(
        value == replay.figures[name] or (isnan(value) and isnan(replay.figures[name]))
        for replay, of in zip(replays, copies, strict=True)
        for copy in of
        for name, value in copy.figures.items()
    )


def compare(
    policy: str,
    baseline: Repetition,
    value: Repetition,
    copies: Sequence[tuple[Repetition, Repetition]] = (),
) -> Comparison:
    """One policy beside the first.

    Parameters
    ----------
    policy : its name.
    baseline, value : the replay of the trace itself under the first policy and under this one.
    copies : the same for jittered copies.
    """

    def figure(name: str) -> Change:
        pairs = [(before.figures[name], after.figures[name]) for before, after in copies]
        return _change(baseline.figures[name], value.figures[name], pairs)

    groups = {
        kind: [
            GroupChange(name, jobs, _change(wait, value.waits[kind][name][1], _pairs(copies, kind, name)))
            for name, (jobs, wait) in listed.items()
        ]
        for kind, listed in baseline.waits.items()
        if kind != "user"
    }
    return Comparison(policy, figure("mean_wait"), figure("max_wait"), _users(baseline, value, copies), groups)


def _pairs(copies: Sequence[tuple[Repetition, Repetition]], kind: str, name: str) -> list[tuple[float, float]]:
    """Both mean waits of a group in each copy; where jobs are left out, a group may have none in a copy."""
    both = ((before.waits[kind].get(name), after.waits[kind].get(name)) for before, after in copies)
    return [(before[1], after[1]) for before, after in both if before is not None and after is not None]


def _change(baseline: float, value: float, pairs: Sequence[tuple[float, float]]) -> Change:
    if not pairs:
        return Change(baseline, value)
    differences = [after - before for before, after in pairs]
    ratios = [(after - before) / before if before else None for before, after in pairs]
    known = [each for each in ratios if each is not None]
    relative = (min(known), max(known)) if len(known) == len(pairs) else (None, None)
    return Change(baseline, value, min(differences), max(differences), *relative)


def _users(baseline: Repetition, value: Repetition, copies: Sequence[tuple[Repetition, Repetition]]) -> Users | None:
    if "user" not in baseline.waits:
        return None

    def counted(before: Repetition, after: Repetition) -> tuple[int, int, int]:
        waits = after.waits["user"]
        signs = [Change(wait, waits[user][1]).sign() for user, (_, wait) in before.waits["user"].items()]
        return signs.count(1), signs.count(-1), signs.count(0)

    counts = [counted(before, after)[0] for before, after in copies]
    known = len(baseline.waits["user"])
    return Users(known, *counted(baseline, value), *((min(counts), max(counts)) if counts else (None, None)))
