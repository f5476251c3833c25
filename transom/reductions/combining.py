"""Combining compatible tasks of a workflow into fewer, larger ones, and a schedule of these back into one of the tasks.

Tasks are compatible if they stand on the same topological level, run the same program, have nodes, further demands,
walltimes and costs of the same magnitude (power of two), and if their neighbourhoods look the same: classes of
Weisfeiler and Leman. The level is that of the longest path from a task without parents. Every edge leads to a higher
one, so that there is no path between tasks of a level, and combining them creates no cycle.

References
----------
MARS, section III. Shervashidze et al., Weisfeiler-Lehman graph kernels, Journal of Machine Learning Research 12, 2011.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from transom.errors import ModelError
from transom.models.arrays import FloatArray, IntArray
from transom.models.workflow import Workflow

ROUNDS = 2
"""Rounds of refinement: how far the neighbourhoods reach that have to look the same."""

_WORK = 1_000_000  # tasks in all list schedules of a call


class Combined(NamedTuple):
    """A workflow of combined tasks; ``of`` says for each original task which it is part of, shape ``(tasks,)``."""

    workflow: Workflow
    of: IntArray

    def starts(self, original: Workflow, starts: IntArray) -> IntArray:
        """When each original task starts [ticks of ``original``], from the starts of the combined ones [its ticks].

        Shapes ``(tasks,)`` and ``(combined tasks,)``. All tasks of a combined one start with it, and each ends after
        its own runtime.
        """
        return -(-starts[self.of] * original.ticks // self.workflow.ticks)


def levels(workflow: Workflow) -> IntArray:
    """Edges on the longest path to each task from one without parents, shape ``(tasks,)``."""
    level = [0] * len(workflow)
    first, parents = workflow.parents.first.tolist(), workflow.parents.tasks.tolist()
    for task in workflow.order().tolist():
        level[task] = max((level[parent] + 1 for parent in parents[first[task] : first[task + 1]]), default=0)
    return np.array(level, np.int64)


def compatible(workflow: Workflow, rounds: int = ROUNDS) -> IntArray:
    """The class of each task: tasks of one class may be combined, shape ``(tasks,)``.

    Parameters
    ----------
    workflow : the tasks.
    rounds : of refinement by the classes of parents and children, >= 0.
    """
    amounts = np.column_stack((workflow.nodes, workflow.demands, workflow.walltimes, workflow.costs))
    stated = zip(workflow.programs, workflow.releases.tolist(), strict=True)
    magnitudes = np.frexp(amounts.astype(np.float64))[1].tolist()
    kinds = _numbered([(*each, *row) for *each, row in zip(levels(workflow).tolist(), stated, magnitudes, strict=True)])
    sides = [(rows.first.tolist(), rows.tasks.tolist()) for rows in (workflow.parents, workflow.children)]
    for _ in range(rounds):
        kinds = _numbered(
            [
                (
                    kind,
                    *(tuple(sorted(kinds[other] for other in rows[first[t] : first[t + 1]])) for first, rows in sides),
                )
                for t, kind in enumerate(kinds)
            ]
        )
    return np.array(kinds, np.int64)


def combine(workflow: Workflow, capacity: int, loss: float | None = 0.02, times: FloatArray | None = None) -> Combined:
    """Combine compatible tasks, as many at a time as fit on ``capacity`` nodes.

    A combined task has the sum of the nodes, demands and costs of its tasks and runs as long as the longest of them.
    Those of a class that do not fit at once become several, in waves of similar length. If a list schedule would take
    longer by more than ``loss`` with a class combined, it is combined on half the nodes, a quarter and so on, or not
    at all. Two list schedules are looked at: in the order of the tasks, where one that does not fit holds up the
    others, and longest path first. Large classes come first, and what they leave of a budget of work the others have.

    Parameters
    ----------
    workflow : what to combine.
    capacity : nodes of the machine, enough for every task.
    loss : largest share of the makespan that may be lost, >= 0; None: whatever it costs.
    times : how long each task is taken to run [s], shape ``(tasks,)``; by default the runtimes. A scheduler that does
        not know these passes the walltimes.

    Raises
    ------
    ModelError : a task needs more nodes than there are.
    """
    widest = int(workflow.nodes.max(initial=0))
    if widest > capacity:
        raise ModelError(
            f"workflow: task {workflow.tasks[workflow.nodes.argmax()]!r} needs {widest} of {capacity} nodes"
        )
    lasting = workflow.runtimes if times is None else times
    kinds = compatible(workflow)
    classes: dict[int, list[int]] = defaultdict(list)
    for task in np.lexsort((-lasting, kinds)).tolist():
        classes[int(kinds[task])].append(task)
    if loss is None:
        return combined_into(workflow, [wave for of in classes.values() for wave in _waves(workflow, of, capacity)])
    groups: list[list[int]] = [[task] for task in range(len(workflow))]
    allowed = [(1 + loss) * each for each in _makespans(workflow, lasting, capacity)]
    work = _WORK
    for members in sorted(classes.values(), key=len, reverse=True):
        inside, width = {*members}, capacity
        while len(members) > 1 and width >= 2 * workflow.nodes[members].min() and work > 0:
            tried = [group for group in groups if group[0] not in inside] + _waves(workflow, members, width)
            if len(tried) == len(groups):
                break
            made = combined_into(workflow, tried)
            longest = np.zeros(len(made.workflow))
            np.maximum.at(longest, made.of, lasting)
            work -= len(workflow)
            if all(a <= b for a, b in zip(_makespans(made.workflow, longest, capacity), allowed, strict=True)):
                groups = tried
                break
            width //= 2
    return combined_into(workflow, groups)


def combined_into(workflow: Workflow, groups: Sequence[Sequence[int]]) -> Combined:
    """The workflow whose tasks are groups of those of another one; each is named after its first task.

    Raises
    ------
    ModelError : the groups wait for each other in a cycle, or do not fit on the machine.
    """
    ordered = sorted(groups, key=min)
    of = np.empty(len(workflow), np.int64)
    for number, group in enumerate(ordered):
        of[list(group)] = number
    begins = np.cumsum([0, *map(len, ordered)])[:-1]
    flat = np.array([task for group in ordered for task in group], np.int64)
    made = Workflow(
        name=workflow.name,
        tasks=tuple(workflow.tasks[group[0]] for group in ordered),
        runtimes=np.maximum.reduceat(workflow.runtimes[flat], begins),
        edges=of[workflow.edges],
        nodes=np.add.reduceat(workflow.nodes[flat], begins),
        walltimes=np.maximum.reduceat(workflow.walltimes[flat], begins),
        resources=workflow.resources,
        demands=np.add.reduceat(workflow.demands[flat], begins, axis=0),
        costs=np.add.reduceat(workflow.costs[flat], begins),
        programs=tuple(workflow.programs[group[0]] for group in ordered),
        submit=workflow.submit,
        machine=workflow.machine,
        releases=np.maximum.reduceat(workflow.releases[flat], begins),
        repairs=workflow.repairs,
    )
    return Combined(made, of)


def _numbered(labels: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]


def _waves(workflow: Workflow, members: Sequence[int], width: int) -> list[list[int]]:
    """The tasks in their order, as many in each wave as fit on ``width`` nodes and into the machine."""
    requests = workflow.requests()
    most = np.full(requests.shape[1], np.iinfo(np.int64).max) if workflow.machine is None else workflow.machine.copy()
    most[0] = min(most[0], width)
    waves: list[list[int]] = []
    used = most
    for task in members:
        if waves and (used + requests[task] <= most).all():
            waves[-1].append(task)
            used = used + requests[task]
        else:
            waves.append([task])
            used = requests[task]
    return waves


def _makespans(workflow: Workflow, lasting: FloatArray, capacity: int) -> tuple[float, float]:
    """Of list schedules: in the order of the tasks, where one that does not fit holds up others; longest path first."""
    times, nodes = lasting.tolist(), workflow.nodes.tolist()
    first, children = workflow.children.first.tolist(), workflow.children.tasks.tolist()
    ranks = [0.0] * len(workflow)
    for task in workflow.order()[::-1].tolist():
        ranks[task] = times[task] + max((ranks[c] for c in children[first[task] : first[task + 1]]), default=0.0)
    waits = np.diff(workflow.parents.first).tolist()

    def makespan(keys: Sequence[float], blocking: bool) -> float:
        left, free, now = list(waits), capacity, 0.0
        ready = [(keys[task], task) for task, count in enumerate(left) if not count]
        heapq.heapify(ready)
        running: list[tuple[float, int]] = []
        while ready or running:
            passed = []
            while ready and free:
                key, task = heapq.heappop(ready)
                if nodes[task] <= free:
                    free -= nodes[task]
                    heapq.heappush(running, (now + times[task], task))
                else:
                    passed.append((key, task))
                    if blocking:
                        break
            for each in passed:
                heapq.heappush(ready, each)
            now = running[0][0]
            while running and running[0][0] == now:
                ended = heapq.heappop(running)[1]
                free += nodes[ended]
                for child in children[first[ended] : first[ended + 1]]:
                    left[child] -= 1
                    if not left[child]:
                        heapq.heappush(ready, (keys[child], child))
        return now

    return makespan(list(range(len(workflow))), True), makespan([-rank for rank in ranks], False)
