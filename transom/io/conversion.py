"""From the models to the structs of the documents, and back."""

from __future__ import annotations

from dataclasses import asdict, fields
from functools import cache, lru_cache
from typing import Any, cast

import numpy as np

from transom.errors import DocumentError, ModelError
from transom.io.codec import Codec, codec_of
from transom.io.formats import (
    AllocationDocument,
    ClusterDocument,
    CostDocument,
    CspDocument,
    JobDocument,
    KnapsackDocument,
    ResultDocument,
    RunningDocument,
    TreeDocument,
    WindowDocument,
)
from transom.io.nsa_windows import PeriodLine, PeriodWindow, line_of, window_of
from transom.io.result_conversion import result_document, result_of
from transom.io.selection_conversion import amounts
from transom.io.workflows.wfformat import WfFormat, workflow_of
from transom.models import Allocation, Cluster, ConstrainedPath, FatTree, HopCost, Job, JobTable, Knapsack, Window
from transom.models.arrays import BoolArray
from transom.models.problem import ProblemType
from transom.problems import documents, known_type
from transom.result import Result
from transom.stop import Problem

Document = Window | PeriodWindow | Result | Problem
"""What a document holds."""

_OTHERS: dict[type, tuple[str, str]] = {
    Window: ("window", "a window"),
    PeriodWindow: ("line", "a window of a stream"),
    Result: ("result", "a result"),
}
"""The documents that are no problems: names of their formats, and what they hold."""


def names() -> list[str]:
    """The names of all documents; the format is ``transom/NAME/1``."""
    return ["window", *documents(), "result"]


def format_of(document: Document) -> str:
    """The name of the format that a document has; ``line`` for that of a stream, which is not written into it.

    Raises
    ------
    DocumentError : the type has no document.
    """
    if type(document) in _OTHERS:
        return _OTHERS[type(document)][0]
    kind = known_type(getattr(document, "kind", None))
    if kind is None or not isinstance(document, kind.model):
        raise DocumentError(f"{type(document).__name__} has no document; known: {', '.join(names())}")
    return kind.document


def name_of(document: Document) -> str:
    """What a document holds, with its article, for messages."""
    other = _OTHERS.get(type(document))
    return documents()[format_of(document)].name if other is None else other[1]


@cache
def codec(name: str) -> Codec:
    """The codec of the documents of a name.

    Raises
    ------
    DocumentError : there are none of that name, or the type of problem has no codec.
    """
    if name in _CODECS:
        return _CODECS[name]
    if name not in documents():
        raise DocumentError(f"unknown document {name!r}. Known: {', '.join(names())}")
    return codec_of(documents()[name])


def to_document(thing: Document) -> Any:
    """The typed document of a window, a problem or a result.

    Raises
    ------
    DocumentError : the type has no document, or a number is not finite.
    """
    kind = getattr(thing, "kind", None)
    if isinstance(kind, str) and known_type(kind) is None:
        return _unregistered(kind, cast(Any, type(thing))).encode(thing)
    return codec(format_of(thing)).encode(thing)


@cache
def _unregistered(kind: str, model: type[Any]) -> Codec:
    """The codec of problems whose type is not registered: the fields of their class. To read them takes the type."""
    return codec_of(ProblemType(kind=kind, model=model))


def _knapsack_document(problem: Knapsack) -> KnapsackDocument:
    values, weights = tuple(problem.values.tolist()), tuple(problem.weights.tolist())
    return KnapsackDocument(values, weights, int(problem.capacity), int(problem.scale))


def _knapsack(document: KnapsackDocument) -> Knapsack:
    values, weights = np.array(document.values, np.int64), np.array(document.weights, np.int64)
    return Knapsack(values, weights, document.capacity, document.scale)


def _window_document(window: Window) -> WindowDocument:
    cluster = window.cluster
    tree = None if cluster.topology is None else tree_document(cluster.topology)
    types = None if cluster.node_types is None else tuple(cluster.node_types.tolist())
    return WindowDocument(
        now=int(window.now),
        cluster=ClusterDocument(
            int(cluster.num_nodes), cluster.resources, tuple(map(int, cluster.capacities)), tree, types
        ),
        available=tuple(window.available.tolist()),
        queue=tuple(JobDocument(**_job_fields(job)) for job in window.queue),
        running=tuple(
            RunningDocument(**_job_fields(job), expected_end=end)
            for job, end in zip(window.running, window.running_end.tolist(), strict=True)
        ),
        idle=None if window.idle is None else tuple(window.idle.tolist()),
        leaf_limits=None if window.leaf_limits is None else tuple(window.leaf_limits.tolist()),
        accepts=None if window.accepts is None else tuple(map(tuple, window.accepts.tolist())),
    )


def _job_fields(job: Job) -> dict[str, Any]:
    return {field.name: getattr(job, field.name) for field in fields(job)}


def _window(document: WindowDocument) -> Window:
    stated = document.cluster
    tree = None if stated.topology is None else tree_of(stated.topology)
    types = None if stated.node_types is None else np.array(stated.node_types, np.int64)
    cluster = Cluster(stated.num_nodes, stated.resources, stated.capacities, tree, types)
    return Window(
        now=document.now,
        cluster=cluster,
        queue=_table(document.queue, cluster),
        running=_table(document.running, cluster),
        running_end=np.array([job.expected_end for job in document.running], np.int64),
        available=np.array(document.available, np.int64),
        idle=None if document.idle is None else np.array(document.idle, np.int64),
        leaf_limits=None if document.leaf_limits is None else np.array(document.leaf_limits, np.int64),
        accepts=None if document.accepts is None else _flags(document.accepts),
    )


def _table(jobs: tuple[JobDocument, ...], cluster: Cluster) -> JobTable:
    rows = [
        (j.id, j.submit, j.nodes, j.walltime, j.user, j.priority, *demand)
        for j, demand in (
            (job, amounts(job.demand, cluster.resources, f"job {job.id}: demand", "the cluster")) for job in jobs
        )
    ]
    data = np.array(rows, np.int64).reshape(len(rows), 6 + len(cluster.resources))
    return JobTable(data, {job.id: job.depends_on for job in jobs if job.depends_on})


def _allocation_document(problem: Allocation) -> AllocationDocument:
    return AllocationDocument(
        tree=tree_document(problem.tree),
        idle=tuple(problem.idle.tolist()),
        sizes=tuple(problem.sizes.tolist()),
        rule=problem.rule,
        wrap=problem.wrap,
        cost=CostDocument(**asdict(problem.cost)),
        leaf_limits=None if problem.leaf_limits is None else tuple(problem.leaf_limits.tolist()),
        node_types=None if problem.node_types is None else tuple(problem.node_types.tolist()),
        accepts=None if problem.accepts is None else tuple(map(tuple, problem.accepts.tolist())),
    )


def _allocation(document: AllocationDocument) -> Allocation:
    cost = HopCost(**{field.name: getattr(document.cost, field.name) for field in fields(HopCost)})
    idle, sizes = np.array(document.idle, np.int64), np.array(document.sizes, np.int64)
    limits = None if document.leaf_limits is None else np.array(document.leaf_limits, np.int64)
    types = None if document.node_types is None else np.array(document.node_types, np.int64)
    accepts = None if document.accepts is None else _flags(document.accepts)
    tree = tree_of(document.tree)
    return Allocation(tree, idle, sizes, document.rule, document.wrap, cost, limits, types, accepts)


def _flags(rows: tuple[tuple[bool, ...], ...]) -> BoolArray:
    """Rows of equal length; others stay objects, which the model refuses."""
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise ModelError("accepts: every job states the same number of types")
    return np.array(rows, np.bool_).reshape(len(rows), width)


def tree_document(tree: FatTree) -> TreeDocument:
    """The document of a tree, in short where it is regular."""
    if tree.regular is None:
        above = None if tree.above is None else tuple(map(tuple, tree.above.tolist()))
        return TreeDocument(leaf=tuple(tree.leaf.tolist()), pod=tuple(tree.pod.tolist()), above=above)
    return TreeDocument(tree.num_nodes, *tree.regular)


@lru_cache(maxsize=4)
def tree_of(document: TreeDocument) -> FatTree:
    """The tree of a document."""
    # The documents of a set mostly stand on one tree.
    by_node = (document.leaf, document.pod)
    regular = (document.nodes, document.leaf_nodes, document.pod_nodes)
    if None not in regular and (*by_node, document.above) == (None, None, None):
        return FatTree.uniform(*regular)  # type: ignore[arg-type]
    if None not in by_node and regular == (None, None, None):
        return FatTree(*by_node, document.above)  # type: ignore[arg-type]
    raise ModelError("fat tree: expected either nodes, leaf_nodes and pod_nodes, or leaf and pod (and above)")


def _path_document(problem: ConstrainedPath) -> CspDocument:
    costs = tuple(tuple(cost if np.isfinite(cost) else None for cost in row) for row in problem.costs.tolist())
    return CspDocument(int(problem.length), tuple(problem.sizes.tolist()), tuple(problem.counts.tolist()), costs)


def _path(document: CspDocument) -> ConstrainedPath:
    for row, costs in enumerate(document.costs):
        if len(costs) != document.length:
            raise DocumentError(f"$.costs[{row}]: expected length = {document.length} costs, got {len(costs)}")
    table = np.array([[np.inf if cost is None else cost for cost in row] for row in document.costs])
    sizes, counts = np.array(document.sizes, np.int64), np.array(document.counts, np.int64)
    return ConstrainedPath(document.length, sizes, counts, table)


KNAPSACK = Codec(KnapsackDocument, _knapsack_document, _knapsack)
ALLOCATION = Codec(AllocationDocument, _allocation_document, _allocation)
PATH = Codec(CspDocument, _path_document, _path)
_CODECS = {
    "window": Codec(WindowDocument, _window_document, _window),
    "line": Codec(PeriodLine, line_of, window_of),
    "wfformat": Codec(WfFormat, to_document, workflow_of),
    "result": Codec(ResultDocument, result_document, result_of),
}
