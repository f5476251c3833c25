"""The nodes that jobs held, as runs of consecutive ids."""

from __future__ import annotations

from dataclasses import dataclass

from transom.models.arrays import Frozen, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class NodeRuns(Frozen):
    """Node ids of every job as runs of consecutive ids, 0 to ``num_nodes - 1``.

    Parameters
    ----------
    offsets : the runs of job ``j`` are ``offsets[j]`` to ``offsets[j + 1] - 1``, shape ``(jobs + 1,)``.
    first, last : inclusive ends of each run; the runs of a job ascend, shape ``(runs,)``.
    """

    offsets: IntArray
    first: IntArray
    last: IntArray
