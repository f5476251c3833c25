"""What ``transom simulate --out`` left in folders, policy by policy, ready to be shown beside one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.wording import digits
from transom.errors import DocumentError
from transom.models.arrays import IntArray
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.schedule import Schedule
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.answer import Repetition
from transom.simulation.output.as_logged import ReplayError, WaitError, replay_error
from transom.simulation.output.job_groups import groupings, mean_waits
from transom.simulation.output.metrics import Trim, summary
from transom.simulation.output.recording import (
    holds_promises,
    read_details,
    read_node_runs,
    read_promises,
    read_schedule,
)
from transom.simulation.output.sentences import Answer, answer
from transom.simulation.runs import read_repetitions
from transom.traces.origin import Origin

_JOBS = "jobs.parquet"


class Promised(NamedTuple):
    """When each job was first promised a start [s], -1 for never, and the first and the last start promised [s]."""

    when: IntArray
    first: IntArray
    last: IntArray


class Recorded(NamedTuple):
    """A recorded policy.

    Parameters
    ----------
    label, folder : its name and where it is.
    schedule : what happened.
    card : what the metadata state.
    promised : its promises to jobs.
    runs : the nodes of each job; None where they are the lowest idle ones at each start.
    """

    label: str
    folder: Path
    schedule: Schedule
    card: Mapping[str, Any]
    promised: Promised
    runs: NodeRuns | None


def is_replay(path: Path) -> bool:
    """Whether a folder is one of ``transom simulate --out``, or of one of its policies."""
    return path.is_dir() and bool(_folders(path))


def read_recorded(paths: Sequence[Path]) -> list[Recorded]:
    """The policies in some folders, in the order in which ``simulate`` was given them.

    Raises
    ------
    DocumentError : a file is damaged, two policies have one name, or the folders hold replays of different workloads
        or under different event rules.
    """
    found: list[Recorded] = []
    for path in paths:
        listed = [_read(folder) for folder in _folders(path)]
        policies = max((each.card["details"].get("policies", []) for each in listed), key=len)
        rank = {label: place for place, label in enumerate(policies)}
        found += sorted(listed, key=lambda each: (rank.get(each.label, len(rank)), each.label))
    first = found[0]
    for each in found[1:]:
        if each.card["details"].get("digest") != first.card["details"].get("digest"):
            raise DocumentError(f"{each.folder}: replays another workload than {first.folder}")
        if each.schedule.rules != first.schedule.rules:
            rules = f"{each.schedule.rules}, {first.folder} under {first.schedule.rules}"
            raise DocumentError(f"{each.folder}: under the event rules {rules}; a page shows one or the other")
    labels = [each.label for each in found]
    for i, label in enumerate(labels):
        if label in labels[:i]:
            raise DocumentError(
                f"{found[i].folder}: a second policy {label!r}; record it under another name (LABEL=SPEC)"
            )
    return found


def answered(recorded: Sequence[Recorded], texts: Mapping[str, NDArray[Any]]) -> Answer:
    """The sentences of ``transom simulate`` about these policies, the first being the baseline.

    Repetitions count where all policies have them, of the same copies and all jobs.
    """
    schedule = recorded[0].schedule
    groups = groupings(schedule.jobs, schedule.runtime, schedule.cluster, _origin(texts))
    replays = [Repetition(summary(each.schedule), mean_waits(each.schedule, groups)) for each in recorded]
    kept = [read_repetitions(each.folder) for each in recorded]
    keys = [[card.get(key) for key in ("digest", "seed", "jitter", "trim")] for card, _ in kept]
    stand = all(key == keys[0] for key in keys) and keys[0][-1] == repr(Trim())
    stand = stand and all(
        key[0] == each.card["details"].get("digest") for key, each in zip(keys, recorded, strict=True)
    )
    copies = [copies for _, copies in kept] if stand and all(copies for _, copies in kept) else []
    error = _stated_error(recorded[0].card["details"]) or replay_error(recorded[0].label, schedule, groups)
    return answer([each.label for each in recorded], replays, copies, keys[0][2] or 0, error)


def _stated_error(details: Mapping[str, Any]) -> ReplayError | None:
    """The error of today's policy that a recording states where it is not one of those that are recorded."""
    try:
        today = details["today"]
        of = {name: WaitError(*(each[key] for key in WaitError._fields)) for name, each in today["partitions"].items()}
        return ReplayError(today["policy"], WaitError(*(today[key] for key in WaitError._fields)), of)
    except (KeyError, TypeError, AttributeError):
        return None


def _folders(path: Path) -> list[Path]:
    if (path / _JOBS).is_file():
        return [path]
    return sorted(each.parent for each in path.glob(f"*/{_JOBS}"))


def _read(folder: Path) -> Recorded:
    card, schedule = read_details(folder), read_schedule(folder)
    runs, lowest = read_node_runs(folder), assign_nodes(schedule) if schedule.outages is None else None
    plain = lowest is not None and runs == lowest
    return Recorded(folder.resolve().name, folder, schedule, card, _promised(folder, schedule), None if plain else runs)


def _promised(folder: Path, schedule: Schedule) -> Promised:
    """The promises of a recording; of older ones those to the first job of the queue alone."""
    number, ids, times = len(schedule), schedule.jobs.id, schedule.decisions["time"]
    order = np.argsort(ids, kind="stable")
    found = Promised(*(np.full(number, -1) for _ in Promised._fields))

    def note(rows: IntArray, jobs: IntArray, starts: IntArray) -> None:
        rows, jobs, starts = rows[starts >= 0], jobs[starts >= 0], starts[starts >= 0]
        at = order[np.searchsorted(ids, jobs, sorter=order)]
        firsts, first = np.unique(at, return_index=True)
        new = found.when[firsts] < 0
        found.when[firsts[new]], found.first[firsts[new]] = times[rows[first[new]]], starts[first[new]]
        _, back = np.unique(at[::-1], return_index=True)
        found.last[firsts] = starts[::-1][back]

    if holds_promises(folder):
        for each in read_promises(folder):
            note(
                each.first + np.repeat(np.arange(len(each.offsets) - 1), np.diff(each.offsets)), each.jobs, each.starts
            )
    else:
        rows = np.arange(len(times))
        note(rows, schedule.decisions["reserved_job"], schedule.decisions["reserved_start"])
    return found


def _origin(texts: Mapping[str, NDArray[Any]]) -> Origin:
    """The partitions and groups that a recording states."""

    def numbered(kind: str) -> tuple[IntArray | None, dict[int, str]]:
        if kind not in texts:
            return None, {}
        column = texts[kind].tolist()
        names = sorted(set(column) - {""}, key=lambda name: _by_number(name, kind))
        places = {name: place for place, name in enumerate(names)}
        return np.array([places.get(name, -1) for name in column], np.int64), dict(enumerate(names))

    (partition, names), (group, groups) = numbered("partition"), numbered("group")
    return Origin(partition=partition, names=names, group=group, groups=groups)


def _by_number(name: str, kind: str) -> tuple[int, str]:
    """Groups without a name of their own by number, as in the trace; then the others by name."""
    number = name.removeprefix(f"{kind} ")
    return (int(number), "") if digits(number) and number != name else (2**63, name)
