"""Replays of tasks that are kept: chunk by chunk, verified, recorded in a folder, and not computed twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transom._system.trusted import trusted_whole
from transom.errors import DocumentError
from transom.simulation.placement.event_rules import task_rules
from transom.simulation.placement.finished import finished_chunks, forget_chunks
from transom.simulation.placement.recording import read_task_schedules, read_tasks_card, write_tasks
from transom.simulation.placement.replay import simulate_tasks
from transom.simulation.placement.schedule import TaskSchedule
from transom.simulation.placement.verification import check_tasks
from transom.simulation.runs import REPLAYED, Run, code_digest, stand
from transom.traces.tasks.workload import TaskWorkload


def replay_tasks(
    chunks: Sequence[TaskWorkload],
    run: Run,
    folder: Path | None = None,
    details: dict[str, Any] | None = None,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[TaskSchedule], bool]:
    """Replay each chunk by itself and verify it; with a folder, record there, or read what an earlier run left there.

    An interrupted or killed run keeps its finished chunks, and goes on with the next one.

    Parameters
    ----------
    chunks : the workloads, each on empty machines; chunk ``k`` draws random numbers from the seed of the run + ``k``.
    run : policy (:func:`~transom.simulation.placement.replay.make_task_policy`), seed and event rules.
    folder : where the run is recorded (``FOLDER/LABEL``); None keeps nothing.
    details : what else belongs in the record.
    force : replay even what a run of the same workload, policy, seed and code left there.
    progress : called with the number of started instances of all chunks.

    Returns
    -------
    The schedules, and whether they were read rather than computed.
    """
    card = {
        "digests": [each.digest() for each in chunks],
        "spec": run.spec,
        "seed": run.seed,
        "events": run.rules,
        "code": code_digest([run.policy, task_rules(run.rules)], run.spec),
    }
    target = folder / run.label if folder else None
    if target and not force and (kept := _recorded(target, card, chunks)) is not None:
        forget_chunks(target)
        return kept, True
    schedules: list[TaskSchedule] = []
    if target is None:
        _replay_rest(chunks, run, schedules, schedules.append, progress)
        return schedules, False
    with finished_chunks(target, card, chunks, force) as (schedules, keep):
        _replay_rest(chunks, run, schedules, keep, progress)
        # From here on the old record is none: an interrupt must not leave halves of two.
        (target / "jobs.parquet").unlink(missing_ok=True)
        write_tasks(schedules, target, {**(details or {}), **card})
    return schedules, False


def _replay_rest(
    chunks: Sequence[TaskWorkload],
    run: Run,
    finished: list[TaskSchedule],
    keep: Callable[[TaskSchedule], None],
    progress: Callable[[int], None] | None,
) -> None:
    """Replay and verify the chunks that are not finished; each is kept, that is finished, before the next begins."""
    done = sum(int(each.instances.sum()) for each in chunks[: len(finished)])
    for k in range(len(finished), len(chunks)):
        chunk = chunks[k]
        told = None if progress is None else _from(progress, done)
        schedule = simulate_tasks(chunk, run.policy, seed=run.seed + k, label=run.label, rules=run.rules, progress=told)
        stand(check_tasks(chunk, schedule))
        keep(schedule)
        done += int(chunk.instances.sum())
        if progress is not None:
            progress(done)


def _from(progress: Callable[[int], None], done: int) -> Callable[[int], None]:
    return lambda started: progress(done + started)


def _recorded(folder: Path, card: dict[str, Any], chunks: Sequence[TaskWorkload]) -> list[TaskSchedule] | None:
    if not (folder / "jobs.parquet").exists() or not trusted_whole(folder, REPLAYED):
        return None
    try:
        details = read_tasks_card(folder)["details"]
        if any(details.get(key) != value for key, value in card.items()):
            return None
        return read_task_schedules(folder, chunks)
    except (DocumentError, KeyError):
        return None  # missing, damaged or of other versions: no record
