"""Records of Slurm: what ``sacct``, ``squeue`` and ``scontrol show job`` print, as text or JSON, and jobcomp's file."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING

from transom._system.notices import timed
from transom.errors import SpecError
from transom.traces.records.delimited import read_delimited
from transom.traces.records.findings import Findings
from transom.traces.records.importing import Imported, ImportRules, Site, built
from transom.traces.records.slurm_text.job_documents import read_json
from transom.traces.records.slurm_text.job_records import read_key_values
from transom.traces.records.typed import Reading, gpus_of_file, typed
from transom.traces.swf_blocks import pieces, whole_lines

if TYPE_CHECKING:
    import polars as pl

KINDS = {
    "sacct": "text", "squeue": "text", "json": "json", "scontrol": "key-values", "jobcomp": "key-values",
}  # fmt: skip
"""Kinds of files by what writes them, and how they are read."""

_BLOCK = 1 << 25
_HEAD = 16  # bytes that tell what a file holds
_THREADS = 2  # that make columns of blocks


def read_slurm(
    paths: Sequence[str],
    rules: ImportRules = ImportRules(),  # noqa: B008  (frozen data)
    kind: str | None = None,
    columns: Sequence[str] = (),
    site: Site = Site(),  # noqa: B008  (frozen data)
) -> Imported:
    """The trace of files with Slurm's records.

    Parameters
    ----------
    paths : the files, plain or gzip; ``-`` is standard input.
    rules : how records become a trace.
    kind : one of :data:`KINDS`; by default each file's own, by its first line.
    columns : names of the fields of tables without a header line.
    site : what the configuration says.

    Raises
    ------
    TraceError : a file cannot be read or is of no known kind, too many records cannot be used, or no job is left.
    SpecError : there is no such kind.
    """
    if kind is not None and kind not in KINDS:
        raise SpecError(f"format: expected {', '.join(KINDS)}, got {kind!r}")
    findings = Findings()
    limits = {name: int(each.get("max_time", -1)) for name, each in site.partitions.items()}
    frames: list[pl.DataFrame] = []
    for path in paths:
        with timed(f"reading {path}"):
            form, content = _recognised(pieces(path), None if kind is None else KINDS[kind], bool(columns))
            reading = Reading(rules.zone(), limits, "job" if form == "json" else "line")
            if form == "json":
                raw = read_json(path, content, findings)
            elif form == "key-values":
                raw = read_key_values(path, whole_lines(path, content, _BLOCK), findings)
            else:
                raw = read_delimited(path, whole_lines(path, content, _BLOCK), findings, columns)
            frames += _typed_beside(raw, path, reading, findings)
    return built(frames, findings, rules, ", ".join(paths), site)


def _typed_beside(raw: Iterable[pl.DataFrame], path: str, reading: Reading, findings: Findings) -> list[pl.DataFrame]:
    """The columns of each block, while the next ones are read."""
    later, frames = Findings(), []

    def take(done: Future[tuple[pl.DataFrame, Findings]]) -> None:
        frame, found = done.result()
        frames.append(frame)
        later.add(found)

    def work(each: pl.DataFrame) -> tuple[pl.DataFrame, Findings]:
        found = Findings()
        return typed(each, path, reading, found), found

    with ThreadPoolExecutor(_THREADS) as pool:
        ahead: deque[Future[tuple[pl.DataFrame, Findings]]] = deque()
        for each in raw:
            ahead.append(pool.submit(work, each))
            if len(ahead) > _THREADS:
                take(ahead.popleft())
        while ahead:
            take(ahead.popleft())
    findings.add(later)
    return gpus_of_file(frames)


def _recognised(content: Iterator[bytes], form: str | None, columns: bool) -> tuple[str, Iterable[bytes]]:
    """How to read the file, and all of its pieces."""
    start, first = b"", []
    for piece in content:
        first.append(piece)
        start = (start + piece).lstrip()
        if len(start) >= _HEAD:
            break
    if form is None:
        if start[:1] in (b"{", b"[") and not columns:
            form = "json"
        else:
            form = "key-values" if re.match(rb"Job_?Id=", start, re.IGNORECASE) and not columns else "text"
    return form, chain(first, content)
