"""Training by evolution strategies: weights move towards what scheduled whole sequences better.

In each generation, pairs of opposite random changes of all weights schedule the same sequences, taking the highest
score; the ranks of their mean bounded slowdowns weigh the changes, and Adam makes the step.

References
----------
Salimans et al., Evolution strategies as a scalable alternative to reinforcement learning, 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from transom._system.settings import Positive, check_settings, setting
from transom.errors import SpecError
from transom.learned.checkpoints import Checkpoint, require, save_in
from transom.learned.kernel.rollouts import bounded_slowdown
from transom.learned.kernel.scoring import SCHEMA, SLOTS
from transom.learned.kernel.weights import NETWORK, SHAPES, STARTS, first_weights, kernel_weights, vector_of
from transom.learned.training.settings import Seed
from transom.learned.training.state import Arrays, network_arrays, set_network
from transom.learned.training.trainer import Trainer
from transom.models.arrays import FloatArray, IntArray
from transom.rng import stream

TAU = 10  # bound of the bounded slowdown [s]
_APART = 8  # sequences of the validation begin a length / 8 or more from those that are kept apart

_Rate = Annotated[float, Meta(gt=0, lt=10)]


@dataclass(frozen=True, slots=True)
class KernelTraining:
    """Settings of a training.

    Raises
    ------
    SpecError : a setting is out of its range.
    """

    backfill: Annotated[
        Literal["none", "easy"], setting("Backfill while the picked job waits, as in the test, or not at all.")
    ] = "none"
    generations: Annotated[Positive, setting("Number of steps at most.")] = 400
    pairs: Annotated[Positive, setting("Pairs of opposite changes of the weights tried for a step.")] = 16
    batch: Annotated[Positive, setting("Sequences that each of them schedules.")] = 12
    length: Annotated[Positive, setting("Consecutive jobs of a sequence.")] = 1024
    validation: Annotated[Positive, setting("Other sequences, which choose the checkpoint.")] = 100
    validate_every: Annotated[Positive, setting("Number of steps between two validations.")] = 10
    sigma: Annotated[_Rate, setting("Standard deviation of the changes.")] = 0.1
    learning_rate: Annotated[_Rate, setting("Initial learning rate; it falls to a tenth.")] = 0.03
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_settings("kernel", self)


@dataclass(frozen=True, slots=True)
class Generation:
    """A row of the learning curve: processor time [s], means over sequences, and the best validation so far."""

    generations: int
    seconds: float
    training: float
    validation: float
    best: float


class KernelTrainer(Trainer):
    """A training of the network; the checkpoint lands in its folder, too.

    Parameters
    ----------
    settings : how to train.
    jobs : by arrival, the columns of :attr:`~transom.simulation.locked.process.LockedState.jobs`.
    nodes : of the machine.
    apart : beginnings of sequences near which none of the validation begins.
    folder, minutes : see :class:`~transom.learned.training.trainer.Trainer`; minutes are of processor time.

    Raises
    ------
    SpecError : there are too few jobs, or PyTorch is not installed.
    DocumentError : the folder holds a training of other settings or jobs, or what is there cannot be read.
    """

    columns, length = Generation, "generations"
    processor_time = True

    def __init__(
        self,
        settings: KernelTraining,
        jobs: IntArray,
        nodes: int,
        apart: Sequence[int],
        folder: Path,
        minutes: float | None = None,
    ) -> None:
        require("transom train kernel", "torch")
        import torch

        subject = blake2b(np.ascontiguousarray(jobs[:, :4]).tobytes(), digest_size=16).hexdigest()
        super().__init__(settings, folder, subject, minutes)
        s = settings
        self.nodes, self._jobs = nodes, jobs
        self.begins = len(jobs) - s.length
        near = np.array(apart, np.int64).reshape(-1, 1)
        free = np.arange(max(self.begins, 0))
        free = free[(np.abs(free - near) * _APART >= s.length).all(axis=0)]
        if len(free) < s.validation:
            raise SpecError(f"sequences of {s.length}: {s.validation} to validate on need more than {len(jobs)} jobs")
        self._validation = stream(s.seed, "kernel validation").choice(free, s.validation, replace=False)
        self._network = torch.nn.Module()
        self._network.vector = torch.nn.Parameter(torch.zeros(sum(map(prod, SHAPES)), dtype=torch.float64))
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=s.learning_rate, betas=(0.9, 0.99))
        if not self.resume():
            self._begin()

    @property
    def jobs_scheduled(self) -> int:
        """Jobs of the sequences that were scheduled to learn from."""
        s = self.settings
        return int(self.updates * s.pairs * 2 * s.batch * s.length)

    def step(self) -> FloatArray:
        """Try pairs of opposite changes, and move the weights; the slowdowns of all."""
        import torch

        s, weights = self.settings, self._weights()
        rng = stream(s.seed, "kernel training", self.updates)
        starts = rng.integers(0, self.begins, s.batch)
        changes = rng.normal(size=(s.pairs, len(weights))) * s.sigma
        values = np.array([[self.evaluate(weights + sign * each, starts) for sign in (1, -1)] for each in changes])
        ranked = np.empty(values.size)
        ranked[np.argsort(values, axis=None, kind="stable")] = np.linspace(-0.5, 0.5, values.size)
        ranks = ranked.reshape(values.shape)
        gradient = (ranks[:, 0] - ranks[:, 1]) @ changes / (2 * s.pairs * s.sigma)
        self._network.vector.grad = torch.from_numpy(gradient)
        self._optimizer.param_groups[0]["lr"] = s.learning_rate * (1 - 0.9 * min(1.0, self.share()))
        self._optimizer.step()
        return values

    def row(self, seen: FloatArray) -> Generation | None:
        """A look at the validation, where one is due."""
        if self.updates % self.settings.validate_every and not self.done:
            return None
        found, best = self.evaluate(self._weights(), self._validation), self.curve[-1].best
        if found < best:
            self._best = self._weights()
        return Generation(self.updates, 0.0, float(seen.mean()), found, min(found, best))

    def arrays(self) -> Arrays:
        """The weights with the moments of their optimiser, and the best ones so far."""
        return {"best": self._best, **network_arrays(self._network, self._optimizer)}

    def facts(self) -> dict[str, Any]:
        """What the network began with."""
        return {"start": self.start}

    def load(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Take over a state."""
        self._best, self.start = arrays["best"], facts["start"]
        set_network(self._network, self._optimizer, arrays)

    def evaluate(self, vector: FloatArray, starts: IntArray) -> float:
        """Mean over sequences of the mean bounded slowdown."""
        weights, s = kernel_weights(vector), self.settings
        parts = (self._jobs[start : start + s.length].copy() for start in starts)
        return float(
            np.mean([bounded_slowdown(weights, part, self.nodes, s.backfill == "easy", TAU) for part in parts])
        )

    def checkpoint(self, name: str, trained_on: str, command: str) -> Checkpoint:
        """Write the best weights on the validation with their card, and give both."""
        s = self.settings
        return save_in(
            self.folder,
            name,
            kernel_weights(self._best)._asdict(),
            "kernel",
            SCHEMA,
            network=NETWORK,
            cluster={"nodes": self.nodes},
            settings={"backfill": s.backfill, "slots": SLOTS},
            trained_on=trained_on,
            validated_on=f"{s.validation} other sequences of {s.length} jobs of the same part",
            command=command,
            seed=s.seed,
            decisions=self.jobs_scheduled,
            seconds=round(self.seconds, 1),
            scores={"bounded_slowdown": self.curve[-1].best, "before_training": self.curve[0].best},
        )

    def _begin(self) -> None:
        """Begin with the linear score that does best on the validation."""
        import torch

        began = self.clock()
        starts = [vector_of(first_weights(stream(self.settings.seed, "kernel weights"), start)) for start in STARTS]
        values = [self.evaluate(each, self._validation) for each in starts]
        least = int(np.argmin(values))
        self.start, self._best = list(STARTS)[least], starts[least]
        with torch.no_grad():
            self._network.vector.copy_(torch.from_numpy(self._best))
        self.seconds = self.clock() - began
        self.add(Generation(0, 0.0, values[least], values[least], values[least]))

    def _weights(self) -> FloatArray:
        return np.array(self._network.vector.detach().numpy())
