"""Jobs by the ids that people write: as a trace spells them, tasks of arrays and parts of other jobs included."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from transom.errors import SpecError
from transom.models.arrays import IntArray
from transom.traces.further_fields import read_job_texts

_PLAIN = re.compile(r"[A-Za-z0-9_.+\[\]-]+")
_TASK = re.compile(r"([0-9]+)(?:_\[?|\[)([0-9]+)\]?")


def read_labels(path: str | os.PathLike[str], ids: IntArray) -> list[str]:
    """What a trace calls jobs: ``12_3`` for a task of an array, ``12+1`` for a part of a job, else the number.

    Parameters
    ----------
    path : the trace.
    ids : the jobs, shape ``(jobs,)``.

    Raises
    ------
    TraceError : the file cannot be read.
    """
    labels = read_job_texts(path, ids).get("label")
    if labels is None:
        return [str(job) for job in ids.tolist()]
    return [label or str(job) for label, job in zip(labels.tolist(), ids.tolist(), strict=True)]


def spelled(label: str) -> int | str:
    """A label as JSON states it: a plain number as one."""
    return int(label) if label == "0" or re.fullmatch(r"[1-9][0-9]{0,17}", label) else label


def jobs_called(wanted: Sequence[str], labels: Sequence[str], ids: IntArray, where: str) -> list[int]:
    """The ids of jobs by what people call them.

    Parameters
    ----------
    wanted : ids as the trace spells them, tasks of arrays as ``12_3`` or ``12[3]``; or the numbers of jobs.
    labels : of the jobs that there are.
    ids : their numbers, shape ``(jobs,)``.
    where : the trace, for messages.

    Raises
    ------
    SpecError : there is no such job, or several are called so.
    """
    numbers = {str(job): job for job in ids.tolist()}
    called: dict[str, list[int]] = {}
    for label, job in zip(labels, ids.tolist(), strict=True):
        called.setdefault(_one_spelling(label), []).append(job)
    found: list[int] = []
    for text in wanted:
        jobs = [numbers[text]] if text in numbers else called.get(_one_spelling(text), [])
        if not jobs:
            raise SpecError(f"{where}: there is no job {text if _PLAIN.fullmatch(text) else repr(text[:40])}")
        if len(jobs) > 1:
            listed = ", ".join(map(str, jobs))
            raise SpecError(f"{where}: {len(jobs)} jobs are called {text}: name one by its number, {listed}")
        found += jobs
    return found


def _one_spelling(label: str) -> str:
    """A task of an array in one spelling."""
    task = _TASK.fullmatch(label)
    return f"{task[1]}_{task[2]}" if task else label
