"""How known programs differ from the textbook, as data: a policy, event rules and ways of reading a trace.

A dialect is a TOML file: ``about``, a sentence; ``policy``, a specification, by default the one asked for, in which
``{rule}`` stands for the priority rule of that one and other names for the values of ``[vary]``; ``rules``, the event
rules; and ``[reading]``, options of reading a trace by their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transom.conform.starts import Starts, aligned
from transom.errors import DocumentError, TransomError
from transom.io.toml_files import parse_toml, read_text
from transom.simulation import simulate
from transom.simulation.core.site_order import name_of_rule
from transom.simulation.event_rules import EventRules, SequenceRules
from transom.traces.workload import Workload

_HERE = Path(__file__).parent / "dialects"
_KNOWN: dict[str, Any] = {"about": str, "policy": str, "rules": str, "reading": dict, "vary": dict}
_PREFIX, _GROWTH = 500, 8  # jobs that a dialect is tried on first, and how much longer each further trial is
_MOST = 1000  # values of [vary] in all combinations


class Dialect(NamedTuple):
    """How a program differs from the textbook; its name is that of its file."""

    name: str
    about: str = ""
    policy: str = "{policy}"
    rules: str = "textbook"
    reading: Mapping[str, Any] = {}
    vary: Mapping[str, Sequence[Any]] = {}

    def policies(self, asked: str, rule: str) -> Iterator[str]:
        """The specifications to try where ``asked``, of the priority rule ``rule``, is the textbook's policy."""
        for values in product(*self.vary.values()):
            spec = self.policy.replace("{policy}", asked).replace("{rule}", f"[{rule}]" if "," in rule else rule)
            for name, value in zip(self.vary, values, strict=True):
                spec = spec.replace(f"{{{name}}}", str(value))
            yield spec


class Explained(NamedTuple):
    """A dialect that explains all starts, and the policy and the event rules that do."""

    dialect: Dialect
    policy: str
    rules: str


def read_dialect(path: Path) -> Dialect:
    """The dialect in a file.

    Raises
    ------
    DocumentError : it is none; the message names file and condition.
    """
    stated = parse_toml(read_text(path), str(path))
    for key, value in stated.items():
        if key not in _KNOWN or not isinstance(value, _KNOWN[key]):
            kind = {str: "a text", dict: "a table"}.get(_KNOWN.get(key, int), "one of " + ", ".join(_KNOWN))
            raise DocumentError(f"{path}: {key} must be {kind}, got {value!r:.60}")
    made = Dialect(path.stem, **stated)
    if not all(isinstance(values, list) and values for values in made.vary.values()):
        raise DocumentError(f"{path}: vary: each name has a list of values")
    if np.prod([len(values) for values in made.vary.values()], dtype=float) > _MOST:
        raise DocumentError(f"{path}: vary: more than {_MOST:,} combinations")
    if unknown := set(re.findall(r"\{(\w+)\}", made.policy)) - {"policy", "rule", *made.vary}:
        raise DocumentError(f"{path}: policy: no values for {{{min(unknown)}}}")
    return made


def known_dialects() -> list[Dialect]:
    """The dialects that come with this package."""
    return [read_dialect(path) for path in sorted(_HERE.glob("*.toml"), key=lambda path: path.stem)]


def explaining(
    starts: Starts,
    dialects: Sequence[Dialect],
    asked: str,
    policy: Any,
    read: Callable[[Dialect, str], tuple[Workload, EventRules]],
    refused: Callable[[Dialect, TransomError], None],
    most: int,
    seed: int = 0,
) -> tuple[list[Explained], int]:
    """The dialects under which all start times are as in the file; and how many specifications were not tried.

    Parameters
    ----------
    starts : the start times.
    dialects : in this order.
    asked, policy : the textbook's policy.
    read : the jobs and event rules of a dialect with a policy; raises an error if it does not suit them.
    refused : called with the reason if a dialect cannot be had with this policy or trace.
    most : so many jobs are replayed in all, then no further dialect is tried.
    seed : of policies that draw.
    """
    rule, left, found = name_of_rule(getattr(policy, "order", "fcfs")), 0, list[Explained]()
    for dialect in dialects:
        workload: Workload | None = None
        for spec in dialect.policies(asked, rule):
            if most < 0:
                left += 1
                continue
            try:
                if workload is None or dialect.policy == "{policy}":
                    workload, rules = read(dialect, spec)
                same, cost = _same(workload, rules, spec, starts, seed, most)
            except TransomError as error:
                refused(dialect, error)
                break
            most -= cost
            if same:
                found.append(Explained(dialect, spec, dialect.rules))
                break
    return found, left


def _same(workload: Workload, rules: EventRules, spec: str, starts: Starts, seed: int, most: int) -> tuple[bool, int]:
    """Whether a replay starts all jobs as in the file, by ever longer first parts of it; and the jobs replayed."""
    theirs = aligned(workload, starts)
    if theirs.left or (theirs.start < 0).any() or (theirs.again >= 0).any():
        return False, 0
    jobs, part, cost = len(workload), _PREFIX, 0
    while True:
        whole = part >= jobs
        taken = theirs.workload if whole else theirs.workload.take(slice(0, part))
        suited = rules.within(taken) if isinstance(rules, SequenceRules) else rules
        start = simulate(taken, spec, rules=suited, seed=seed).start
        cost += len(taken)
        # What is submitted later changes nothing before.
        until = 2**62 if whole else int(theirs.workload.jobs.submit[part])
        known = np.minimum(start, theirs.start[: len(taken)]) < until
        if (start[known] != theirs.start[: len(taken)][known]).any():
            return False, cost
        if whole or cost > most:
            return whole, cost
        part *= _GROWTH
