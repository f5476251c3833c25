"""Both schedules around the first wrong start."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from transom.conform.judging import Verdict
from transom.conform.passes import most_at_once
from transom.conform.starts import Aligned
from transom.simulation.core.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = {
    "starts at the same second": "#BBCCDD",
    "starts at another second": "#DDAA88",
    "the first wrong start": "#AA3322",
}


def first_difference(theirs: Aligned, verdict: Verdict, name: str) -> Figure:
    """Two Gantt charts around the first wrong start: what the program did, and what the textbook does.

    Parameters
    ----------
    theirs, verdict : the schedules; the verdict names a first wrong start.
    name : what to call the program's.
    """
    from transom.plot.gantt import gantt_beside

    textbook, first = verdict.textbook, verdict.first
    assert first is not None
    jobs, ids = theirs.workload.jobs, theirs.workload.jobs.id
    position = int((ids == first.job).argmax())
    known = [each for each in (first.start, first.expected) if each is not None]
    span = max(60, max(known) - min(known), int(jobs.walltime[position]))
    begin, end = max(0, min(known) - span // 2), min(known) + span + span // 2
    kind = np.where(theirs.start == textbook.start, 0, 1)
    kind[position] = 2
    parts, kinds, most = [], [], textbook.cluster.num_nodes
    for title, start in ((name, theirs.start), (f"{textbook.policy}, textbook", textbook.start)):
        ends = start + theirs.workload.runtime
        shown = np.flatnonzero((start >= 0) & (start < end) & (ends > begin))
        parts.append((title, shown, start[shown], ends[shown]))
        kinds.append(kind[shown])
        most = max(most, most_at_once(jobs.nodes[shown], start[shown], ends[shown]))
    cluster = (
        replace(textbook.cluster, num_nodes=most, topology=None)
        if most > textbook.cluster.num_nodes
        else textbook.cluster
    )
    drawn = [
        Schedule(
            policy=title, workload=textbook.workload, cluster=cluster, jobs=jobs.take(shown), start=start, end=ends,
            mode=np.zeros(len(shown), np.int64), order=np.argsort(np.argsort(start, kind="stable"), kind="stable"),
        )
        for title, shown, start, ends in parts
    ]  # fmt: skip
    return gantt_beside(drawn, begin, end, kinds, _KINDS, textbook.cluster.num_nodes)
