"""Training of a scorer of priorities: its weights are searched for, and longest-first is where the search begins.

A generation draws scorers and windows of consecutive jobs, replays every window under every scorer, and moves the
distribution of scorers towards those with short makespans: the value of a scorer is its mean makespan over the lower
bound. Nothing is drawn from anything but the seed and the number of the generation, so that a training resumes exactly.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transom.errors import DocumentError
from transom.learned.priority import cma_es
from transom.learned.priority.replay import Agent, makespan, new_agent
from transom.learned.priority.scorer import TASK, longest_first, scorers
from transom.learned.priority.settings import Training
from transom.learned.training.state import STATE, Arrays, check_settings, read_state, write_progress
from transom.models.arrays import FloatArray, IntArray
from transom.rng import stream
from transom.simulation.event_rules import Textbook
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.event_rules import arrange
from transom.simulation.placement.state import State, new_state
from transom.traces.tasks.workload import TaskWorkload

_ARRAYS = ("mean", "covariance", "path_step", "path_shape")


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


class Trainer:
    """A training that lives in a folder: ``training.safetensors`` (its state) and ``curve.csv``.

    Parameters
    ----------
    settings : how it is trained.
    workload : what it is trained on, and nothing else.
    folder : where; a training of the same settings and workload that stopped there goes on.

    Attributes
    ----------
    curve : the generations so far.

    Raises
    ------
    DocumentError : the folder holds a training of other settings or another workload, or what is there cannot be read.
    """

    def __init__(self, settings: Training, workload: TaskWorkload, folder: Path) -> None:
        self.settings, self.workload, self.folder = settings, workload, folder
        self.curve: list[Generation] = []
        self._bounds: dict[int, int] = {}
        self._search = cma_es.begin(longest_first(), settings.step)
        self._state = folder / STATE
        if self._state.is_file():
            self._restore(*read_state(self._state))

    @property
    def weights(self) -> FloatArray:
        """The mean of the distribution: of task features, then of machine features, each of length 1."""
        return normalised(self._search.mean)

    @property
    def seconds(self) -> float:
        """Time spent so far, over all starts of the command [s]."""
        return self.curve[-1].seconds if self.curve else 0.0

    @property
    def done(self) -> bool:
        """Whether no generation is left."""
        return len(self.curve) >= self.settings.generations

    def update(self) -> Generation:
        """Make a generation, and say what it saw."""
        began, settings, number = time.perf_counter(), self.settings, len(self.curve)
        windows = self._windows(stream(settings.seed, "windows", number))
        candidates = cma_es.draw(self._search, settings.population, stream(settings.seed, "scorers", number))
        values = np.array([_above(windows, weights) for weights in candidates])
        usual = _above(windows, longest_first())
        cma_es.update(self._search, candidates, values)
        row = Generation(
            generation=number + 1,
            seconds=self.seconds + time.perf_counter() - began,
            replays=(number + 1) * settings.population * len(windows),
            longest_first=usual,
            best=float(values.min()),
            mean=float(values.mean()),
            step=self._search.step,
        )
        self.curve.append(row)
        return row

    def save(self) -> None:
        """Write the state and the curve."""
        arrays = {name: getattr(self._search, name) for name in _ARRAYS}
        facts = {"workload": self.workload.digest(), "step": self._search.step}
        write_progress(self.folder, self.settings, self.curve, Generation, arrays, **facts)

    def _restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        begun = facts.get("settings") if isinstance(facts, dict) else None
        if not isinstance(begun, dict) or "population" not in begun:
            raise DocumentError(f"{self._state}: does not hold such a training; take another folder")
        check_settings(self._state, begun, {**asdict(self.settings), "generations": begun["generations"]}, "")
        if facts.get("workload") != self.workload.digest():
            raise DocumentError(f"{self._state}: was begun on other jobs or machines; take another folder")
        try:
            self.curve = [Generation(*row) for row in facts["curve"]]
            held = {name: np.array(arrays[name], np.float64) for name in _ARRAYS}
            if any(held[name].shape != getattr(self._search, name).shape for name in _ARRAYS):
                raise ValueError("arrays of other shapes")
            self._search = cma_es.SearchState(**held, step=float(facts["step"]), generation=len(self.curve))
        except (KeyError, TypeError, ValueError) as error:
            raise DocumentError(f"{self._state}: does not hold such a training: {error}") from None

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
