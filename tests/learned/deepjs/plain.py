"""The agent of DeepJS in plain numpy, pair by pair: what compiled replays are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.simulation.placement.workloads import small_workload
from transom.learned.deepjs.network import Network, scored
from transom.models.arrays import FloatArray, IntArray, SingleArray
from transom.simulation.event_rules import Textbook
from transom.simulation.placement.event_rules import arrange
from transom.simulation.placement.state import State, new_state, next_decision
from transom.simulation.placement.stepping import start
from transom.traces.tasks import TaskWorkload

MEANS, DEVIATIONS = (0, 0, 0.65, 0.009, 74, 80.3), (64, 1, 0.23, 0.005, 108, 643.5)


def two_resources(seed: int, **other: Any) -> TaskWorkload:
    """A small workload with requests as in the trace, on machines of a few cores."""
    rng = np.random.default_rng((seed, 1))
    work = small_workload(seed)
    machines = rng.integers(30, 70, (len(work.machines), 2))
    named: dict[str, Any] = {
        "resources": ["cpu", "memory"],
        "units": [20, 512],
        "machines": machines,
        "demands": rng.integers(1, 20, (len(work), 2)),
        "duration": rng.integers(1, 200, len(work)),
        "instances": rng.integers(1, 12, len(work)),
        **other,
    }
    return small_workload(seed, **named)


def fitting(work: TaskWorkload, state: State) -> tuple[list[tuple[int, int]], SingleArray]:
    """All pairs of a waiting task and a machine where it fits, machine by machine, and their features."""
    pairs, rows = [], []
    for machine in range(len(work.machines)):
        for task in state.queue[: state.at.queued]:
            if state.waiting[task] and (work.demands[task] <= state.free[machine]).all():
                pairs.append((int(task), machine))
                amounts = [*state.free[machine] / np.array(work.units), *work.demands[task] / np.array(work.units)]
                rows.append([*amounts, work.estimate[task], state.waiting[task]])
    features = (np.array(rows).reshape(-1, 6) - MEANS) / DEVIATIONS
    return pairs, features.astype(np.float32)


def replayed(work: TaskWorkload, network: Network, draws: FloatArray | None) -> IntArray:
    """The batches of a replay by the highest score, or with pairs drawn by the softmax of their scores."""
    state = new_state(arrange(Textbook(), work), work.instances, whole=True)
    while next_decision(state):
        more = True
        while more:
            pairs, features = fitting(work, state)
            scores = scored(network, features).astype(np.float64)
            if draws is None:
                chosen = int(scores.argmax())
            else:
                chances = np.exp(scores - scores.max())
                chosen = int(np.searchsorted(np.cumsum(chances), draws[state.at.started] * chances.sum(), "right"))
            more = start(state, *pairs[chosen])
    return state.batches[: state.at.batches]
