"""What jobs ask for on each of the nodes that they share with others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transom.errors import SpecError
from transom.models import JobTable
from transom.models.arrays import IntArray
from transom.simulation.passes.shared_nodes import SharedNodes
from transom.traces.job_facts import AMOUNTS

_NAMES = ("cores", "MiB of memory", "GPUs")
_HELD = [AMOUNTS.index("mem"), AMOUNTS.index("gres/gpu")]
_NODE = AMOUNTS.index("node")


def nobody_shares() -> SharedNodes:
    """That jobs are counted over the whole machine alone."""
    none = np.empty(0, np.int64)
    return SharedNodes(none, np.empty((0, 0), np.int64), np.empty((0, 0), np.int64), none, none, np.empty(0, bool))


def check_node_cores(partitions: Mapping[str, Mapping[str, Any]], used: set[str], cores: int) -> None:
    """Check that nodes have so many cores in the partitions of the jobs, as far as the trace says.

    Parameters
    ----------
    partitions : by name, with their ``nodes`` and ``cores``.
    used : names in lower case.
    cores : of each node.

    Raises
    ------
    SpecError : a partition has other nodes.
    """
    for name, size in partitions.items():
        nodes, has = size.get("nodes", 0), size.get("cores", 0)
        if name.lower() in used and nodes > 0 and has > 0 and has != nodes * cores:
            raise SpecError(
                f"slurm-backfill: node_cores={cores}: partition {name} has {has} cores on {nodes} nodes; partitions "
                "whose nodes differ are replayed one at a time (--partition NAME)"
            )


def shared_nodes(jobs: JobTable, cores: int, held: IntArray, room: tuple[int, int, int]) -> SharedNodes:
    """The nodes of a machine whose jobs share them.

    A job has the nodes that the trace states, or as few as have its cores; its cores, memory and GPUs are spread over
    them evenly, rounded up. What a trace does not state a job does not ask for.

    Parameters
    ----------
    jobs : sizes count cores.
    cores : of the machine.
    held : what is known of each job, in the order of :data:`~transom.traces.job_facts.AMOUNTS`, -1 where unknown, shape
        ``(jobs, 5)``.
    room : cores, memory [MiB] and GPUs of a node; of the last two, 0 if they do not count.

    Raises
    ------
    SpecError : the machine is not made of such nodes, or a job does not fit on them.
    """
    if cores % room[0]:
        raise SpecError(f"slurm-backfill: the machine has {cores} cores, which cannot be nodes of {room[0]} cores each")
    count = np.maximum(np.maximum(held[:, _NODE], 1), -(-jobs.nodes // room[0]))
    amounts = np.column_stack((jobs.nodes, np.maximum(held[:, _HELD], 0)))
    asks = -(-amounts // count[:, None])
    counted = [r for r, has in enumerate(room) if has]
    for r in counted:
        if (asks[:, r] > room[r]).any():
            job = int((asks[:, r] > room[r]).argmax())
            raise SpecError(
                f"slurm-backfill: job {jobs.id[job]} asks for {asks[job, r]} {_NAMES[r]} on each of its "
                f"{count[job]} nodes, a node has {room[r]}"
            )
    if (count > cores // room[0]).any():
        job = int(count.argmax())
        raise SpecError(f"slurm-backfill: job {jobs.id[job]} has {count[job]} nodes, there are {cores // room[0]}")
    first = np.concatenate(([0], np.cumsum(count)))
    return SharedNodes(
        room=np.array([room[r] for r in counted], np.int64),
        free=np.empty((cores // room[0], len(counted)), np.int64),
        asks=np.ascontiguousarray(asks[:, counted]),
        first=first,
        held=np.empty(int(first[-1]), np.int64),
        open=np.ones(cores // room[0], bool),
    )
