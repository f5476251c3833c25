"""Training of a scorer of priorities: its weights are searched for, and longest-first is where the search begins.

A generation draws scorers and windows of consecutive jobs, replays every window under every scorer, and moves the
distribution of scorers towards those with short makespans: the value of a scorer is its mean makespan over the lower
bound. Nothing is drawn from anything but the seed and the number of the generation, so that a training resumes exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transom.learned.checkpoints import require
from transom.learned.priority.replay import Agent, makespan, new_agent
from transom.learned.priority.scorer import TASK, longest_first, scorers
from transom.learned.priority.settings import Training
from transom.learned.training.state import Arrays
from transom.learned.training.trainer import Trainer
from transom.models.arrays import FloatArray, IntArray
from transom.rng import stream
from transom.simulation.event_rules import Textbook
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.event_rules import arrange
from transom.simulation.placement.state import State, new_state
from transom.traces.tasks.workload import TaskWorkload


@dataclass(frozen=True, slots=True)
class Generation:
    """What a generation saw: a row of the learning curve.

    Parameters
    ----------
    generation : from 1.
    seconds : of the training so far [s].
    replays : so far.
    longest_first, best, mean : how far makespans of its windows lie above the bound, in the mean: under longest-first,
        the best scorer and all scorers.
    step : of the search.
    """

    generation: int
    seconds: float
    replays: int
    longest_first: float
    best: float
    mean: float
    step: float


class _Window(NamedTuple):
    state: State
    agent: Agent
    machines: IntArray
    instances: IntArray
    bound: int


class PriorityTrainer(Trainer):
    """A training of a scorer: a search by covariance matrix adaptation (CMA-ES).

    Its state are the values that candidates had: drawing and telling them again is the search.

    Parameters
    ----------
    settings : how it is trained.
    workload : what it is trained on, and nothing else.
    folder : see :class:`~transom.learned.training.trainer.Trainer`.

    Raises
    ------
    SpecError : the package ``cma`` is not installed.
    DocumentError : the folder holds a training of other settings or another workload, or what is there cannot be read.

    References
    ----------
    Hansen, The CMA evolution strategy: a tutorial, arXiv 1604.00772, 2016.
    """

    columns, length, extends = Generation, "generations", ("generations",)

    def __init__(self, settings: Training, workload: TaskWorkload, folder: Path) -> None:
        require("transom train learned-priority", "cma")
        from cma import CMAEvolutionStrategy

        super().__init__(settings, folder, workload.digest())
        self.workload = workload
        self._bounds: dict[int, int] = {}
        self._values: list[list[float]] = []
        options = {
            "popsize": settings.population, "CMA_active": False, "verbose": -9, "randn": self._normal, "seed": np.nan,
        }  # fmt: skip
        self._search = CMAEvolutionStrategy(longest_first(), settings.step, options)
        self.resume()

    @property
    def weights(self) -> FloatArray:
        """The mean of the distribution: of task features, then of machine features, each of length 1."""
        return normalised(np.array(self._search.mean))

    def step(self) -> tuple[int, float, FloatArray]:
        """Make a generation; how many windows it has, what longest-first and the candidates make of them."""
        windows = self._windows(stream(self.settings.seed, "windows", self.updates))
        candidates = self._candidates(self.updates)
        values = np.array([_above(windows, weights) for weights in candidates])
        self._search.tell(candidates, values.tolist())
        self._values.append(values.tolist())
        return len(windows), _above(windows, longest_first()), values

    def row(self, seen: tuple[int, float, FloatArray]) -> Generation:
        """What the generation saw."""
        windows, usual, values = seen
        replays = self.updates * self.settings.population * windows
        best, mean = float(values.min()), float(values.mean())
        return Generation(self.updates, 0.0, replays, usual, best, mean, float(self._search.sigma))

    def arrays(self) -> Arrays:
        """The values of all candidates, and the weights."""
        return {"values": np.array(self._values).reshape(-1, self.settings.population), "weights": self.weights}

    def load(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Repeat the search with the values that its candidates had."""
        self._values = arrays["values"].tolist()
        for number, values in enumerate(self._values):
            self._search.tell(self._candidates(number), values)
        if not np.array_equal(self.weights, arrays["weights"]):
            raise ValueError("its values lead to other weights")

    def _candidates(self, generation: int) -> list[FloatArray]:
        self._draws = stream(self.settings.seed, "scorers", generation)
        candidates: list[FloatArray] = self._search.ask()
        return candidates

    def _normal(self, *shape: int) -> FloatArray:
        return self._draws.standard_normal(shape)

    def _windows(self, rng: np.random.Generator) -> list[_Window]:
        jobs, chunk = len(self.workload.job_ids), self.settings.chunks
        firsts = rng.choice(max(1, jobs - chunk + 1), min(self.settings.windows, max(1, jobs - chunk + 1)), False)
        return [self._window(int(first)) for first in firsts]

    def _window(self, first: int) -> _Window:
        work = self.workload.take(first, self.settings.chunks)
        if first not in self._bounds:
            self._bounds[first] = makespan_bound(work)
        arranged = arrange(Textbook(), work)
        agent = new_agent(longest_first(), work, arranged)
        state = new_state(arranged, work.instances, whole=True)
        return _Window(state, agent, work.machines, work.instances, self._bounds[first])


def normalised(weights: FloatArray) -> FloatArray:
    """The same order of tasks and choice of machines, both parts of length 1, in single precision."""
    parts = weights[: len(TASK)], weights[len(TASK) :]
    return (
        np.concatenate([part / (np.linalg.norm(part) or 1.0) for part in parts]).astype(np.float32).astype(np.float64)
    )


def _above(windows: Sequence[_Window], weights: FloatArray) -> float:
    """How far makespans lie above the bound, in the mean."""
    several = scorers(weights, longest_first())
    ends = [
        makespan(each.state, each.agent._replace(weights=several), each.machines, each.instances) / each.bound
        for each in windows
    ]
    return float(np.mean(ends)) - 1
