"""What the JSON documents look like: one struct per format, with units and ranges.

The JSON Schema files beside this module are made from these structs.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from transom.result import Reason, Status

LARGEST = 2**63 - 1
Int = Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST)]
Natural = Annotated[int, Meta(ge=0, le=LARGEST)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]
Number = Int | float
# A document may claim any number of items; this many are believed before memory is set aside.
Items = Annotated[int, Meta(ge=0, le=100_000_000, description="number of items of the instance")]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="digest of the problem's data")]


class JobDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A job as the scheduler knows it."""

    id: Positive
    submit: Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST, description="time of submission [s]")]
    nodes: Positive
    walltime: Annotated[int, Meta(ge=1, le=LARGEST, description="the user's limit on the runtime [s]")]
    demand: Annotated[tuple[Natural, ...], Meta(description="amount of each further resource")] = ()
    user: Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST, description="-1 if unknown")] = -1
    priority: Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST, description="-1 if unknown")] = -1
    depends_on: Annotated[tuple[Positive, ...], Meta(description="ids of jobs that must have ended before")] = ()


class RunningDocument(JobDocument, kw_only=True, frozen=True):
    """A running job."""

    expected_end: Annotated[
        int, Meta(ge=-LARGEST - 1, le=LARGEST, description="when it will have ended at the latest [s]; after now")
    ]


class ClusterDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """The machine."""

    num_nodes: Positive
    resources: Annotated[tuple[str, ...], Meta(description="names of further resources")] = ()
    capacities: Annotated[tuple[Natural, ...], Meta(description="amount of each further resource")] = ()


class WindowDocument(
    msgspec.Struct, forbid_unknown_fields=True, tag_field="format", tag="transom/window/1", frozen=True
):
    """What a batch scheduler sees at one instant."""

    now: Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST, description="the instant [s]")]
    cluster: ClusterDocument
    available: Annotated[tuple[Natural, ...], Meta(description="free nodes, then what is free of each resource")]
    queue: Annotated[tuple[JobDocument, ...], Meta(description="waiting jobs in the site's order")]
    running: Annotated[tuple[RunningDocument, ...], Meta(description="running jobs by expected end")]


class KnapsackDocument(
    msgspec.Struct, forbid_unknown_fields=True, tag_field="format", tag="transom/knapsack/1", frozen=True
):
    """A 0-1 knapsack: choose items of the largest total value that fit into the capacity."""

    values: tuple[Int, ...]
    weights: tuple[Natural, ...]
    capacity: Natural
    scale: Annotated[int, Meta(ge=1, le=LARGEST, description="what real values were multiplied by")] = 1


class StopDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """When the solver had to stop; what is left out did not limit it."""

    seconds: Annotated[float | None, Meta(description="wall-clock time of the call [s], > 0")] = None
    iterations: Natural | None = None
    target: Annotated[Number | None, Meta(description="a value at least as good")] = None
    gap: Annotated[float | None, Meta(description="a gap of at most this, >= 0")] = None
    stall: Annotated[Positive | None, Meta(description="iterations without a better value")] = None


class ResultDocument(
    msgspec.Struct, forbid_unknown_fields=True, tag_field="format", tag="transom/result/1", frozen=True
):
    """What came out of one call of solve."""

    instance: Digest
    problem: str
    solver: str
    parameters: dict[str, Any]
    status: Status
    reason: Reason
    solution: Annotated[
        tuple[Natural, ...] | None,
        Meta(description="positions of the chosen items, ascending; null if there is none"),
    ]
    items: Items | None
    value: Number | None
    bound: Annotated[Number | None, Meta(description="best proved bound; null if nothing is proved")]
    gap: Annotated[float | None, Meta(description="|bound - value| / max(|value|, 1e-9); null if unknown")]
    seconds: Annotated[float, Meta(ge=0.0, description="wall-clock time of the call [s]")]
    seed: Natural
    threads: Positive
    stop: StopDocument
    curve: Annotated[
        tuple[tuple[float, Number | None, Number | None], ...],
        Meta(description="(seconds, value, bound) at each improvement of either"),
    ]
    error: str | None
    versions: dict[str, str]


DOCUMENTS: dict[str, type[WindowDocument] | type[KnapsackDocument] | type[ResultDocument]] = {
    "window": WindowDocument,
    "knapsack": KnapsackDocument,
    "result": ResultDocument,
}
"""The known documents by name; the format is ``transom/NAME/1``."""
