"""Windows, problems and results as JSON documents, and back.

A document states what it is in ``"format": "transom/NAME/VERSION"``; its fields carry the names
of the model's fields. A line of a topology-aware stream (:mod:`transom.io.nsa_windows`) states nothing and is told
by its keys, as is a workflow of WfCommons (:mod:`transom.io.workflows.wfformat`). Reading is strict: an unknown field
(except of WfCommons), a wrong type, a number that is not finite or does not fit into 64 bits, and whatever the model
itself refuses is an error.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache

import msgspec

from transom.errors import DocumentError
from transom.io.conversion import Document, codec, names, to_document
from transom.io.nsa_windows import LineHead

_SHOWN = 200  # characters of what stands in a document


class _Head(LineHead):
    format: str | msgspec.UnsetType = msgspec.UNSET
    workflow: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_HEAD = msgspec.json.Decoder(_Head)


def encode(thing: Document) -> bytes:
    """The document of a window, a problem or a result: one line of JSON without a line break.

    Raises
    ------
    DocumentError : the type has no document, or a number is not finite.
    """
    return msgspec.json.encode(to_document(thing))


def decode(data: bytes, where: str) -> Document:
    """What a JSON document holds.

    Parameters
    ----------
    data : one JSON document.
    where : file (and line) for messages.

    Raises
    ------
    DocumentError : it is not a document of a known format, or what it states breaks a condition.
    """
    name = _format(data, where)
    try:
        document = _decoder(name).decode(data)
    except msgspec.ValidationError as error:
        raise DocumentError(f"{where}: {_explain(error, data)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"{where}: {_malformed(error, data)}") from None  # in fields that the head skipped
    _refuse_twice(data, where)
    try:
        read: Document = codec(name).decode(document)
    except ValueError as error:  # whatever the model of some package refuses
        raise DocumentError(f"{where}: {error}") from None
    return read


@cache
def _decoder(name: str) -> msgspec.json.Decoder[msgspec.Struct]:
    return msgspec.json.Decoder(codec(name).form)


def _refuse_twice(data: bytes, where: str) -> None:
    """Refuse a key that stands twice in one object: the last one would count, silently."""

    def check(pairs: list[tuple[str, object]]) -> None:
        if len(pairs) > len(dict(pairs)):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise DocumentError(f"{where}: the key {twice!r} stands twice")

    try:
        json.loads(data, object_pairs_hook=check)
    except RecursionError as error:
        raise DocumentError(f"{where}: {_malformed(error, data)}") from None


def _format(data: bytes, where: str) -> str:
    """The name of a known format; ``line`` for a line of a stream."""
    try:
        head = _HEAD.decode(data)
    except msgspec.ValidationError as error:
        raise DocumentError(f"{where}: {_explain(error, data)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"{where}: {_malformed(error, data)}") from None
    formats, tag = {f"transom/{name}/1": name for name in names()}, head.format
    known = ", ".join(formats)
    if isinstance(tag, msgspec.UnsetType) and head.recognised():
        return "line"
    if isinstance(tag, msgspec.UnsetType) and not isinstance(head.workflow, msgspec.UnsetType):
        return "wfformat"
    if isinstance(tag, msgspec.UnsetType):
        raise DocumentError(f'{where}: "format" is missing; known formats: {known}')
    if tag not in formats:
        name, _, version = tag.rpartition("/")
        if any(name == other.rpartition("/")[0] for other in formats):
            raise DocumentError(f"{where}: version {version} of {name} is not known; known formats: {known}")
        raise DocumentError(f"{where}: format {tag!r} is not known; known formats: {known}")
    return formats[tag]


def _explain(error: msgspec.ValidationError, data: bytes) -> str:
    """The condition, the place in the document, the value that stands there, and whose it is."""
    text, _, place = str(error).partition(" - at ")
    text = text[0].lower() + text[1:]
    place = place.strip("`")
    if not place:
        return _one_line(text)
    job, got = "", ""
    try:
        value = msgspec.json.decode(data)
        for key, index in re.findall(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]", place):
            if index == "...":  # an amount by its name, which is not told
                break
            value = value[key] if key else value[int(index)]
            if isinstance(value, dict) and isinstance(value.get("id"), int):
                job = f" (job {value['id']})"
            elif isinstance(value, dict) and ".tasks[" in place:
                name = value.get("id", value.get("name"))
                job = f" (task {name!r})"[:_SHOWN] if name else job
        if text.endswith("got `float`") or place.endswith("[...]"):
            got = f": {value!r}"[:_SHOWN]
        elif not (", got" in text or text.endswith(repr(value)) or isinstance(value, (dict, list))):
            got = f", got {value!r}"
    except (KeyError, IndexError, TypeError, msgspec.DecodeError):
        pass  # the place alone, then
    return _one_line(f"{place}: {text}{got}{job}")


def _owner(data: bytes) -> str:
    """Which task or job states the first number that is none, in words; empty where nothing says so."""
    try:
        left = [(json.loads(data), False)]  # which takes NaN and Infinity
    except (ValueError, RecursionError):
        return ""
    while left:
        value, of_task = left.pop()
        if isinstance(value, list):
            left += [(each, of_task) for each in reversed(value)]
        elif isinstance(value, dict):
            name = value.get("id", value.get("name"))
            odd = any(isinstance(each, float) and not math.isfinite(each) for each in value.values())
            if odd and of_task and isinstance(name, str):
                return f" (task {name!r})"[:_SHOWN]
            if odd and isinstance(name, int):
                return f" (job {name})"
            left += [(each, key == "tasks") for key, each in reversed(value.items())]
    return ""


def _one_line(text: str) -> str:
    """Without what a field's name may hold: line ends, and what steers a terminal."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _malformed(error: Exception, data: bytes) -> str:
    if isinstance(error, RecursionError):
        return "not a document: it is nested too deeply"
    if isinstance(error, UnicodeDecodeError) or b"\0" in data:
        return "not a text file of JSON documents"
    text = str(error)
    found = re.search(r"\(byte (\d+)\)", text)
    if found is None:
        return f"not JSON: {text[0].lower() + text[1:]}"
    at = int(found[1])
    for word in (b"NaN", b"Infinity", b"-Infinity"):
        if data[at:].startswith(word) or data[max(0, at - 1) :].startswith(word):
            return _one_line(f"{word.decode()} is not a number{_owner(data)}")
    return f"not JSON: {text.partition(': ')[2].partition(' (')[0] or text} (line {data[:at].count(10) + 1})"
