"""A trace as it is read for a replay under event rules: programs with rules of their own read jobs in their own way."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from transom.simulation.event_rules import EventRules, SequenceRules, Textbook, without_dependencies
from transom.traces import ReadingRules, Workload, cut, read_swf
from transom.traces.cut import stretch


class Sequence(NamedTuple):
    """Jobs to be replayed, and the rules they are replayed under."""

    workload: Workload
    rules: EventRules


def read_sequence(
    trace: Path,
    rules: EventRules,
    nodes: int | None = None,
    start: int = 0,
    jobs: int | None = None,
    reading: ReadingRules | None = None,
) -> Sequence:
    """Read a trace and cut it.

    Parameters
    ----------
    trace : the file.
    rules : the event rules. Under those of other programs jobs wait for no others; a program with a protocol of
        sequences (:class:`~transom.simulation.event_rules.SequenceRules`) reads jobs in its own way, and
        they are cut by id.
    nodes : size of the machine, instead of what the header says.
    start, jobs : position of the first job, from 0, and how many to take; all by default.
    reading : how to repair jobs; by default as these event rules do: under ``cqsim`` jobs without a requested time are
        left out, and partitions are one machine.

    Raises
    ------
    ModelError, TraceError : as of :func:`~transom.traces.read_swf`.
    """
    if isinstance(rules, SequenceRules):
        whole, stated = rules.read(trace, nodes)
        workload = _stretch_by_id(whole, start, jobs)
        return Sequence(workload, stated.within(workload))
    workload = without_dependencies(rules, read_swf(trace, reading or reading_under(rules), nodes))
    return Sequence(cut(workload, start, jobs) if start or jobs is not None else workload, rules)


def reading_under(rules: EventRules) -> ReadingRules:
    """How jobs are repaired under event rules, unless stated otherwise."""
    return ReadingRules() if isinstance(rules, Textbook) else ReadingRules(walltime="requested", merge_partitions=True)


def _stretch_by_id(workload: Workload, start: int, jobs: int | None) -> Workload:
    """Consecutive jobs of a workload by id, their submission times unchanged."""
    count = len(cut(workload, start, jobs))  # which also refuses what does not lie inside
    return stretch(workload, np.argsort(workload.jobs.id)[start : start + count])
