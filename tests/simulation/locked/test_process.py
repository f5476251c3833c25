"""The process of the locked environment, on replays that are followed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from transom.models.arrays import IntArray
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.locked.process import MODE, ORDER, START, begin, run_ranked, sort_by_submission, take

pytestmark = pytest.mark.fast


def jobs(*rows: tuple[int, int, int, int]) -> IntArray:
    """Jobs in the order of arrival: submission, walltime, runtime [s] and nodes."""
    return np.array([(*row, -1, 0, -1) for row in rows], np.int64)


def starts(rows: IntArray, nodes: int, easy: bool, score: list[float]) -> list[int]:
    """When each job starts if the one of the lowest score is picked [s]."""
    run_ranked(begin(rows, nodes), np.array(score), easy)
    return rows[:, START].tolist()


def test_nobody_passes_the_locked_job_without_backfilling() -> None:
    # The second job is locked until the first one ends; the third would fit beside the first.
    made = jobs((0, 10, 10, 3), (0, 5, 5, 4), (0, 2, 2, 1))
    assert starts(made, 4, False, [0, 1, 2]) == [0, 10, 15]
    assert made[:, MODE].tolist() == [READY] * 3
    assert made[:, ORDER].tolist() == [0, 1, 2]


def test_jobs_that_end_before_the_shadow_time_are_backfilled() -> None:
    made = jobs((0, 10, 8, 3), (0, 5, 5, 4), (0, 9, 1, 1), (0, 10, 1, 1))
    # The fourth would end at the shadow time, 10 s, by its walltime: not strictly before.
    assert starts(made, 4, True, [0, 1, 2, 3]) == [0, 8, 0, 13]
    assert made[:, MODE].tolist() == [READY, RESERVED, BACKFILLED, RESERVED]


def test_a_locked_job_stays_picked_when_a_better_one_arrives() -> None:
    made = jobs((0, 10, 10, 3), (1, 5, 5, 4), (2, 5, 5, 4))
    assert starts(made, 4, False, [2, 1, 0]) == [0, 10, 15]


def test_the_queue_is_sorted_by_submission_and_any_job_may_be_picked() -> None:
    made = jobs((0, 10, 10, 4), (1, 5, 5, 1), (1, 4, 4, 1))
    state = begin(made, 4)
    assert take(state, 0, False)
    assert take(state, 2, False)
    sort_by_submission(state)
    assert take(state, int(state.queue[0]), False)
    assert made[:, START].tolist() == [0, 10, 10]
    assert state.at[:6].tolist() == [10, 3, 0, 2, 3, 2]  # now, next, queued, running, started, idle
