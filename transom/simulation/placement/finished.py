"""Finished chunks of a replay that is under way: a journal beside its recording, from which a killed replay goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from transom._system.journal import Journal, read_lines
from transom._system.trusted import make_folder, trusted
from transom.errors import ModelError
from transom.simulation.placement.schedule import TaskSchedule
from transom.simulation.placement.verification import check_tasks
from transom.traces.tasks.workload import TaskWorkload

NAME = ".chunks.jsonl"
"""The journal in the folder of the recording: a line that states what is replayed, then one for each chunk in turn."""


class _Chunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    chunk: int
    policy: str
    rules: str
    batches: list[tuple[int, int, int, int, int]]
    passes: list[tuple[int, int, int]]


@contextmanager
def finished_chunks(
    folder: Path, card: Mapping[str, Any], chunks: Sequence[TaskWorkload], anew: bool = False
) -> Iterator[tuple[list[TaskSchedule], Callable[[TaskSchedule], None]]]:
    """The first chunks as an interrupted replay left them, in a list that grows, and what adds the next one.

    Where the block ends without an error, the recording is whole and the journal is removed.

    Parameters
    ----------
    folder : of the recording; made if need be.
    card : all that decides what the replay gives, in JSON's terms; a journal with another one is begun anew.
    chunks : what is replayed.
    anew : forget what is there.
    """
    make_folder(folder)
    path, head = folder / NAME, msgspec.json.encode(card)
    if not trusted(path, "an interrupted replay begins anew"):
        begun: list[TaskSchedule] = []
        yield begun, begun.append
        return
    journal = Journal(path)
    try:
        lines = [] if anew else [line for _, line in read_lines(path)]
        kept = list(_read(lines[1:], chunks)) if lines[:1] == [head] else []
        if not kept or len(lines) > 1 + len(kept):
            journal.clear()
            for line in (head, *lines[1 : 1 + len(kept)]):
                journal.append(line)

        def keep(schedule: TaskSchedule) -> None:
            journal.append(_line(len(kept), schedule))
            kept.append(schedule)

        yield kept, keep
        forget_chunks(folder)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        journal.close()


def forget_chunks(folder: Path) -> None:
    """Remove the journal, if there is one: the recording is whole."""
    (folder / NAME).unlink(missing_ok=True)


def _line(number: int, schedule: TaskSchedule) -> bytes:
    batches, passes = schedule.batches.tolist(), schedule.passes.tolist()
    return msgspec.json.encode(_Chunk(number, schedule.policy, schedule.rules, batches, passes))


def _read(lines: Sequence[bytes], chunks: Sequence[TaskWorkload]) -> Iterator[TaskSchedule]:
    """What lines say, up to the first that is damaged."""
    for number, (line, chunk) in enumerate(zip(lines, chunks, strict=False)):
        try:
            read = msgspec.json.decode(line, type=_Chunk)
            schedule = TaskSchedule(read.policy, chunk, read.batches, read.passes, read.rules)
        except (msgspec.DecodeError, ModelError):
            return
        if read.chunk != number or check_tasks(chunk, schedule):
            return
        yield schedule
