"""Streams of workflows as workloads, and the figures of their replays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transom.errors import ModelError, SpecError
from transom.generate.instances.workflows import WORKFLOW_FAMILIES, random_workflow
from transom.models import Workflow
from transom.simulation import Schedule, simulate
from transom.simulation.output.verification import check_schedule
from transom.simulation.workflows.figures import critical_paths, task_figures, workflow_figures, workflow_summary
from transom.simulation.workflows.stream import WorkflowStream, drawn_arrivals, stream_of

DIAMOND = Workflow("diamond", ("a", "b", "c", "d"), (2, 3.5, 4, 1), ((0, 1), (0, 2), (1, 3), (2, 3)), submit=10)
CHAIN = Workflow("chain", ("x", "y"), (5, 5), ((0, 1),), nodes=(2, 1), submit=11)


def replayed(stream: WorkflowStream, policy: str = "fcfs") -> Schedule:
    schedule = simulate(stream.workload, policy)
    assert check_schedule(stream.workload, schedule) == []
    return schedule


def test_tasks_become_jobs_that_wait_for_their_parents() -> None:
    stream = stream_of([DIAMOND, CHAIN], 2)
    jobs = stream.workload.jobs
    assert (jobs.id.tolist(), jobs.submit.tolist()) == ([1, 2, 3, 4, 5, 6], [10] * 4 + [11] * 2)
    assert jobs.depends_on == {2: (1,), 3: (1,), 4: (2, 3), 6: (5,)}
    assert (jobs.nodes.tolist(), jobs.user.tolist()) == ([1, 1, 1, 1, 2, 1], [0] * 4 + [1] * 2)
    assert stream.workload.runtime.tolist() == [2, 4, 4, 1, 5, 5]
    assert stream.workload.repairs == {"runtimes rounded up to whole seconds": 1}
    assert stream.edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3], [4, 5]]


def test_figures_by_hand() -> None:
    # fcfs on two nodes: a 10-12, b and c 12-16, d 16-17, x (two nodes) 17-22, y 22-27.
    stream = stream_of([DIAMOND, CHAIN], 2)
    schedule = replayed(stream)
    tasks = task_figures(stream, schedule, tau=10)
    assert tasks.start.tolist() == [10, 12, 12, 16, 17, 22]
    assert tasks.ready.tolist() == [10, 12, 12, 16, 11, 22]
    assert tasks.wait.tolist() == [0, 0, 0, 0, 6, 0]
    assert tasks.slowdown.tolist() == [1, 1, 1, 1, 11 / 5, 1]
    assert tasks.bounded_slowdown.tolist() == [1, 1, 1, 1, 1.1, 1]
    assert tasks.per_processor_slowdown.tolist() == [1] * 6  # 11 s on two nodes, counted as 10 s
    assert task_figures(stream, schedule, tau=1).per_processor_slowdown.tolist() == [1, 1, 1, 1, 1.1, 1]
    flows = workflow_figures(stream, schedule)
    assert (flows.makespan.tolist(), flows.critical_path.tolist()) == ([7, 16], [7, 10])
    assert (flows.stretch.tolist(), flows.mean_wait.tolist()) == ([1, 1.6], [0, 3])
    figures = workflow_summary(stream, schedule)
    assert (figures["makespan"], figures["mean_stretch"], figures["max_wait"]) == (17, 1.3, 6)
    assert (figures["workflows"], figures["tasks"], figures["utilisation"]) == (2, 6, (2 + 8 + 1 + 10 + 5) / 34)


@settings(max_examples=40)
@given(st.data())
def test_critical_paths_are_the_makespans_where_nothing_is_scarce(data: st.DataObject) -> None:
    seeds = data.draw(st.lists(st.integers(0, 999), min_size=1, max_size=3))
    flows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        made = random_workflow(rng, WORKFLOW_FAMILIES[seed % 5], int(rng.integers(1, 12)), 3)
        flows.append(replace(made, submit=int(rng.integers(0, 500)), walltimes=None))
    stream = stream_of(flows, 1000)
    schedule = replayed(stream, data.draw(st.sampled_from(["fcfs", "sjf-easy", "wfp3"])))
    flows_ = workflow_figures(stream, schedule)
    assert flows_.makespan.tolist() == critical_paths(stream).tolist()
    assert (task_figures(stream, schedule).wait == 0).all()
    narrow = replayed(stream_of(flows, 1))
    assert (workflow_figures(stream_of(flows, 1), narrow).stretch >= 1).all()


def test_the_machine_is_that_of_the_workflows_or_of_the_nodes_stated() -> None:
    memory = Workflow("m", ("a", "b"), (5, 5), resources=("memory",), demands=((3,), (3,)))
    stated = memory.on(4, {"memory": 5})
    assert simulate(stream_of([stated]).workload, "fcfs").start.tolist() == [0, 5]
    assert stream_of([stated], 9).workload.cluster.num_nodes == 9
    assert simulate(stream_of([memory], 4).workload, "fcfs").start.tolist() == [0, 0]
    with pytest.raises(SpecError, match="they state no machine"):
        stream_of([memory, CHAIN])
    with pytest.raises(SpecError, match="different machines"):
        stream_of([stated, memory], 4)


def test_what_cannot_be_replayed() -> None:
    with pytest.raises(ModelError, match="workflow 'chain': task 'x' needs 2 nodes, the machine has 1"):
        stream_of([CHAIN], 1)
    with pytest.raises(ModelError, match="'chain': is submitted at -1 s"):
        stream_of([replace(CHAIN, submit=-1)], 4)
    with pytest.raises(ModelError, match="it has no tasks"):
        stream_of([Workflow("none", (), ())], 4)
    with pytest.raises(SpecError, match="there are none"):
        stream_of([], 4)
    with pytest.raises(ModelError, match="other jobs"):
        task_figures(stream_of([CHAIN], 4), simulate(stream_of([DIAMOND], 4).workload, "fcfs"))


def test_arrivals_are_drawn_from_the_seed_and_only_where_none_are_stated() -> None:
    flows = [replace(CHAIN, submit=0)] * 200
    drawn = [each.submit for each in drawn_arrivals(flows, 30, np.random.default_rng(3))]
    assert drawn == [each.submit for each in drawn_arrivals(flows, 30, np.random.default_rng(3))]
    assert drawn[0] == 0
    assert drawn == sorted(drawn)
    assert 20 < drawn[-1] / 199 < 40
    assert drawn_arrivals([], 30, np.random.default_rng(3)) == []
    with pytest.raises(SpecError, match="'chain' states when it is submitted"):
        drawn_arrivals([CHAIN], 30, np.random.default_rng(3))
    with pytest.raises(SpecError, match="gap"):
        drawn_arrivals(flows, -1, np.random.default_rng(3))


@pytest.mark.parametrize("policy", ["sjf", "sjf-easy", "fcfs", "saf"])
def test_a_wide_fork_starts_its_tasks_in_the_order_of_the_rule(policy: str) -> None:
    rng = np.random.default_rng(8)
    runtimes = np.append(1, rng.integers(1, 50, 60))
    fork = Workflow("fork", tuple(map(str, range(61))), runtimes, [(0, task) for task in range(1, 61)])
    stream = stream_of([fork], 1)
    schedule = replayed(stream, policy)
    by_length = np.lexsort((np.arange(1, 61), runtimes[1:])) + 1
    expected = list(range(1, 61)) if policy == "fcfs" else by_length.tolist()
    assert np.argsort(schedule.order)[1:].tolist() == expected
