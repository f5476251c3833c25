"""What the JSON documents look like: one struct per format, with units and ranges.

The JSON Schema files beside this module are made from these structs.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from transom.result import Reason, Status

LARGEST = 2**63 - 1
Int = Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST)]
Natural = Annotated[int, Meta(ge=0, le=LARGEST)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]
Number = Int | float
# Not a tuple of fixed length: msgspec 0.22 crashes on those within another tuple.
Row = Annotated[tuple[Int, ...], Meta(description="numbers that belong together, such as an arc or a row of a matrix")]
Pair = Annotated[tuple[Natural, ...], Meta(min_length=2, max_length=2, description="[job, other]")]
Amounts = tuple[Natural, ...] | dict[str, Natural]
# A document may claim any number of items; this many are believed before memory is set aside.
Items = Annotated[
    int,
    Meta(
        ge=0,
        le=100_000_000,
        description="length of what the solution chooses from: items, idle nodes, operation arcs, jobs, tasks",
    ),
]
Nodes = Annotated[int, Meta(ge=1, le=10_000_000)]  # of a tree
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="digest of the problem's data")]


class JobDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A job as the scheduler knows it."""

    id: Positive
    submit: Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST, description="time of submission [s]")]
    nodes: Positive
    walltime: Annotated[int, Meta(ge=1, le=LARGEST, description="the user's limit on the runtime [s]")]
    demand: Annotated[
        Amounts, Meta(description="amount of each further resource, or by name; those that are not named count 0")
    ] = ()
    user: Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST, description="-1 if unknown")] = -1
    priority: Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST, description="-1 if unknown")] = -1
    depends_on: Annotated[tuple[Positive, ...], Meta(description="ids of jobs that must have ended before")] = ()


class RunningDocument(JobDocument, kw_only=True, frozen=True):
    """A running job."""

    expected_end: Annotated[
        int, Meta(ge=-LARGEST - 1, le=LARGEST, description="when it will have ended at the latest [s]; after now")
    ]


class TreeDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A tree: regular (nodes, leaf_nodes and pod_nodes), or by the switches of each node (leaf, pod, above)."""

    nodes: Annotated[Nodes | None, Meta(description="number of nodes")] = None
    leaf_nodes: Annotated[Nodes | None, Meta(description="nodes of a leaf switch")] = None
    pod_nodes: Annotated[Nodes | None, Meta(description="nodes of a pod, a multiple of leaf_nodes")] = None
    leaf: Annotated[tuple[Natural, ...] | None, Meta(description="leaf switch of each node")] = None
    pod: Annotated[tuple[Natural, ...] | None, Meta(description="pod of each node")] = None
    above: Annotated[
        tuple[tuple[Natural, ...], ...] | None,
        Meta(description="switch of each node on each level between pods and core, the lowest first"),
    ] = None


class ClusterDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """The machine."""

    num_nodes: Positive
    resources: Annotated[tuple[str, ...], Meta(description="names of further resources")] = ()
    capacities: Annotated[tuple[Natural, ...], Meta(description="amount of each further resource")] = ()
    topology: Annotated[TreeDocument | None, Meta(description="where each node hangs; the window then states idle")] = (
        None
    )
    node_types: Annotated[
        tuple[Natural, ...] | None, Meta(description="type of each node, from 0; null where all are alike")
    ] = None


class WindowDocument(
    msgspec.Struct,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag="transom/window/1",
    frozen=True,
):
    """What a batch scheduler sees at one instant."""

    now: Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST, description="the instant [s]")]
    cluster: ClusterDocument
    available: Annotated[tuple[Natural, ...], Meta(description="free nodes, then what is free of each resource")]
    queue: Annotated[tuple[JobDocument, ...], Meta(description="waiting jobs in the site's order")]
    running: Annotated[tuple[RunningDocument, ...], Meta(description="running jobs by expected end")]
    idle: Annotated[
        tuple[Natural, ...] | None,
        Meta(description="ids of the idle nodes, ascending; null where the cluster has no topology"),
    ] = None
    leaf_limits: Annotated[
        tuple[Natural, ...] | None,
        Meta(description="the most leaf switches of each waiting job, 0 for any number; null without limits"),
    ] = None
    accepts: Annotated[
        tuple[tuple[bool, ...], ...] | None,
        Meta(description="for each waiting job whether it takes nodes of each type; null where all take every node"),
    ] = None


class KnapsackDocument(
    msgspec.Struct, forbid_unknown_fields=True, tag_field="format", tag="transom/knapsack/1", frozen=True
):
    """A 0-1 knapsack: choose items of the largest total value that fit into the capacity."""

    values: tuple[Int, ...]
    weights: tuple[Natural, ...]
    capacity: Natural
    scale: Annotated[int, Meta(ge=1, le=LARGEST, description="what real values were multiplied by")] = 1


class SelectionDocument(
    msgspec.Struct,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag="transom/selection/1",
    frozen=True,
):
    """Several resources: choose jobs that fit together so that no other choice is better in every objective."""

    capacity: Annotated[tuple[Natural, ...], Meta(description="what is free of each resource")]
    demands: Annotated[
        tuple[Amounts, ...],
        Meta(description="for each job the amount of each resource, or by name; those that are not named count 0"),
    ]
    objectives: Annotated[
        tuple[tuple[Natural, ...], ...] | None,
        Meta(description="for each job its worth in each objective; null: the objectives are the demands"),
    ] = None
    resources: Annotated[
        tuple[str, ...], Meta(description="names of the resources, distinct; r0, r1 ... if empty")
    ] = ()
    terms: Annotated[
        tuple[str, ...],
        Meta(description="names of the objectives, distinct; one named after a resource is the demand on it"),
    ] = ()
    scales: Annotated[
        tuple[Positive, ...], Meta(description="what the real values of each objective were multiplied by; 1 if empty")
    ] = ()
    totals: Annotated[
        tuple[Natural, ...] | None,
        Meta(description="what utilisation is relative to, at least the capacity; null: the capacity"),
    ] = None
    forced: Annotated[tuple[Natural, ...], Meta(description="positions of the jobs that are chosen in any case")] = ()
    excluded: Annotated[tuple[Natural, ...], Meta(description="positions of the jobs that are never chosen")] = ()
    requires: Annotated[
        tuple[Pair, ...], Meta(description="pairs of positions: the first is only chosen together with the second")
    ] = ()


class CostDocument(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What hops cost: unit / nodes of the job x hops summed over its pairs of nodes."""

    same_leaf: Annotated[Natural, Meta(description="hops between nodes below one leaf switch")]
    same_pod: Annotated[Natural, Meta(description="hops between nodes of one pod")]
    other: Annotated[Natural, Meta(description="hops between nodes of two pods")]
    ordered: Annotated[bool, Meta(description="whether each pair counts twice")]
    floored: Annotated[bool, Meta(description="whether a job's cost is rounded down, to 1 at least")]
    unit: Annotated[Positive, Meta(description="cost of one hop")]


class AllocationDocument(
    msgspec.Struct,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag="transom/allocation/1",
    frozen=True,
):
    """Topology-aware allocation: which idle nodes of a fat tree each job gets."""

    tree: TreeDocument
    idle: Annotated[tuple[Natural, ...], Meta(description="ids of the idle nodes, ascending")]
    sizes: Annotated[tuple[Positive, ...], Meta(description="nodes of each job, at least 2, in the window's order")]
    rule: Annotated[
        Literal["static", "dynamic", "free"],
        Meta(description="static: consecutive idle nodes; dynamic: of those left when it is placed; free: any"),
    ]
    wrap: Annotated[bool, Meta(description="whether a block that reaches the last idle node goes on at the first")]
    cost: CostDocument
    leaf_limits: Annotated[
        tuple[Positive, ...] | None,
        Meta(description="the most leaf switches of each job; null without limits"),
    ] = None
    node_types: Annotated[
        tuple[Natural, ...] | None, Meta(description="type of each idle node, from 0; null where all are alike")
    ] = None
    accepts: Annotated[
        tuple[tuple[bool, ...], ...] | None,
        Meta(description="for each job whether it takes nodes of each type; stated with node_types"),
    ] = None


class JointDocument(
    msgspec.Struct,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag="transom/joint/1",
    frozen=True,
):
    """The joint choice: which jobs start, and on which idle nodes of a tree of switches."""

    tree: TreeDocument
    idle: Annotated[tuple[Natural, ...], Meta(description="ids of the idle nodes, ascending")]
    sizes: Annotated[tuple[Positive, ...], Meta(description="nodes of each job, at least 1")]
    weights: Annotated[tuple[int, ...], Meta(description="what a start of each job is worth")]
    cost_weight: Annotated[float, Meta(ge=0, le=1e9, description="what a unit of communication cost takes away")]
    cost: CostDocument
    mandatory: Annotated[tuple[Natural, ...], Meta(description="positions of the jobs that must start, ascending")] = ()
    leaf_limits: Annotated[
        tuple[Positive, ...] | None,
        Meta(description="the most leaf switches of each job; null without limits"),
    ] = None


class CspDocument(msgspec.Struct, forbid_unknown_fields=True, tag_field="format", tag="transom/csp/1", frozen=True):
    """A constrained shortest path: from 0 to length over so many operation arcs of each size."""

    length: Annotated[int, Meta(ge=0, le=100_000_000, description="the last node of the graph")]
    sizes: Annotated[tuple[Positive, ...], Meta(description="distinct sizes of operation arcs, at least 2, ascending")]
    counts: Annotated[tuple[Positive, ...], Meta(description="how many arcs of each size the path takes")]
    costs: Annotated[
        tuple[tuple[float | None, ...], ...],
        Meta(description="for each size the cost of the arc from each node below length; null where there is none"),
    ]


class PlacementDocument(
    msgspec.Struct,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag="transom/placement/1",
    frozen=True,
):
    """Instances of tasks on machines: place those that are worth the most without exceeding a capacity."""

    free: Annotated[
        tuple[Amounts, ...],
        Meta(description="for each machine what is free of each resource, or by name; those not named count 0"),
    ]
    demands: Annotated[
        tuple[Amounts, ...],
        Meta(description="for each task what an instance needs of each resource, or by name; those not named count 0"),
    ]
    waiting: Annotated[tuple[Natural, ...], Meta(description="for each task how many identical instances wait")]
    values: Annotated[
        tuple[Natural, ...] | None, Meta(description="for each task what an instance is worth; null: 1")
    ] = None
    durations: Annotated[
        tuple[Natural, ...] | None, Meta(description="for each task the expected runtime of an instance [s]; null: 1")
    ] = None
    maximal: Annotated[bool, Meta(description="whether no waiting instance may be left out that still fits")] = False
    scale: Annotated[Positive, Meta(description="what real values were multiplied by")] = 1
    capacities: Annotated[
        tuple[Amounts, ...] | None,
        Meta(description="for each machine what it has of each resource when it is empty; null: free"),
    ] = None
    resources: Annotated[
        tuple[str, ...], Meta(description="names of the resources, distinct; r0, r1 ... if empty")
    ] = ()


class TaskDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A task of a workflow."""

    name: Annotated[str, Meta(min_length=1, description="distinct within the workflow")]
    runtime: Annotated[Number, Meta(description="how long it runs [s], >= 0")]
    parents: Annotated[tuple[str, ...], Meta(description="names of the tasks that must have ended before")] = ()
    nodes: Positive = 1
    walltime: Annotated[
        Number | None, Meta(description="limit that a scheduler knows [s], > 0; null: the runtime, at least 1 s")
    ] = None
    demand: Annotated[
        Amounts, Meta(description="amount of each further resource, or by name; those that are not named count 0")
    ] = ()
    cost: Annotated[Number, Meta(description="of running it, in any unit, >= 0")] = 0
    program: Annotated[str | None, Meta(description="what it runs: tasks of a program are alike; null: its name")] = (
        None
    )
    release: Annotated[
        Natural, Meta(description="when it may start at the earliest, on the clock of the problem [s]")
    ] = 0


class WorkflowDocument(
    msgspec.Struct,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    tag_field="format",
    tag="transom/workflow/1",
    frozen=True,
):
    """A workflow: tasks that wait for one another, to be started on a machine so that the last ends early."""

    name: str
    tasks: tuple[TaskDocument, ...]
    resources: Annotated[tuple[str, ...], Meta(description="names of further resources, distinct")] = ()
    submit: Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST, description="time of submission [s]")] = 0
    machine: Annotated[
        dict[str, Natural] | None,
        Meta(description="nodes, and further resources by name, of those left out enough; null: nothing is scarce"),
    ] = None


class StopDocument(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """When the solver had to stop; what is left out did not limit it."""

    seconds: Annotated[float | None, Meta(description="wall-clock time of the call [s], > 0")] = None
    iterations: Natural | None = None
    target: Annotated[Number | None, Meta(description="a value at least as good")] = None
    gap: Annotated[float | None, Meta(description="a gap of at most this, >= 0")] = None
    stall: Annotated[Positive | None, Meta(description="iterations without a better value")] = None


class FrontDocument(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The front of a selection, point by point."""

    values: Annotated[tuple[tuple[Natural, ...], ...], Meta(description="for each point its worth in each objective")]
    jobs: Annotated[
        tuple[tuple[Natural, ...], ...], Meta(description="for each point the positions of its jobs, ascending")
    ]


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
        tuple[Int | Row, ...] | FrontDocument | None,
        Meta(
            description="knapsack: positions of the chosen items, ascending; scas, dcas, free: for each idle node the "
            "job that gets it, from 0, or -1; csp: [start, size] of each operation arc; placement: for each task its "
            "instances on each machine; workflow: for each task its start in ticks; selection: a front; null if there "
            "is none"
        ),
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
