"""Jobs as JSON: ``sacct --json`` of Slurm 21.08 to 25.x, ``squeue --json`` and ``scontrol show jobs --json``.

Versions differ in three ways: numbers are plain or ``{"set", "infinite", "number"}``, states a text or a list, and
some fields stand in another place. Each field has the places where it may stand; what is unknown is left alone. Jobs
are decoded one by one as the file is read, and made into columns some thousands at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from transom._system.collector import collector_paused
from transom._system.records import record
from transom._system.wording import digits
from transom.errors import TraceError
from transom.reading import DEPTH, DOCUMENT, size_text
from transom.traces.records.delimited import LINE
from transom.traces.records.findings import Findings
from transom.traces.records.json_elements import FULL, GOES_ON, TOO_DEEP, Progress, scan
from transom.traces.records.slurm_text.documents import number_of
from transom.traces.records.slurm_text.job_fields import RECORDED
from transom.traces.records.values import gpus

if TYPE_CHECKING:
    import polars as pl

_PLACES = {field: names.places for field, names in RECORDED.items() if names.places}
_NUMBERS = frozenset(
    ("raw", "array_job", "array_task", "het_job", "submit", "eligible", "start", "end", "elapsed_raw", "suspended",
     "limit_raw", "alloc_nodes", "nnodes", "ncpus", "req_cpus", "tasks", "sockets_per_node", "uid", "restarts",
     "priority", "memory_node", "memory_core", "memory")
)  # fmt: skip
_FURTHER = (
    "state", "job_state", "suspend_time", "pre_sus_time", "gres_detail", "used_gres", "jobs", "errors",
)  # fmt: skip
_DECODED = 5000  # jobs that are decoded at a time
_FRAMES = 10  # so many times as many are handed on
_MOST_FOUND = 1000  # jobs that one scan finds
_LARGE = 2**32 - 2  # from there on numbers may mean something else


class _Number(msgspec.Struct, gc=False):
    """A number of versions that say whether there is one."""

    set: Any = True
    infinite: Any = False
    number: Any = None


class _Resource(msgspec.Struct, gc=False):
    type: Any = None
    name: Any = None
    count: Any = None


_Numeric = int | float | str | bool | _Number | None


def _inner() -> dict[str, Any]:
    """What is read of the objects within a job, by their keys."""
    fields: dict[str, dict[str, tuple[str, Any, Any]]] = {}
    for name, places in _PLACES.items():
        for root, _, key in (place.partition(".") for place in places if "." in place):
            kind = msgspec.Raw if root == "tres" else _Numeric if name in _NUMBERS else Any
            none = msgspec.Raw(b"null") if root == "tres" else None
            fields.setdefault(root, {})[key] = (key, kind, none)
    return {root: msgspec.defstruct(root, of.values(), gc=False) for root, of in fields.items()}


_INNER = _inner()
_NUMERIC = {place for name in _NUMBERS for place in _PLACES[name]}
_ROOTS = tuple(
    dict.fromkeys([*(place for places in _PLACES.values() for place in places if "." not in place), *_FURTHER])
)
_Job: Any = msgspec.defstruct(
    "_Job",
    [
        *((root, _Numeric if root in _NUMERIC else Any, None) for root in _ROOTS),
        *((root, of | None, None) for root, of in _INNER.items()),
    ],
    gc=False,
)
"""What is read of a job, or of an answer without a list of jobs; all else is skipped."""


def read_json(path: str, content: Iterable[bytes], findings: Findings) -> Iterator[pl.DataFrame]:
    """The fields that are known, as text; a record's :data:`~transom.traces.records.delimited.LINE` is its number.

    Parameters
    ----------
    path : the file, for messages.
    content : its pieces: answers with a list ``jobs``, arrays of jobs, and jobs, any number of them in a row.
    findings : takes jobs that cannot be read.

    Raises
    ------
    TraceError : the file is not JSON, or holds an answer without a list of jobs; a job is longer or deeper than the
        limits (:mod:`transom.reading`).
    """
    import polars as pl

    texts: list[tuple[int, bytes, bool]] = []
    frames: list[pl.DataFrame] = []
    size = 0
    for number, (text, is_document) in enumerate(_elements(path, content), 1):
        texts.append((number, text, is_document))
        size += len(text)
        if len(texts) == _DECODED or size > DOCUMENT:
            frames.append(_frame(path, texts, findings))
            texts.clear()
            size = 0
        if len(frames) == _FRAMES:
            yield pl.concat(frames, how="diagonal")
            frames.clear()
    frames.append(_frame(path, texts, findings))
    yield pl.concat(frames, how="diagonal")


def _elements(path: str, content: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The text of each job, and whether it is a document of its own."""
    now, found = record(Progress), np.empty((_MOST_FOUND, 3), np.int64)
    held, number = b"", 0
    for piece in content:
        held = held + piece if held else piece
        data, ended = np.frombuffer(held, np.uint8), FULL
        while ended == FULL:
            count, ended = scan(data, found, now)
            number += count
            for begin, end, is_document in found[:count].tolist():
                yield held[begin:end], bool(is_document)
        if ended != GOES_ON:
            what = f"nested more than {DEPTH} levels deep" if ended == TOO_DEEP else f"unexpected {chr(held[now.at])!r}"
            raise TraceError(f"{path}: is not the JSON that sacct prints: {what} behind job {number}")
        kept = now.start if now.start >= 0 else now.string if now.quoted else len(held)
        held = held[kept:]
        if len(held) > DOCUMENT:
            raise TraceError(f"{path}: job {number + 1} is longer than {size_text(DOCUMENT)}, the most that is read")
        now.at, now.string, now.start = len(held), now.string - kept, min(now.start, 0)
    if now.depth or now.quoted:
        raise TraceError(f"{path}: is not the JSON that sacct prints: it is cut off behind job {number}")


_decode = msgspec.json.Decoder(_Job).decode


def _decoded(path: str, number: int, text: bytes, is_document: bool, findings: Findings) -> Sequence[Any]:
    """The job of a text; of an answer in an array of answers all of its jobs."""
    try:
        try:
            job = _decode(text)
        except (msgspec.ValidationError, UnicodeDecodeError):
            job = _oddly_decoded(text)
    except (msgspec.DecodeError, RecursionError) as error:
        if is_document:
            raise TraceError(f"{path}: is not the JSON that sacct prints: {error}") from None
        findings.refuse(f"{path}: job {number}", str(error))
        return ()
    if job.job_id is None and isinstance(job.jobs, list):
        findings.records += len(job.jobs) - 1
        several = (msgspec.json.encode(each) for each in job.jobs)
        return [each for text in several for each in _decoded(path, number, text, False, findings)]
    if job.job_id is None and is_document:
        raise TraceError(f"{path}: expected an object with a list 'jobs'{_reported(job.errors)}")
    return (job,)


def _oddly_decoded(text: bytes) -> Any:
    """A job with text that is no UTF-8, or without what is neither the object nor the number that is expected there."""
    job = msgspec.json.decode(text.decode("utf-8", "replace").encode())
    if not isinstance(job, dict):
        raise msgspec.DecodeError(f"expected an object, got {type(job).__name__}")
    return _decode(msgspec.json.encode(dict(_expected(job, ""))))


def _expected(stated: dict[str, Any], root: str) -> Iterator[tuple[str, Any]]:
    for key, value in stated.items():
        if not root and key in _INNER:
            if isinstance(value, dict):
                yield key, dict(_expected(value, f"{key}."))
        elif root + key not in _NUMERIC or not isinstance(value, list):
            yield key, value


def _reported(errors: Any) -> str:
    if not isinstance(errors, list) or not errors:
        return ""
    first = errors[0]
    return f"; it reports: {first.get('error') or first.get('description') if isinstance(first, dict) else first}"


def _frame(path: str, texts: Sequence[tuple[int, bytes, bool]], findings: Findings) -> pl.DataFrame:
    """The fields that some job of these states."""
    import polars as pl

    with collector_paused():  # which would go through all that is decoded, again and again
        numbers, jobs = [], []
        for number, text, is_document in texts:
            findings.records += 1
            for job in _decoded(path, number, text, is_document, findings):
                numbers.append(number)
                jobs.append(job)
        columns = _columns(jobs) if jobs else {"job": _texts([])}
    known = (column.alias(name) for name, column in columns.items() if name == "job" or column.null_count() < len(jobs))
    return pl.DataFrame([pl.Series(LINE, numbers, pl.Int64), *known])


def _columns(jobs: Sequence[Any]) -> dict[str, pl.Series]:
    places = _values(jobs)
    nothing = [None] * len(jobs)
    found: dict[str, pl.Series] = {}
    for name in _PLACES:
        column = _numbers if name in _NUMBERS else _texts
        for values in (places[place] for place in _PLACES[name] if place in places):
            found[name] = found[name].fill_null(column(values)) if name in found else column(values)
    if (memory := _memory(*(found.pop(name, None) for name in ("memory_core", "memory_node", "memory")))) is not None:
        found["req_mem"] = memory
    found["state"] = _texts(list(map(_state, *(places.get(name, nothing) for name in ("job_state", "state")))))
    if "suspend_time" in places and "start" in found:
        stated = (found.get("suspended", nothing), found["start"])
        further = (places.get(name, nothing) for name in ("suspend_time", "pre_sus_time"))
        found["suspended"] = _texts(list(map(_suspended, *stated, *further)))
    held = [places.get(name, nothing) for name in ("gres_detail", "used_gres")]
    if any(each is not nothing for each in held):
        found["gres_detail"] = _texts(list(map(_held_gpus, *held)))
    if "array_job" in found:
        of_none = found["array_job"] == "0"
        for name in ("array_task", "array_tasks"):
            if name in found:
                found[name] = found[name].set(of_none, None)
    found["job"] = found["raw"] if "raw" in found else _texts(nothing)
    return found


def _values(jobs: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """What stands in each place, of those where a job has something."""
    columns = _attributes(jobs, _Job.__struct_fields__)
    for root, of in _INNER.items():
        inner, none = columns.pop(root), of()
        if any(inner):
            within = _attributes([each or none for each in inner], of.__struct_fields__)
            columns |= {f"{root}.{key}": values for key, values in within.items()}
    return {
        place: values for place, values in columns.items() if values[0] is not None or values.count(None) < len(values)
    }


def _attributes(objects: Sequence[Any], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    rows = map(attrgetter(*names, names[0]), objects)  # of a single name it would give no tuple
    return dict(zip(names, zip(*rows, strict=True), strict=False))


def _numbers(values: Sequence[Any]) -> pl.Series:
    import polars as pl

    numbers = [value if type(value) is int and -1 < value < _LARGE else _number(value) for value in values]
    try:
        return pl.Series(numbers, dtype=pl.Int64).cast(pl.String)
    except TypeError:  # UNLIMITED, or numbers as text
        return pl.Series([None if number is None else str(number) for number in numbers], dtype=pl.String)


def _number(value: Any) -> int | str | None:
    if type(value) is _Number:
        if value.infinite:
            return "UNLIMITED"
        value = value.number if value.set else None
    return value if type(value) is int and -1 < value < _LARGE else number_of(value)


def _texts(values: Sequence[Any]) -> pl.Series:
    import polars as pl

    return pl.Series([value or None if type(value) is str else _text(value) for value in values], dtype=pl.String)


def _memory(of_core: pl.Series | None, of_node: pl.Series | None, of_old: pl.Series | None) -> pl.Series | None:
    """Requested memory with its unit, of a core or of a node."""
    memory = None if of_old is None else _texts([_of_old_versions(each) for each in of_old])
    for stated, per in ((of_node, "Mn"), (of_core, "Mc")):
        if stated is not None:
            stated = stated.set(stated.is_in(["0", "UNLIMITED"]), None) + per
            memory = stated if memory is None else stated.fill_null(memory)
    return memory


def _state(now: Any, ended: Any) -> str | None:
    """Of an execution that has ended and was requeued, that: PENDING is the state of the job after it."""
    if not isinstance(ended, dict):
        return _text(now) or _text(ended)
    found = _text(ended.get("current")) or _text(now)
    return "REQUEUED" if "REQUEUED" in (found or "").split(",") else found


def _held_gpus(details: Any, used: Any) -> str | None:
    """GPUs of all nodes of a running job, each of which has a text of its own, or those that an ended job had."""
    texts = details if isinstance(details, list) and details else [details or used]
    numbers = [gpus(text) for text in texts if isinstance(text, str) and text]
    known = [number for number in numbers if number is not None and number >= 0]
    return f"gpu:{sum(known)}" if known else None


def _suspended(stated: str | None, start: str | None, last: Any, before: Any) -> str | None:
    """How long a job of ``scontrol`` was suspended until it was suspended, or resumed, the last time."""
    last, ran = number_of(last) or "", number_of(before) or ""
    plain = all(digits(each) and len(each) < 19 for each in (start or "", last, ran)) and last != "0"
    return str(max(int(last) - int(start or 0) - int(ran), 0)) if stated is None and plain else stated


def _of_old_versions(memory: str | None) -> str | None:
    """Memory of a node, or of a core where the highest of 64 bits is set, which may be written as a sign."""
    if memory is None or not re.fullmatch("-?[0-9]{1,20}", memory):
        return None
    value = int(memory) % 2**64
    return f"{value - 2**63}Mc" if value >= 2**63 else f"{value}Mn"


def _text(value: Any) -> str | None:
    if isinstance(value, msgspec.Raw):
        return _listed(bytes(value))
    if isinstance(value, list):
        return ",".join(str(each) for each in value) or None
    if isinstance(value, dict):
        return _text(value.get("list")) or (number_of(value) if "number" in value else None)
    return None if value is None or isinstance(value, bool) else str(value) or None


@lru_cache(maxsize=1 << 12)
def _listed(text: bytes) -> str | None:
    """``cpu=8,gres/gpu:a100=2,mem=4096M`` of a list of resources by type, name and count."""
    if not text.startswith(b"["):
        return _text(msgspec.json.decode(text))
    try:
        resources = msgspec.json.decode(text, type=list[_Resource])
    except (msgspec.ValidationError, UnicodeDecodeError):
        return _text(msgspec.json.decode(text.decode("utf-8", "replace")))
    return ",".join(filter(None, map(_resource, resources))) or None


def _resource(each: _Resource) -> str | None:
    number = each.count if type(each.count) is int and -1 < each.count < _LARGE else number_of(each.count)
    if number is None or not isinstance(each.type, str) or not digits(str(number)):  # -2: what 24.11 has not measured
        return None
    return f"{each.type}{'/' if each.name else ''}{each.name or ''}={number}{'M' if each.type == 'mem' else ''}"
