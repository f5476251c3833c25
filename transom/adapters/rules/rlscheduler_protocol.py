"""RLScheduler's protocol: policies side by side over sequences of a trace, under its rules or the textbook's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from transom.adapters.rules.rlscheduler import RLScheduler
from transom.bench.score.limits import median_limits
from transom.errors import SpecError
from transom.registry import labelled_apart
from transom.simulation import Schedule, make_policy, simulate
from transom.simulation.core.decision import Policy
from transom.simulation.event_rules import Textbook, suited_policy
from transom.simulation.output.metrics import summary
from transom.simulation.output.verification import check_schedule
from transom.simulation.policies.by_name import RulePolicy
from transom.simulation.policies.clocks import clock_of
from transom.simulation.policies.max_wait import MaxWaitPolicy
from transom.simulation.runs import stand
from transom.traces import Workload

Backfill = Literal["none", "easy"]

FIGURES = {
    "bounded_slowdown": "mean_bounded_slowdown",
    "wait": "mean_wait",
    "utilisation": "utilisation",
    "slowdown": "mean_slowdown",
}
"""What is measured on a sequence: the name here, and that of :data:`~transom.simulation.output.metrics.METRICS`."""

_PUBLISHED_RULES = ("fcfs", "wfp3", "unicep", "sjf", "f1", "learned")
_PUBLISHED = {
    ("lublin-1", "none"): (7273.77, 19753.53, 22274.74, 277.35, 258.37, 254.67),
    ("lublin-1", "easy"): (235.82, 133.87, 307.23, 73.31, 75.07, 58.64),
    ("sdsc-sp2", "none"): (1727.54, 3000.88, 1848.45, 2680.55, 1232.06, 466.44),
    ("sdsc-sp2", "easy"): (1595.12, 1083.12, 548.01, 2167.84, 1098.22, 397.82),
    ("hpc2n", "none"): (297.18, 426.99, 609.77, 157.71, 118.01, 117.01),
    ("hpc2n", "easy"): (127.38, 97.39, 175.12, 122.04, 71.95, 86.14),
    ("lublin-2", "none"): (7842.47, 9523.18, 11265.31, 787.89, 698.34, 724.51),
    ("lublin-2", "easy"): (247.61, 318.35, 379.59, 91.99, 148.25, 118.79),
}
_TRACES = {
    "lublin-1": "lublin[-_](256|1)",
    "lublin-2": "lublin[-_](256[-_]new2|2)",
    "sdsc-sp2": "sdsc-sp2.*",
    "hpc2n": "hpc2n.*",
}  # names of files

SIGNED = ("wfp3", "unicep")
"""Rules whose published figures are those of the wrong sign of the waiting time."""


class Entry(NamedTuple):
    """A policy of a comparison: its label, its specification, and how it backfills (``own``: as it decides itself)."""

    label: str
    spec: str
    policy: Policy
    backfill: Literal["none", "easy", "own"]


def parse_entries(policies: Sequence[str], backfill: Backfill, textbook: bool) -> list[Entry]:
    """The policies that ``[LABEL=]SPEC`` describe, with the backfilling of a comparison.

    Under the textbook's events a policy that is no order of the queue decides itself what to start ahead of others.

    Raises
    ------
    SpecError : a policy is unknown or cannot be replayed so, its specification states a backfilling, or two labels are
        one.
    """
    entries: list[Entry] = []
    for label, spec in labelled_apart(policies):
        policy: Any = make_policy(spec)
        stated = getattr(policy, "backfilling", None)
        if stated not in (None, "none"):
            plain = f"--policy {policy.rule} " if isinstance(policy, RulePolicy) else ""
            cure = f": {plain}--backfill easy" if stated == "easy" else ", which knows none and easy"
            raise SpecError(f"--policy {spec}: is backfilled by --backfill here{cure}")
        if label in (each.label for each in entries):
            raise SpecError(f"two policies are called {label!r}; name one by LABEL=SPEC, such as {label}-2={spec}")
        if not textbook:
            suited_policy(RLScheduler(), policy, spec)
        how: Literal["none", "easy", "own"] = backfill
        if textbook and stated is not None:
            policy = _backfilled(policy, backfill)
        elif textbook:
            how = "own"
        entries.append(Entry(label, spec, policy, how))
    return entries


def _backfilled(policy: Any, how: Backfill) -> Any:
    if isinstance(policy, MaxWaitPolicy):
        return replace(policy, policy=_backfilled(policy.policy, how))
    return replace(policy, backfilling=how)


def replay_sequence(entry: Entry, sequence: Workload, rules: RLScheduler, textbook: bool) -> Schedule:
    """Replay a sequence on an empty machine, and verify the schedule."""
    under = Textbook() if textbook else rules.within(sequence)
    schedule = simulate(sequence, entry.policy, seed=rules.seed, label=entry.label, rules=under)
    stand(check_schedule(sequence, schedule))
    return schedule


def compare(
    entries: Sequence[Entry],
    workload: Workload,
    rules: RLScheduler,
    textbook: bool,
    report: Callable[[str], None] = lambda label: None,
) -> list[dict[str, Any]]:
    """A line for each policy: means over the sequences, medians with limits, and each sequence.

    Parameters
    ----------
    entries : the policies.
    workload, rules : what :meth:`~transom.adapters.rules.rlscheduler.RLScheduler.read` gave.
    textbook : replay under the textbook's events.
    report : called with the label of the policy after every sequence.

    Raises
    ------
    SpecError : there are too few jobs.
    """
    starts, by_id = rules.starts(len(workload)), np.argsort(workload.jobs.id)
    sequences = [workload.take(by_id[start : start + rules.length]) for start in starts]
    lines = []
    for entry in entries:
        rows: list[dict[str, float]] = []
        for sequence in sequences:
            found = summary(replay_sequence(entry, sequence, rules, textbook))
            rows.append({name: found[metric] for name, metric in FIGURES.items()})
            report(entry.label)
        values = {name: np.array([row[name] for row in rows]) for name in FIGURES}
        limits = {name: median_limits(each) for name, each in values.items()}
        lines.append(
            {
                "policy": entry.label,
                "spec": entry.spec,
                "rules": "textbook" if textbook else replace(rules, backfill="none").stated,
                "backfill": entry.backfill,
                "clock": clock_of(entry.spec),
                **{name: float(each.mean()) for name, each in values.items()},
                "medians": {name: float(np.median(each)) for name, each in values.items()},
                "intervals": {
                    name: None if each is None else [float(each.low), float(each.high)] for name, each in limits.items()
                },
                "deviations": {
                    name: float(each.std(ddof=1)) if len(each) > 1 else None for name, each in values.items()
                },
                "published": None if textbook else published(entry.spec, workload.name, rules),
                "sequences": [{"start": start, **row} for start, row in zip(starts, rows, strict=True)],
            }
        )
    return lines


def published(spec: str, trace: str, rules: RLScheduler) -> dict[str, Any] | None:
    """The mean bounded slowdowns that RLScheduler's authors print for a policy and for their learned one.

    None for other traces and other sequences; ``bounded_slowdown`` is None for policies that they do not have.
    """
    if replace(rules, sign="real", backfill="none", unasked="") != RLScheduler():
        return None
    name = next((each for each, pattern in _TRACES.items() if re.fullmatch(pattern, trace.lower())), None)
    if name is None:
        return None
    figures = dict(zip(_PUBLISHED_RULES, _PUBLISHED[name, rules.backfill], strict=True))
    learned = figures.pop("learned")
    return {"bounded_slowdown": figures.get(spec), "sign": "published" if spec in SIGNED else None, "learned": learned}
