"""Training of DeepJS, chunk after chunk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from transom.learned.checkpoints import require
from transom.learned.deepjs.learning import EpisodeBatch, advantages, learn
from transom.learned.deepjs.network import Network
from transom.learned.deepjs.policy import NetworkPolicy, check_resources, untrained
from transom.learned.deepjs.settings import Training
from transom.learned.training.state import Arrays, network_arrays, set_network
from transom.learned.training.trainer import Trainer
from transom.models.arrays import FloatArray, SingleArray
from transom.rng import stream
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.replay import simulate_tasks
from transom.traces.tasks.workload import TaskWorkload


@dataclass(frozen=True, slots=True)
class Step:
    """What a step saw and did: a row of the learning curve.

    Parameters
    ----------
    step : from 1.
    seconds : of the training so far [s].
    chunk : its number, from 0.
    makespan : of the episodes, before anything is learnt from them [s], mean.
    different : makespans among the episodes; if there is one only, nothing is learnt.
    likely : chance of what was chosen, where there was a choice, as a geometric mean.
    drawn, highest : where networks were compared, how far makespans of all chunks lie above their bounds in the mean
        [%], with pairs drawn and with the highest score; else None.
    """

    step: int
    seconds: float
    chunk: int
    makespan: float
    different: int
    likely: float
    drawn: float | None = None
    highest: float | None = None


class DeepJsTrainer(Trainer):
    """A training of the agent, chunk after chunk.

    Parameters
    ----------
    settings : how it is trained.
    workload : what it is trained on, and nothing else, with CPU and memory.
    folder : see :class:`~transom.learned.training.trainer.Trainer`.

    Attributes
    ----------
    chunks : the workload, cut.
    network, best, greedy : the network, the best one so far, and whether that is better with the highest score than
        drawing.

    Raises
    ------
    SpecError : the resources are not CPU and memory, or PyTorch is not installed.
    DocumentError : the folder holds a training of other settings or another workload, or what is there cannot be read.
    """

    columns, length = Step, ""

    def __init__(self, settings: Training, workload: TaskWorkload, folder: Path) -> None:
        require("transom train deepjs", "torch")
        import torch

        check_resources(workload)
        super().__init__(settings, folder, workload.digest())
        self.workload = workload
        self.chunks = list(workload.chunks(settings.chunks))
        self.network = untrained(settings.network, settings.seed)
        self.best, self.greedy = self.network, False
        self._above = np.inf
        # The kernels and torch work on the same memory.
        self._torch = torch.nn.Module()
        self._torch.vector = torch.nn.Parameter(torch.from_numpy(self.network.weights))
        rule = torch.optim.Adam if settings.update == "code" else torch.optim.SGD
        self._optimizer = rule(self._torch.parameters(), lr=settings.learning_rate, maximize=True)
        self._bounds: FloatArray | None = None
        self._batch: EpisodeBatch | None = None
        self.resume()

    @property
    def decisions(self) -> int:
        """Instances that were placed in all episodes so far."""
        placed = sum(int(self.chunks[row.chunk].instances.sum()) for row in self.curve)
        return int(self.settings.episodes) * placed

    def made(self) -> float:
        """See :class:`~transom.learned.training.trainer.Trainer`."""
        return self.updates / (len(self.chunks) * int(self.settings.steps))

    def step(self) -> Step:
        """Play episodes of a chunk, and learn from them."""
        settings = self.settings
        number, step = divmod(self.updates, settings.steps)
        if self._batch is None or self._batch.workload is not self.chunks[number]:
            self._batch = EpisodeBatch(self.chunks[number], self.network, settings.episodes)
        batch = self._batch
        draws = stream(settings.seed, "deepjs", number, step).random((settings.episodes, batch.decisions))
        ends = batch.play(draws)
        gains = advantages(batch.times(), ends, settings.update == "code")
        with threadpool_limits(1):  # sums of several threads differ in the last bits
            likely = learn(batch, gains, settings, self._move)
        return Step(self.updates + 1, 0.0, number, float(ends.mean()), len(np.unique(ends)), float(np.exp(likely)))

    def row(self, seen: Step) -> Step:
        """What the step saw, and how the network compares where that is due."""
        number = seen.chunk
        due = (number + 1) % self.settings.compare_every == 0 or number + 1 == len(self.chunks)
        if self.updates % self.settings.steps or not due:
            return seen
        drawn, highest = self._compare()
        return replace(seen, drawn=drawn, highest=highest)

    def arrays(self) -> Arrays:
        """The weights with what their optimiser keeps, and the best ones so far."""
        return {"best": self.best.weights, **network_arrays(self._torch, self._optimizer)}

    def facts(self) -> dict[str, Any]:
        """How the best network does, and how it decides."""
        return {"greedy": self.greedy, "above": self._above if np.isfinite(self._above) else None}

    def load(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Take over a state."""
        set_network(self._torch, self._optimizer, arrays)
        self.best = Network(np.array(arrays["best"], np.float32), self.network.sizes)
        self.greedy = bool(facts["greedy"])
        self._above = np.inf if facts["above"] is None else float(facts["above"])

    def _move(self, slope: SingleArray) -> None:
        """Move the weights along a gradient."""
        import torch

        self._torch.vector.grad = torch.from_numpy(np.asarray(slope, np.float32))
        self._optimizer.step()

    def above_bound(self, policy: str | NetworkPolicy) -> float:
        """How far the makespans of a policy are above their bounds on the chunks of the training, in the mean [%]."""
        if self._bounds is None:
            self._bounds = np.array([makespan_bound(chunk) for chunk in self.chunks], np.float64)
        ends = [simulate_tasks(chunk, policy, seed=k).makespan for k, chunk in enumerate(self.chunks)]
        return 100 * float(np.mean(np.array(ends) / self._bounds) - 1)

    def _compare(self) -> tuple[float, float]:
        """How far the network is above the bounds, drawn and with the highest score [%]; the lower may be the best."""
        drawn, highest = (self.above_bound(NetworkPolicy(self.network, greedy)) for greedy in (False, True))
        if min(drawn, highest) < self._above:
            self.best = Network(self.network.weights.copy(), self.network.sizes)
            self._above, self.greedy = min(drawn, highest), highest <= drawn
        return drawn, highest
