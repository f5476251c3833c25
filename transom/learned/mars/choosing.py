"""What the decision maker asks: the heuristic of Table II, the network or both by size that did best in training."""

from __future__ import annotations

from collections.abc import Sequence as Several
from typing import Any, NamedTuple

import numpy as np

from transom.learned.kernel.scoring import KernelWeights
from transom.learned.mars.policies import LEARNED, MarsLearned
from transom.learned.mars.process import begin, mean_slowdown, sequence_of
from transom.learned.mars.rollouts import TAU, greedy
from transom.models.arrays import FloatArray, IntArray
from transom.simulation import simulate
from transom.simulation.core.decision import Policy
from transom.simulation.core.events import START
from transom.simulation.policies.by_size import BySize
from transom.traces import Workload

RULES = ("fcfs", "sjf", "wfp3", "unicep", "f1", "f2", "f3", "f4")
"""The heuristics of Table II."""

SIZES = (16, 64)
"""From how many waiting jobs on the network is tried, where the best heuristic decides below."""


class Choice(NamedTuple):
    """What was chosen, as the settings of a card say it, and the means of all that was tried."""

    settings: dict[str, Any]
    best: float
    learned: float
    rules: dict[str, float]


def choose(weights: KernelWeights, slots: int, parts: Several[Workload]) -> Choice:
    """Compare heuristics and the network on sequences; the heuristic wins ties.

    Parameters
    ----------
    weights, slots : of the network.
    parts : the sequences.
    """
    rules = {f"{rule}-easy": slowdowns(parts, f"{rule}-easy") for rule in RULES}
    means = {name: float(each.mean()) for name, each in rules.items()}
    rule = min(means, key=means.__getitem__)
    learned = float(np.mean([greedy(weights, sequence_of(part), slots, 0.0) for part in parts]))
    tried: list[tuple[float, int, str]] = [(means[rule], 0, rule), (learned, 0, LEARNED)]
    for size in SIZES:
        maker = _by_size(size, rule, MarsLearned(weights, slots))
        tried.append((float(slowdowns(parts, maker).mean()), size, LEARNED))
    best, size, large = min(tried, key=lambda each: each[0])
    settings = {"min": size, "median": size, "small": rule, "medium": rule, "large": large}
    return Choice(settings, best, learned, means)


def slowdowns(parts: Several[Workload], policy: str | Policy) -> FloatArray:
    """Mean bounded slowdowns of sequences under a policy, each on an empty machine; waits count from when a job could
    start."""
    return np.array([_slowdown(part, simulate(part, policy).start) for part in parts])


def _slowdown(part: Workload, start: IntArray) -> float:
    state = begin(sequence_of(part))
    state.jobs[:, START] = start
    return float(mean_slowdown(state, TAU))


def _by_size(size: int, rule: str, network: MarsLearned) -> BySize:
    """The decision maker over a rule and a network that is in no file yet."""
    made = BySize(size, size, 20_000, rule, rule, rule)
    made.policies = (*made.policies[:2], network)
    return made
