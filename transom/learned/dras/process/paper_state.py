"""The state of the paper, compiled: two rows of two numbers per job of the window and one row per node.

A job is (size n / N, estimate t / T) and (1 if urgent, else 0; queued time w / T); a node is (1 if it is available,
else 0; time until its job is expected to end / T). N are the nodes of the machine and T the walltime of the scheme,
where the published code has raw seconds, which saturate a softmax. Times stop at 30 days.

Nodes are listed by when they become available, idle ones first: without a topology no node differs from another, and
those of one job stand side by side.

References
----------
Fan et al., DRAS, section III-A and III-B.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import no_refcount
from transom.learned.dras.process.process import COUNT, AgentConfig, DecisionState
from transom.models.arrays import IntArray, SingleArray
from transom.simulation.core.events import DEMAND, NOW, RUNNING, SUBMIT, WALLTIME, State

LONGEST_TIME = 30 * 86_400
"""What longer times count as [s]."""


@no_refcount
def paper_state(s: State, c: DecisionState, scheme: AgentConfig, nodes: int, state: SingleArray) -> None:
    """Fill the input of DRAS-PG: the jobs of the window, zeros where it has fewer, and all nodes.

    Parameters
    ----------
    s, c : of the replay, and where the process stands.
    scheme, nodes : how the agent schedules, and the nodes of the machine.
    state : float32, shape ``(2 W + N, 2)``.
    """
    count = c.at[COUNT]
    for k in range(count):
        _fill_job(s.jobs, s.queue[c.candidates[k]], s.at, c.known, scheme, state, 2 * k)
    for row in range(2 * count, 2 * scheme.window):
        state[row, 0] = state[row, 1] = 0.0
    _fill_nodes(s.jobs, s.expected, s.free, s.at, scheme, nodes, state, 2 * scheme.window)


@no_refcount
def _fill_job(
    jobs: IntArray, job: int, at: IntArray, known: SingleArray, scheme: AgentConfig, state: SingleArray, row: int
) -> None:
    span = np.float64(scheme.longest)
    state[row, 0] = known[job, 0]
    state[row, 1] = min(jobs[job, WALLTIME], LONGEST_TIME) / span
    state[row + 1, 0] = known[job, 5]
    state[row + 1, 1] = min(at[NOW] - jobs[job, SUBMIT], LONGEST_TIME) / span


@no_refcount
def _fill_nodes(
    jobs: IntArray,
    expected: IntArray,
    free: IntArray,
    at: IntArray,
    scheme: AgentConfig,
    nodes: int,
    state: SingleArray,
    row: int,
) -> None:
    end = row + nodes
    for i in range(free[0]):
        state[row + i, 0], state[row + i, 1] = 1.0, 0.0
    row += free[0]
    for i in range(at[RUNNING]):
        left = np.float32(min(max(expected[i, 0] - at[NOW], 1), LONGEST_TIME) / np.float64(scheme.longest))
        for _ in range(jobs[expected[i, 1], DEMAND]):
            state[row, 0], state[row, 1] = 0.0, left
            row += 1
    # Nodes that are neither free nor in use are out of service: not available, and no end is known.
    while row < end:
        state[row, 0], state[row, 1] = 0.0, np.float32(LONGEST_TIME / np.float64(scheme.longest))
        row += 1
