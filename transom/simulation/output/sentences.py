"""Sentences about waits that an operator can forward, from the facts of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any, NamedTuple

from transom._system.durations import times
from transom.simulation.output.answer import (
    NOISE,
    Change,
    Comparison,
    GroupChange,
    Repetition,
    Users,
    compare,
    differs,
    identical,
)
from transom.simulation.output.as_logged import ReplayError

_HEADS = {
    "partition": ("By partition", "partitions"),
    "size": ("By size of the job", "classes"),
    "group": ("By group of users", "groups"),
    "use": ("By use of the machine", "classes of users"),
}


UNLIKE = 0.25
"""From this error of the replay on, relative to the logged mean wait, it is said before what policies change."""


class Answer(NamedTuple):
    """The facts, and sentences about them."""

    facts: dict[str, Any]
    sentences: list[str]


def answer(
    policies: Sequence[str],
    replays: Sequence[Repetition],
    copies: Sequence[Sequence[Repetition]] = (),
    jitter: int = 0,
    error: ReplayError | None = None,
) -> Answer:
    """What the policies would have done to waiting times; the first one is what the others are compared with.

    Parameters
    ----------
    policies : their names, at least one.
    replays : the replay of the trace under each of them.
    copies : replays of jittered copies under each of them, the same copies for all; empty without copies.
    jitter : submissions of a copy moved by up to so much [s].
    error : how far the replay of today's policy is from the log, where it states starts.
    """
    first, repeats = replays[0], min(map(len, copies), default=0)
    same = bool(repeats) and not jitter and identical(replays, copies)
    ranged = 0 if same else repeats  # a range over identical replays would say how much is noise
    comparisons = [
        compare(policy, first, replay, list(zip(copies[0][:ranged], copies[i][:ranged], strict=True) if ranged else ()))
        for i, (policy, replay) in enumerate(zip(policies[1:], replays[1:], strict=True), 1)
    ]
    plain = [each.figures["mean_wait"] for each in copies[0][:ranged]] if ranged else []
    facts = {
        "baseline": policies[0],
        "mean_wait": first.figures["mean_wait"],
        "median_wait": first.figures["median_wait"],
        "max_wait": first.figures["max_wait"],
        "users": len(first.waits["user"]) if "user" in first.waits else None,
        "repeats": repeats,
        "jitter": jitter if repeats else None,
        "today": None if error is None else error.document(),
        "policies": [each.document() for each in comparisons],
    }
    said = [sentence for each in comparisons for sentence in _compared(policies[0], each, error)] or _alone(
        policies[0], first, plain
    )
    waited = not all(map(_nobody_waits, comparisons)) if comparisons else not _idle(first, plain)
    if error is not None:
        unlike = error.all_jobs.error >= UNLIKE
        said.insert(
            0 if unlike else 1,
            ("This replay does not stand for the machine. " if unlike else "") + _replay_error(error),
        )
    if comparisons and waited and not comparisons[0].users:
        said.append("The trace does not say whose jobs these are.")
    if same:
        each = f"Each of {repeats} further replays" if repeats > 1 else "A further replay"
        said.append(f"{each} with another seed is identical: nothing is drawn (--jitter moves submissions).")
    elif repeats and waited:
        moved = f" with submissions moved by up to {jitter} s" if jitter else " with other seeds"
        copy = f"{repeats} further replays{moved}" if repeats > 1 else f"a further replay{moved}"
        said.append(f"In brackets: the range over {copy}.")
    return Answer({**facts, "sentences": said}, said)


def _nobody_waits(comparison: Comparison) -> bool:
    longest = comparison.max_wait
    return not any((longest.baseline, longest.value, comparison.mean_wait.lowest, comparison.mean_wait.highest))


def _idle(replay: Repetition, means: Sequence[float]) -> bool:
    return not any((replay.figures["max_wait"], *means))


def _replay_error(error: ReplayError) -> str:
    of = error.all_jobs
    if isnan(of.error):
        return "By the log nobody waited: it cannot tell policies apart."
    missed, waits = _percent(of.of_mean), times(of.logged_wait, of.replayed_wait)
    by_day = f", and those of single days by {_percent(of.error)}" if _percent(of.error) != missed else ""
    says = f"differences below {_percent(max(of.error, NOISE))} say nothing about this cluster"
    between = f"{waits[0]} logged, {waits[1]} replayed"
    return f"The replay of {error.policy} misses the logged mean wait by {missed} ({between}){by_day}: {says}."


def _compared(baseline: str, comparison: Comparison, error: ReplayError | None) -> list[str]:
    if _nobody_waits(comparison):
        return [f"Under {comparison.policy} as under {baseline} no job would have waited."]
    missed = 0.0 if error is None or isnan(error.all_jobs.error) else error.all_jobs.error
    parts = [_mean(comparison.mean_wait, missed)]
    if comparison.users is not None:
        parts.append(_users(comparison.users))
    parts.append(_longest(comparison.max_wait))
    main = f"{comparison.policy} instead of {baseline} would have {'; '.join(parts)}."
    partitions = {} if error is None else {name: each.error for name, each in error.partitions.items()}
    groups = (
        (_HEADS[kind][0], _groups(listed, _HEADS[kind][1], partitions if kind == "partition" else {}, missed))
        for kind, listed in comparison.groups.items()
    )
    return [main, *(f"{head}, {text}." for head, text in groups if text)]


def _alone(policy: str, replay: Repetition, means: Sequence[float]) -> list[str]:
    if _idle(replay, means):
        return [f"Under {policy} no job would have waited."]
    mean, median, longest = (replay.figures[name] for name in ("mean_wait", "median_wait", "max_wait"))
    span = f" ({' to '.join(times(min(means), max(means)))})" if means else ""
    said = f"Under {policy} the mean wait would have been {times(mean)[0]}{span}, the median {times(median)[0]} "
    said += f"and the longest {times(longest)[0]}"
    if "user" in replay.waits:
        waits = [wait for _, wait in replay.waits["user"].values()]
        most = sum(wait > mean for wait in waits)
        if len(waits) > 1:  # one alone waits the mean
            said += f"; {_of(most, len(waits), 'user')} would have waited longer than the mean"
    return [f"{said}."]


def _mean(change: Change, error: float) -> str:
    """What becomes of the mean wait; the error of the replays stands beside it where there is any."""
    missed = f"; replay error {_percent(error)}" if error else ""
    if change.difference == 0:
        return f"left the mean wait as it is ({times(change.baseline)[0]}{_span(change)}{missed})"
    both = times(change.baseline, change.value)
    same = not change.sign(error)
    inside = f"{both[0]} to {both[1]}{_span(change, turned=same)}{missed}"
    if not change.sign():
        return f"left the mean wait about the same ({inside})"
    if same:
        return f"changed the mean wait by less than this replay errs ({inside})"
    verb = "cut" if change.difference < 0 else "raised"
    if change.relative is None:
        return f"{verb} the mean wait from {both[0]} to {both[1]}"
    return f"{verb} the mean wait by {_percent(change.relative)} ({inside})"


def _span(change: Change, turned: bool = False) -> str:
    """The range over copies, after a semicolon; of the main change's direction unless it says another (``turned``)."""
    if change.least is None or change.most is None:
        return ""
    low, high = sorted((change.least, change.most), key=abs)
    if low * high < 0:
        return f"; from {_percent(change.least)} less to {_percent(change.most)} more"
    ends = " to ".join(dict.fromkeys((_percent(low), _percent(high)))).replace(" % to ", " to ")
    turned = turned or change.difference * (change.least + change.most) <= 0
    return f"; {ends}{(' less' if high < 0 else ' more') if turned and high else ''}"


def _users(users: Users) -> str:
    span = ""
    if users.fewest is not None and users.most is not None:
        span = f" ({users.fewest} to {users.most})" if users.fewest < users.most else f" ({users.most})"
    if users.known == 1:
        return f"the only user would {'' if users.longer else 'not '}have waited longer{span}"
    return f"{_of(users.longer, users.known, 'user')} would have waited longer{span}"


def _of(count: int, known: int, what: str) -> str:
    some = {0: "none", known: "all"}.get(count, f"{count:,}")
    return f"{some} of {known:,} {what}s" if count < known else f"all {known:,} {what}s"


def _longest(change: Change) -> str:
    before, after = times(change.baseline, change.value)
    if change.difference == 0:
        return f"the longest wait would have stayed at {before}"
    span = ""
    if change.lowest is not None and change.highest is not None:
        ends = dict.fromkeys(_signed(each) for each in (change.lowest, change.highest))
        span = f" ({' to '.join(ends)})"
    if not differs(change.baseline, change.value):
        return f"the longest wait would have stayed about the same, {before}{span}"
    verb = "grown" if change.difference > 0 else "shrunk"
    return f"the longest wait would have {verb} from {before} to {after}{span}"


def _groups(groups: Sequence[GroupChange], many: str, errors: Mapping[str, float], error: float) -> str:
    """How many gain and lose, of those about whom all copies agree, and whose waits change most in total; within their
    error, or else that of all jobs, they are about the same."""
    signs = [each.change.sign(_known(errors.get(each.name), error)) for each in groups]
    gains = [each for each, sign in zip(groups, signs, strict=True) if sign < 0]
    losses = [each for each, sign in zip(groups, signs, strict=True) if sign > 0]
    if not gains and not losses:
        return ""
    counts = [f"{len(gains) or 'none'} would have waited less", f"{len(losses) or 'none'} longer"]
    if len(gains) + len(losses) < len(groups):
        counts = [f"{counts[0]}, {counts[1]}", f"{len(groups) - len(gains) - len(losses)} about the same"]
    said = [f"of {len(groups)} {many} {' and '.join(counts)}"]
    said += [
        f"greatest {what}: {_who(each)}" for what, users in (("gain", gains), ("loss", losses)) for each in _most(users)
    ]
    return "; ".join(said)


def _known(error: float | None, otherwise: float) -> float:
    return otherwise if error is None or isnan(error) else error


def _most(groups: Sequence[GroupChange]) -> list[GroupChange]:
    return [max(groups, key=lambda each: abs(each.jobs * each.change.difference))] if groups else []


def _who(group: GroupChange) -> str:
    before, after = times(group.change.baseline, group.change.value)
    jobs = "1 job" if group.jobs == 1 else f"{group.jobs:,} jobs"
    return f"{group.name} ({jobs}, mean wait {before} to {after})"


def _percent(ratio: float) -> str:
    share = 100 * abs(ratio)
    if 0 < share < 0.5:
        return "less than 1 %"
    if ratio < 0 and 99.5 <= share < 100:
        return "more than 99 %"
    return f"{share:,.0f} %"


def _signed(seconds: float) -> str:
    if seconds == 0:
        return "the same"
    return f"{times(abs(seconds))[0]} {'more' if seconds > 0 else 'less'}"
