"""Projects like those of ProGen: what ``auto`` finds and proves on them in a given CPU time.

    python -m benchmarks.projects --tasks 60 --tasks 120 --seconds 2

36 random projects of each size: by the complexity of the network, the resource factor (share of the four resources that
a task needs) and the resource strength (where capacities lie between the largest demand and the peak of the earliest
starts). A line for each strength: how many are proved, the sums of values and bounds, median and mean CPU time.

References
----------
Kolisch, Sprecher and Drexl, Characterization and generation of a general class of resource-constrained project
scheduling problems, Management Science 41, 1995.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from statistics import mean, median
from time import process_time

import numpy as np

from transom import Stop, check, registry, solve
from transom.models import Workflow
from transom.result import Result
from transom.rng import stream
from transom.solving import warm_up

STRENGTHS = (0.2, 0.5, 0.7)
_RESOURCES, _ENDS, _MOST = 4, 3, 3  # tasks without parents or children; neighbours of each on either side
_LONGEST = _LARGEST = 10


def project(
    rng: np.random.Generator, tasks: int, complexity: float = 1.8, factor: float = 0.75, strength: float = 0.2
) -> Workflow:
    """A random project on its machine, a node for each task.

    Parameters
    ----------
    tasks : at least 7.
    complexity : arcs for each task.
    factor, strength : of the resources, from 0 to 1.
    """
    durations = rng.integers(1, _LONGEST + 1, tasks)
    demands = rng.integers(1, _LARGEST + 1, (tasks, _RESOURCES)) * (rng.random((tasks, _RESOURCES)) < factor)
    flow = Workflow(
        name=f"{tasks}_{complexity:g}_{factor:g}_{strength:g}",
        tasks=[f"t{task}" for task in range(tasks)],
        runtimes=durations,
        edges=sorted(_arcs(rng, tasks, round(complexity * tasks))),
        resources=[f"R{r + 1}" for r in range(_RESOURCES)],
        demands=demands,
    )
    starts = flow.earliest()
    used = np.zeros((int((starts + durations).max()), _RESOURCES), np.int64)
    for start, duration, demand in zip(starts, durations, demands, strict=True):
        used[start : start + duration] += demand
    least = demands.max(axis=0)
    capacity = least + np.rint(strength * (used.max(axis=0) - least)).astype(np.int64)
    return flow.on(tasks, dict(zip(flow.resources, capacity.tolist(), strict=True)))


def _arcs(rng: np.random.Generator, tasks: int, number: int) -> set[tuple[int, int]]:
    """A parent for each task but the first ones, a child for each but the last ones, and others at random."""
    near = max(_ENDS, tasks // 3)
    arcs = {(int(rng.integers(max(0, task - near), task)), task) for task in range(_ENDS, tasks)}
    for task in {*range(tasks - _ENDS)} - {parent for parent, _ in arcs}:
        arcs.add((task, int(rng.integers(max(task + 1, _ENDS), min(task + near, tasks - 1) + 1))))
    ends = Counter(("from", parent) for parent, _ in arcs) + Counter(("to", child) for _, child in arcs)
    for _ in range(20 * number):
        parent = int(rng.integers(0, tasks - _ENDS))
        child = int(rng.integers(max(parent + 1, _ENDS), tasks))
        if len(arcs) >= number:
            break
        if (parent, child) not in arcs and max(ends["from", parent], ends["to", child]) < _MOST:
            arcs.add((parent, child))
            ends.update({("from", parent): 1, ("to", child): 1})
    return arcs


def projects(tasks: int, strength: float) -> Iterator[Workflow]:
    """One for each complexity and resource factor."""
    for complexity in (1.5, 1.8, 2.1):
        for factor in (0.25, 0.5, 0.75, 1.0):
            rng = stream(1, "projects", tasks, str(complexity), str(factor), str(strength))
            yield project(rng, tasks, complexity, factor, strength)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, action="append")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--solver", default="auto")
    given = parser.parse_args()
    solver = registry.make(registry.SOLVERS, given.solver, Workflow)
    warm_up(solver, Workflow)
    print("| tasks | strength | proved | sum of values | sum of bounds | median [s] | mean [s] |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for tasks in given.tasks or (30, 60, 120):
        for strength in STRENGTHS:
            found: list[Result] = []
            for problem in projects(tasks, strength):
                found.append(solve(problem, solver, Stop(seconds=given.seconds), clock=process_time))
                if wrong := check(problem, found[-1]):
                    raise SystemExit(f"{problem.name}: {wrong[0]}")
            proved = sum(each.status == "optimal" for each in found)
            sums = sum(each.value or 0 for each in found), sum(each.bound or 0 for each in found)
            times = [each.seconds for each in found]
            print(
                f"| {tasks} | {strength:g} | {proved} of {len(found)} | {sums[0]:,} | {sums[1]:,} | "
                f"{median(times):.3f} | {mean(times):.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
