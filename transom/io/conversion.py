"""From the models to the structs of the documents, and back."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import numpy as np

from transom.errors import DocumentError
from transom.io.codec import Codec, codec_of, document, stated
from transom.io.formats import ClusterDocument, JobDocument, ResultDocument, RunningDocument, WindowDocument
from transom.io.nsa_windows import PeriodLine, PeriodWindow, line_of, window_of
from transom.io.problem_documents import amounts, tree_document, tree_of
from transom.io.result_conversion import result_document, result_of
from transom.io.workflows.wfformat import WfFormat, workflow_of
from transom.models import Cluster, JobTable, Window
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


def _window_document(window: Window) -> WindowDocument:
    tree = window.cluster.topology
    running = zip(window.running, window.running_end.tolist(), strict=True)
    return document(
        WindowDocument,
        window,
        cluster=document(ClusterDocument, window.cluster, topology=None if tree is None else tree_document(tree)),
        queue=tuple(document(JobDocument, job) for job in window.queue),
        running=tuple(document(RunningDocument, job, expected_end=end) for job, end in running),
    )


def _window(read: WindowDocument) -> Window:
    tree = read.cluster.topology
    cluster = Cluster(**stated(read.cluster, topology=None if tree is None else tree_of(tree)))
    return Window(
        **stated(
            read,
            cluster=cluster,
            queue=_table(read.queue, cluster),
            running=_table(read.running, cluster),
            running_end=[job.expected_end for job in read.running],
        )
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


_CODECS = {
    "window": Codec(WindowDocument, _window_document, _window),
    "line": Codec(PeriodLine, line_of, window_of),
    "wfformat": Codec(WfFormat, to_document, workflow_of),
    "result": Codec(ResultDocument, result_document, result_of),
}
