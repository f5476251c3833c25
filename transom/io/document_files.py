"""Files of documents: one document (.json), one a line (.jsonl), either of them compressed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from transom._system.files import atomic_write
from transom.errors import DocumentError
from transom.io.conversion import Document, name_of
from transom.io.documents import decode, encode
from transom.io.kplib import read_kplib
from transom.io.mknap import read_mknap
from transom.io.mokp import read_mokp
from transom.io.opening import beginning, open_document
from transom.io.workflows.dax import read_dax
from transom.io.workflows.psplib import read_project
from transom.models import Allocation, Knapsack, Placement, Selection, Window, Workflow
from transom.models.arrays import expected
from transom.reading import lines, whole

ModelT = TypeVar("ModelT", Window, Knapsack, Selection, Allocation, Placement, Workflow)


def read_documents(path: str | os.PathLike[str]) -> Iterator[tuple[str, Document]]:
    """Read one instance or a set of them, one at a time.

    Parameters
    ----------
    path : ``.jsonl`` is one document a line, ``.kp`` is kplib's text format, ``.dat`` a multi-objective knapsack
        (:mod:`transom.io.mokp`) unless it begins with a brace, ``.txt`` that begins with a digit a file of OR-Library
        (:mod:`transom.io.mknap`), ``.xml`` or ``.dax`` a workflow of Pegasus
        (:mod:`transom.io.workflows.dax`), ``.sm`` or ``.rcp`` a project (:mod:`transom.io.workflows.psplib`), anything
        else one document or a workflow of WfCommons (:mod:`transom.io.workflows.wfformat`), or one document a line if
        the first line is one; each may be compressed with gzip, which its first bytes show, not its name.

    Yields
    ------
    where : the file, with the line number in a set (``"windows.jsonl.gz:17"``).
    document : a :class:`Window`, a problem, a :class:`~transom.io.nsa_windows.PeriodWindow` or a :class:`Result`.

    Raises
    ------
    DocumentError : the file cannot be read, holds no document, or one of them breaks a condition.
    ModelError : this is no path.
    """
    expected(path, (str, os.PathLike), "read_documents: path", "the path of a file")
    kind = _kind(path)
    if kind == ".kp":
        yield os.fspath(path), read_kplib(path)
        return
    if kind == ".dat" and not beginning(path).lstrip().startswith(b"{"):
        yield os.fspath(path), read_mokp(path)
        return
    if kind == ".txt" and beginning(path).lstrip()[:1].isdigit():
        yield from read_mknap(path)
        return
    if kind in (".xml", ".dax"):
        yield os.fspath(path), read_dax(path)
        return
    if kind in (".sm", ".rcp"):
        yield os.fspath(path), read_project(path)
        return
    if kind == ".mm":
        raise DocumentError(f"{os.fspath(path)}: projects of several modes (.mm) are not read, those of one (.sm) are")
    found = False
    with open_document(path) as file:
        if kind == ".jsonl":
            for number, line in enumerate(lines(file), 1):
                if line.strip():
                    found = True
                    where = f"{os.fspath(path)}:{number}"
                    yield where, decode(line, where)
        elif (data := whole(file)).strip():
            found = True
            if kind != ".json" and (documents := _one_a_line(data)):
                yield from ((f"{path}:{number}", decode(line, f"{path}:{number}")) for number, line in documents)
            else:
                yield os.fspath(path), decode(data, os.fspath(path))
    if not found:
        raise DocumentError(f"{os.fspath(path)}: the file is empty")


def read_windows(path: str | os.PathLike[str]) -> Iterator[Window]:
    """Windows out of a file (:func:`read_documents`), one at a time; anything else in it is a DocumentError."""
    return _only(path, Window, "a window")


def read_knapsacks(path: str | os.PathLike[str]) -> Iterator[Knapsack]:
    """Knapsacks out of a file (:func:`read_documents`), one at a time; anything else in it is a DocumentError."""
    return _only(path, Knapsack, "a knapsack")


def read_selections(path: str | os.PathLike[str]) -> Iterator[Selection]:
    """Selections out of a file (:func:`read_documents`), one at a time; anything else in it is a DocumentError."""
    return _only(path, Selection, "a selection")


def read_allocations(path: str | os.PathLike[str]) -> Iterator[Allocation]:
    """Allocations out of a file (:func:`read_documents`), one at a time; anything else in it is a DocumentError."""
    return _only(path, Allocation, "an allocation")


def read_placements(path: str | os.PathLike[str]) -> Iterator[Placement]:
    """Placements out of a file (:func:`read_documents`), one at a time; anything else in it is a DocumentError."""
    return _only(path, Placement, "a placement")


def read_workflows(path: str | os.PathLike[str]) -> Iterator[Workflow]:
    """Workflows out of a file (:func:`read_documents`), one at a time; anything else in it is a DocumentError."""
    return _only(path, Workflow, "a workflow")


def _only(path: str | os.PathLike[str], model: type[ModelT], name: str) -> Iterator[ModelT]:
    for where, document in read_documents(path):
        if not isinstance(document, model):
            raise DocumentError(f"{where}: expected {name}, this is {name_of(document)}")
        yield document


def write_documents(path: str | os.PathLike[str], things: Iterable[Document]) -> int:
    """Write documents; the file appears whole or not at all.

    Parameters
    ----------
    path : ``.jsonl`` or ``.jsonl.gz`` for a set, ``.json`` or ``.json.gz`` for exactly one.
    things : windows, problems or results; they are taken one at a time.

    Returns
    -------
    How many were written.

    Raises
    ------
    DocumentError : one cannot be expressed, or the number does not fit the kind of file.
    """
    kind = _kind(path)
    if kind not in (".json", ".jsonl"):
        raise DocumentError(f"{os.fspath(path)}: documents are written to .json, .jsonl or either with .gz")
    count = 0
    with atomic_write(path, "wb") as file:
        for thing in things:
            count += 1
            if kind == ".json" and count > 1:
                raise DocumentError(f"{os.fspath(path)}: holds one document; the extension of a set is .jsonl")
            file.write(encode(thing) + b"\n")
        if kind == ".json" and count == 0:
            raise DocumentError(f"{os.fspath(path)}: there is no document to write")
    return count


def _one_a_line(data: bytes) -> list[tuple[int, bytes]]:
    """The documents of a set with the numbers of their lines, where a name, such as that of a pipe, does not tell."""
    rows = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
    try:
        msgspec.json.decode(rows[0][1], type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return []
    return rows if len(rows) > 1 else []


def _kind(path: str | os.PathLike[str]) -> str:
    name = Path(path)
    return Path(name.stem).suffix if name.suffix == ".gz" else name.suffix
