"""From the models to the structs of the documents, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from transom.errors import DocumentError, ModelError
from transom.io.formats import (
    DOCUMENTS,
    ClusterDocument,
    JobDocument,
    KnapsackDocument,
    ResultDocument,
    RunningDocument,
    StopDocument,
    WindowDocument,
)
from transom.models import Cluster, Job, JobTable, Knapsack, Window
from transom.result import Result
from transom.stop import Stop

Document = Window | Knapsack | Result
"""What a document holds."""


def to_document(thing: Document) -> WindowDocument | KnapsackDocument | ResultDocument:
    """The typed document of a window, a problem or a result.

    Raises
    ------
    DocumentError : the type has no document, or a number is not finite.
    """
    if isinstance(thing, Window):
        return _window_document(thing)
    if isinstance(thing, Knapsack):
        return KnapsackDocument(
            tuple(thing.values.tolist()), tuple(thing.weights.tolist()), int(thing.capacity), int(thing.scale)
        )
    if isinstance(thing, Result):
        return _result_document(thing)
    raise DocumentError(f"{type(thing).__name__} has no document; known: {', '.join(DOCUMENTS)}")


def from_document(document: WindowDocument | KnapsackDocument | ResultDocument) -> Document:
    """The model of a typed document.

    Raises
    ------
    ModelError, DocumentError : what it states breaks a condition.
    """
    if isinstance(document, WindowDocument):
        return _window(document)
    if isinstance(document, KnapsackDocument):
        return Knapsack(
            np.array(document.values, np.int64),
            np.array(document.weights, np.int64),
            document.capacity,
            document.scale,
        )
    return _result(document)


def _window_document(window: Window) -> WindowDocument:
    cluster = window.cluster
    return WindowDocument(
        now=int(window.now),
        cluster=ClusterDocument(int(cluster.num_nodes), cluster.resources, tuple(map(int, cluster.capacities))),
        available=tuple(window.available.tolist()),
        queue=tuple(JobDocument(**_job_fields(job)) for job in window.queue),
        running=tuple(
            RunningDocument(**_job_fields(job), expected_end=end)
            for job, end in zip(window.running, window.running_end.tolist(), strict=True)
        ),
    )


def _job_fields(job: Job) -> dict[str, Any]:
    return {field.name: getattr(job, field.name) for field in fields(job)}


def _window(document: WindowDocument) -> Window:
    cluster = Cluster(document.cluster.num_nodes, document.cluster.resources, document.cluster.capacities)
    return Window(
        now=document.now,
        cluster=cluster,
        queue=_table(document.queue, cluster),
        running=_table(document.running, cluster),
        running_end=np.array([job.expected_end for job in document.running], np.int64),
        available=np.array(document.available, np.int64),
    )


def _table(jobs: tuple[JobDocument, ...], cluster: Cluster) -> JobTable:
    resources = len(cluster.resources)
    for job in jobs:
        if len(job.demand) != resources:
            raise ModelError(f"job {job.id}: demand states {len(job.demand)} resources, the cluster {resources}")
    rows = [(j.id, j.submit, j.nodes, j.walltime, j.user, j.priority, *j.demand) for j in jobs]
    data = np.array(rows, np.int64).reshape(len(rows), 6 + resources)
    return JobTable(data, {job.id: job.depends_on for job in jobs if job.depends_on})


def _result_document(result: Result) -> ResultDocument:
    _check_problem(result.problem)
    solution = None if result.solution is None else np.asarray(result.solution, dtype=bool)
    return ResultDocument(
        instance=result.instance,
        problem=result.problem,
        solver=result.solver,
        parameters={name: _plain(value) for name, value in result.parameters.items()},
        status=result.status,
        reason=result.reason,
        solution=None if solution is None else tuple(np.flatnonzero(solution).tolist()),
        items=None if solution is None else len(solution),
        value=_number(result.value, "value"),
        bound=_number(result.bound, "bound"),
        gap=_number(result.gap, "gap"),
        seconds=float(_number(result.seconds, "seconds") or 0.0),
        seed=int(result.seed),
        threads=int(result.threads),
        stop=_stop_document(result.stop),
        curve=tuple((float(t), _number(v, "curve"), _number(b, "curve")) for t, v, b in result.curve),
        error=result.error,
        versions=dict(result.versions),
    )


def _result(document: ResultDocument) -> Result:
    _check_problem(document.problem)
    solution = None
    if document.solution is not None:
        positions = np.array(document.solution, np.int64)
        if document.items is None:
            raise DocumentError("items must be stated with a solution")
        if (np.diff(positions) <= 0).any():
            raise DocumentError("solution: the positions must be ascending and distinct")
        if positions.size and positions[-1] >= document.items:
            raise DocumentError(f"solution: position {positions[-1]} is not below items = {document.items}")
        solution = np.zeros(document.items, bool)
        solution[positions] = True
        solution.flags.writeable = False
    result = Result(
        instance=document.instance,
        problem=document.problem,
        solver=document.solver,
        parameters=document.parameters,
        status=document.status,
        reason=document.reason,
        solution=solution,
        value=document.value,
        bound=document.bound,
        seconds=document.seconds,
        seed=document.seed,
        threads=document.threads,
        stop=_stop(document.stop),
        curve=document.curve,
        error=document.error,
        versions=document.versions,
    )
    gap, stated = result.gap, document.gap
    if (gap is None) != (stated is None) or (
        gap is not None and stated is not None and not math.isclose(gap, stated, rel_tol=1e-9, abs_tol=1e-12)
    ):
        raise DocumentError(f"gap {stated} does not fit value {document.value} and bound {document.bound}")
    return result


def _stop_document(stop: Stop) -> StopDocument:
    return StopDocument(**{field.name: _number(getattr(stop, field.name), field.name) for field in fields(stop)})


def _stop(document: StopDocument) -> Stop:
    return Stop(**{field.name: getattr(document, field.name) for field in fields(Stop)})


def _check_problem(kind: str) -> None:
    if kind != Knapsack.kind:
        raise DocumentError(f"problem {kind!r} is not known; known: {Knapsack.kind}")


def _number(value: Any, what: str) -> Any:
    """An int where it is one, else a finite float; JSON has neither NaN nor infinity."""
    if value is None:
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if not math.isfinite(value):
        raise DocumentError(f"result: {what} must be finite, got {value}")
    return float(value)


def _plain(value: Any) -> Any:
    """A parameter in JSON's terms; what JSON cannot express becomes text."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(of) for key, of in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(of) for of in value]
    if is_dataclass(value) and not isinstance(value, type):
        name = getattr(value, "name", type(value).__name__)
        return {"name": str(name), **{field.name: _plain(getattr(value, field.name)) for field in fields(value)}}
    return str(value)
