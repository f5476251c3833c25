"""What no reader of figures may overlook: walltimes that nobody requested, partitions that are one machine here."""

from __future__ import annotations

from typing import Any, NamedTuple

from transom.models._arrays import BoolArray, IntArray

EXACT = "exact"
"""The model under which a job asks for its runtime."""


class Remark(NamedTuple):
    """One fact: ``short`` for titles and captions, ``text`` for people who read on."""

    short: str
    text: str


class Partition(NamedTuple):
    """A partition of the logged machine: number, name in the header, shares of the jobs and of the node-seconds."""

    number: int
    name: str
    jobs: float
    node_seconds: float

    def __str__(self) -> str:
        told = " ".join(part for part in (str(self.number), self.name) if part) if self.number >= 0 else "unknown"
        return f"{told} ({100 * self.jobs:.1f} % of the jobs, {100 * self.node_seconds:.1f} % of the node-seconds)"


def remarks(
    walltime: IntArray,
    runtime: IntArray,
    modelled: BoolArray | None,
    estimates: str,
    partitions: tuple[Partition, ...],
) -> tuple[Remark, ...]:
    """The remarks on a workload.

    Parameters
    ----------
    walltime, runtime : of its jobs [s], shape ``(jobs,)``.
    modelled : whose walltime nobody requested, shape ``(jobs,)``; None where all were requested.
    estimates : the model that those walltimes come from.
    partitions : what is replayed as one machine.
    """
    found = []
    jobs, count = len(walltime), 0 if modelled is None else int(modelled.sum())
    share = f"{100 * count / max(jobs, 1):.1f} %"
    if count and estimates != EXACT:
        text = f"walltimes of {count:,} of {jobs:,} jobs ({share}) are not requested, but modelled: {estimates}"
        found.append(Remark(f"walltimes modelled: {estimates}", text))
    elif count:
        text = f"{count:,} of {jobs:,} jobs ({share}) request no time, and their runtime is taken for it"
        found.append(
            Remark(
                f"PERFECT ESTIMATES ({share} of the jobs)",
                f"PERFECT ESTIMATES: {text} (--estimates names models)",
            )
        )
    elif jobs and (walltime == runtime).all():
        found.append(
            Remark("PERFECT ESTIMATES", f"PERFECT ESTIMATES: each of the {jobs:,} jobs requests exactly its runtime")
        )
    if partitions:
        told = "; ".join(map(str, partitions))
        text = f"{len(partitions)} partitions replayed as one machine: {told} (--partition takes some of them)"
        found.append(Remark(f"{len(partitions)} partitions as one machine", text))
    return tuple(found)


def facts(
    walltime: IntArray,
    runtime: IntArray,
    modelled: BoolArray | None,
    estimates: str,
    partitions: tuple[Partition, ...],
) -> dict[str, Any]:
    """What :func:`remarks` says, for machines: in JSON's terms."""
    jobs, count = len(walltime), 0 if modelled is None else int(modelled.sum())
    return {
        "estimates": {
            "model": estimates if count else None,
            "jobs": count,
            "share": count / max(jobs, 1),
            "perfect": bool(count and estimates == EXACT) or bool(jobs and (walltime == runtime).all()),
        },
        "partitions": [each._asdict() for each in partitions],
    }
