"""Streams of combined tasks: what becomes of the original ones, and wrong combinations that the judge finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transom.generate.instances.workflows import WORKFLOW_FAMILIES, random_workflow
from transom.models import Workflow
from transom.simulation import simulate
from transom.simulation.output.verification import check_schedule
from transom.simulation.workflows.combination import combined_stream, recorded_combination
from transom.simulation.workflows.figures import task_figures, workflow_figures
from transom.simulation.workflows.stream import stream_of

FORK = Workflow(
    "fork", ("s", "a", "b", "c", "d", "e"), (1, 5, 6, 7, 7, 7), [(0, 1), (0, 2), (0, 3), (0, 4), (4, 5)],
    programs=("s", "x", "x", "x", "y", "z"), submit=3,
)  # fmt: skip


def test_tasks_start_with_their_job_and_end_after_their_own_runtime() -> None:
    made = combined_stream(stream_of([FORK, replace(FORK, submit=4)], 8))
    assert made.job.tolist() == [1, 2, 2, 2, 3, 4, 5, 6, 6, 6, 7, 8]
    jobs = made.replayed.workload.jobs
    assert (jobs.nodes.tolist(), made.replayed.workload.runtime.tolist()) == ([1, 3, 1, 1] * 2, [1, 7, 7, 7] * 2)
    schedule = simulate(made.replayed.workload, "fcfs")
    own = made.expanded(schedule)
    assert check_schedule(made.original.workload, own) == []
    assert own.start.tolist()[:6] == [3, 4, 4, 4, 4, 11]
    assert own.end.tolist()[:6] == [4, 9, 10, 11, 11, 18]
    figures = task_figures(made.original, own)
    assert figures.wait.tolist()[:6] == [0] * 6
    assert workflow_figures(made.original, own).makespan.tolist()[0] == 15


def test_random_streams_are_sound_by_job_and_by_task() -> None:
    fewer = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        flows = [
            replace(
                random_workflow(rng, WORKFLOW_FAMILIES[k % 5], int(rng.integers(5, 30)), 5, memory=True),
                submit=int(rng.integers(0, 50)),
            )
            for k in range(3)
        ]
        if seed % 2:
            most = max(int(flow.demands.max()) for flow in flows)
            flows = [flow.on(6, {"memory": 2 * most}) for flow in flows]
        made = combined_stream(stream_of(flows, 6))
        fewer += len(made.replayed.workload) < len(made.original.workload)
        schedule = simulate(made.replayed.workload, ("fcfs", "sjf-easy")[seed % 2])
        known, wrong = recorded_combination(made.original, schedule, made.job)
        assert wrong == []
        assert known is not None
        assert known.replayed.workload.digest() == made.replayed.workload.digest()
        assert check_schedule(made.original.workload, known.expanded(schedule)) == []
    assert fewer > 15


def test_combinations_that_break_an_edge_a_capacity_or_a_job_are_found() -> None:
    made = combined_stream(stream_of([FORK], 8))
    schedule = simulate(made.replayed.workload, "fcfs")

    def faults(job: list[int], nodes: int = 8) -> str:
        return "; ".join(recorded_combination(stream_of([FORK], nodes), schedule, np.array(job))[1])

    assert faults([1, 2, 2, 2, 3, 4]) == ""
    assert "original tasks: job 6: starts before a job it depends on has ended" in faults([1, 2, 2, 3, 4, 4])
    assert "cycle" in faults([1, 2, 2, 3, 4, 4])
    assert "nodes: 4 of 3 are used at once" in faults([1, 2, 2, 2, 3, 4], 3)
    assert "job 2: holds another number of nodes than it asked for" in faults([1, 2, 2, 3, 3, 4])
    assert "not numbered" in faults([1, 3, 3, 3, 2, 4])
    assert "are others" in faults([1, 2, 2, 2, 3, 3])
    assert "are others" in faults([1, 2, 2, 2, 3])
    two = stream_of([FORK, FORK], 8)
    both = combined_stream(two)
    mixed = both.job.copy()
    mixed[1] = 6
    assert "tasks of two workflows" in "; ".join(
        recorded_combination(two, simulate(both.replayed.workload, "fcfs"), mixed)[1]
    )
