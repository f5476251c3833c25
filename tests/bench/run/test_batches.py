"""Short runs travel together, long ones alone."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from transom.bench.plan.failures import failed
from transom.bench.plan.task import Task
from transom.bench.run.batches import LARGEST, MOST, TARGET, Pace, batches
from transom.stop import Stop


def a_task(spec: str = "greedy", seconds: float | None = 0.01, seed: int = 0, size: int = 10) -> Task:
    return Task(
        set="s",
        label="l",
        instance="i",
        problem="knapsack",
        name=spec,
        spec=spec,
        document=msgspec.Raw(b'"' + b"x" * size + b'"'),
        stop=Stop(seconds=seconds, iterations=5),
        seed=seed,
    )


def came_back(pace: Pace, task: Task, wall: float) -> None:
    pace.learn(msgspec.structs.replace(failed(task, "error", "whatever"), wall=wall, overhead=0.0))


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from([None, 0.001, 0.1, 0.3, 9.0])), max_size=60)
)
def test_every_task_is_in_one_batch_and_long_ones_are_alone(kinds: list[tuple[str, float | None]]) -> None:
    tasks = [a_task(spec, seconds, seed) for seed, (spec, seconds) in enumerate(kinds)]
    made = list(batches(tasks, Pace()))
    assert sorted(task.seed for batch in made for task in batch) == list(range(len(tasks)))
    for batch in made:
        expected = [Pace().expected(task) for task in batch]
        assert len(batch) == 1 or max(expected) < TARGET
        assert sum(expected[:-1]) < TARGET
    small = [batch for batch in made if Pace().expected(batch[0]) < TARGET]
    assert all(sum(map(Pace().expected, batch)) >= TARGET for batch in small[:-1])


def test_a_long_run_does_not_wait_for_short_ones() -> None:
    taken = []

    def tasks() -> Iterator[Task]:
        for seed, seconds in enumerate([0.01, 0.01, 5.0, 0.01, 0.01]):
            taken.append(seed)
            yield a_task(seconds=seconds, seed=seed)

    made = batches(tasks(), Pace())
    assert [task.seed for task in next(made)] == [2]
    assert taken == [0, 1, 2]
    assert [task.seed for task in next(made)] == [0, 1, 3, 4]


def test_runs_without_seconds_travel_together_once_they_are_known_to_be_short() -> None:
    pace = Pace()
    many = [a_task(seconds=None, seed=seed) for seed in range(600)]
    assert len(next(batches(many, pace))) == 1
    came_back(pace, many[0], 0.01)
    assert len(next(batches(many, pace))) == round(TARGET / 0.01)
    for _ in range(400):
        came_back(pace, many[0], 0.0)
    assert len(next(batches(many, pace))) == MOST
    for _ in range(400):
        came_back(pace, many[0], 60.0)
    assert len(next(batches(many, pace))) == 1


def test_large_documents_do_not_pile_up() -> None:
    half = LARGEST // 2 - 10
    sizes = [half, half, half, 10, LARGEST, 10]
    made = list(batches([a_task(seed=seed, size=size) for seed, size in enumerate(sizes)], Pace()))
    assert [[task.seed for task in batch] for batch in made] == [[0, 1], [4], [2, 3, 5]]
