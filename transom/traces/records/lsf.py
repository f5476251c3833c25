"""Accounting log of LSF, ``lsb.acct``: a line ``"JOB_FINISH" ...`` for each job that has ended.

Fields are separated by blanks, texts are in double quotes (a quote in a text is doubled), and lists of hosts follow
their number. What is needed stands up to the index in an array, in all versions since 6. There is no limit of the
runtime, so walltimes are not known.

References
----------
IBM Spectrum LSF configuration reference, "lsb.acct", record JOB_FINISH.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from transom._system.notices import timed
from transom._system.wording import digits
from transom.traces.records.delimited import LINE
from transom.traces.records.findings import Findings
from transom.traces.records.importing import Imported, ImportRules, built
from transom.traces.records.typed import Reading, array_tasks, typed
from transom.traces.swf_blocks import blocks

if TYPE_CHECKING:
    import polars as pl

_TOKEN = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_HEAD = {
    2: "end", 3: "job", 4: "uid", 6: "req_cpus", 7: "submit", 8: "eligible", 10: "start", 11: "user", 12: "partition",
}  # fmt: skip
"""Fields by position, from 0."""

_ASKED = 22  # the number of hosts that were asked for, which follow
_AFTER_NAME = 2 + 19  # command, and the numbers of its resource usage, then the user who gets mail and the project
_STATES = {"64": "COMPLETED", "32": "FAILED"}
_COLUMNS = (
    *_HEAD.values(), "state", "alloc_nodes", "alloc_cpus", "nodes", "name", "account", "array_tasks", "array_job",
)  # fmt: skip


def read_lsf(
    paths: Sequence[str],
    rules: ImportRules = ImportRules(),  # noqa: B008  (frozen data)
) -> Imported:
    """The trace of accounting logs.

    Parameters
    ----------
    paths : the files, plain or gzip; ``-`` is standard input.
    rules : how records become a trace.

    Raises
    ------
    TraceError : a file cannot be read, too many lines cannot be used, or no job is left.
    """
    findings, reading = Findings(), Reading(rules.zone())
    frames: list[pl.DataFrame] = []
    for path in paths:
        with timed(f"reading {path}"):
            for before, block in blocks(path, 1 << 25):
                frames.append(typed(_records(path, before, block, findings), path, reading, findings))
    return built(frames, findings, rules, ", ".join(paths))


def _records(path: str, before: int, block: bytearray, findings: Findings) -> pl.DataFrame:
    import polars as pl

    rows: list[list[object]] = []
    for number, line in enumerate(block.decode("utf-8", "replace").split("\n")[:-1], before + 1):
        if not line.strip():
            continue
        findings.records += 1
        if not line.startswith('"JOB_FINISH"'):
            if re.match(r'"[A-Z_]+" ', line):
                findings.count("records of other types (not read)", 1)
            else:
                findings.refuse(f"{path}: line {number}", 'expected "JOB_FINISH" and its fields')
            continue
        try:
            rows.append([number, *_row([text or plain for text, plain in _TOKEN.findall(line)])])
        except (IndexError, ValueError):
            findings.refuse(f"{path}: line {number}", "JOB_FINISH has too few fields, or a list of another length")
    return pl.DataFrame(rows, {LINE: pl.Int64, **dict.fromkeys(_COLUMNS, pl.String)}, orient="row")


def _row(fields: Sequence[str]) -> list[str]:
    """The fields of one job, in the order of the columns."""
    at = _ASKED + 1 + _length(fields[_ASKED])
    held = _length(fields[at])
    hosts = fields[at + 1 : at + 1 + held]
    at += 1 + held
    status, name = fields[at], fields[at + 2]
    project, index = fields[at + 2 + _AFTER_NAME + 1], fields[at + 2 + _AFTER_NAME + 6]
    # "4*n1" stands for four slots on n1.
    slots = [(host.partition("*")[2] or host, host.partition("*")[0]) for host in hosts]
    cores = sum(int(times) if digits(times) and len(times) < 10 and times != host else 1 for host, times in slots)
    names = list(dict.fromkeys(host for host, _ in slots))
    state = _STATES.get(status, "FAILED")
    if fields[10] == "0":
        state = "CANCELLED"
    counts = [str(len(names)), str(cores), ",".join(names)]
    head = {field: fields[i] for i, field in _HEAD.items()}
    head |= {field: "" for field in ("eligible", "start") if head[field] == "0"}
    array = ["", ""]
    if index.startswith("-"):  # of an array none of whose tasks has started: a record for all
        found = re.search(r"\[([^\[\]]+)\]", name)
        array = [found[1], head["job"]] if found and array_tasks(found[1]) else array
    elif _length(index):
        head["job"] += f"_{index}"
    return [*head.values(), state, *counts, name.replace('""', '"'), project, *array]


def _length(text: str) -> int:
    if not digits(text) or len(text) > 9:
        raise ValueError(text)
    return int(text)
