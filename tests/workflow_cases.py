"""Small random workflows on machines, and their optima by enumeration, independent of the package's schedules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transom.models import Workflow
from transom.reductions.joining import joined


def random_window(rng: np.random.Generator, tasks: int) -> Workflow:
    """Two or three random workflows of so many tasks in all, submitted one after another, as one problem."""
    sizes = [len(part) for part in np.array_split(np.arange(tasks), int(rng.integers(2, min(3, tasks) + 1)))]
    flows = [replace(random_project(rng, each), machine=None, submit=int(rng.integers(0, 12))) for each in sizes]
    nodes = max(int(flow.nodes.max()) for flow in flows)
    window = joined(flows)
    return window.on(nodes, {"memory": int(rng.integers(5, 12))} if window.resources else {})


def random_project(rng: np.random.Generator, tasks: int) -> Workflow:
    """A random workflow of so many tasks on a machine of up to three nodes, some of them with memory."""
    edges = [(i, j) for j in range(tasks) for i in range(j) if rng.random() < 0.25]
    memory = rng.random() < 0.5
    nodes = int(rng.integers(1, 4))
    return Workflow(
        name="random",
        tasks=[f"t{i}" for i in range(tasks)],
        runtimes=rng.integers(0, 9, tasks) / rng.choice([1, 10]),
        edges=rng.permutation(tasks)[np.array(edges, np.int64)] if edges else [],
        nodes=rng.integers(1, nodes + 1, tasks),
        resources=("memory",) if memory else (),
        demands=rng.integers(0, 6, (tasks, 1)) if memory else [],
    ).on(nodes, {"memory": int(rng.integers(5, 12))} if memory else {})


def least_makespan(problem: Workflow) -> float:
    """The optimum: the best of all orders in which tasks get their earliest starts (an active schedule is best)."""
    assert problem.machine is not None
    length, requests = problem.durations.tolist(), problem.requests().tolist()
    released = (problem.releases * problem.ticks).tolist()
    waits = [[int(p) for p, c in problem.edges if c == task] for task in range(len(problem))]
    most = sum(length) + max(released, default=0)
    used = np.zeros((most + 1, len(problem.machine)), np.int64)
    ends: dict[int, int] = {}
    best = most

    def go() -> None:
        nonlocal best
        if max(ends.values(), default=0) >= best:
            return
        if len(ends) == len(problem):
            best = max(ends.values(), default=0)
            return
        for task in range(len(problem)):
            if task in ends or any(parent not in ends for parent in waits[task]):
                continue
            start = max([released[task], *(ends[parent] for parent in waits[task])])
            while (used[start : start + length[task]] + requests[task] > problem.machine).any():
                start += 1
            used[start : start + length[task]] += requests[task]
            ends[task] = start + length[task]
            go()
            used[start : start + length[task]] -= requests[task]
            del ends[task]

    go()
    return best / problem.ticks
