"""Training of MARS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transom.errors import SpecError
from transom.learned.checkpoints import Checkpoint, save_in
from transom.learned.kernel.scoring import KernelWeights
from transom.learned.kernel.weights import NETWORK, STARTS, first_weights, kernel_weights, vector_of
from transom.learned.mars.cards import SCHEMA
from transom.learned.mars.choosing import choose, slowdowns
from transom.learned.mars.learners import Learner
from transom.learned.mars.network import MarsNetwork
from transom.learned.mars.process import sequence_of
from transom.learned.mars.rollouts import greedy
from transom.learned.mars.settings import MarsTraining
from transom.learned.training.state import Arrays
from transom.learned.training.trainer import Trainer
from transom.models.arrays import FloatArray
from transom.rng import stream
from transom.traces import Workload

_SHARPNESS = 20.0  # what the first scores are multiplied by: drawn picks are then close to the likeliest ones


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the learning curve: processor time [s], means over sequences, and the best validation so far."""

    updates: int
    seconds: float
    training: float
    validation: float
    best: float


class MarsTrainer(Trainer):
    """A training of the network that the decision maker may ask; the checkpoint lands in its folder, too.

    Parameters
    ----------
    settings : how to train.
    part : the jobs to train on, and nothing else.
    folder, minutes : see :class:`~transom.learned.training.trainer.Trainer`; minutes are of processor time.

    Raises
    ------
    SpecError : there are too few jobs, or they ask for further resources.
    DocumentError : the folder holds a training of other settings or jobs, or what is there cannot be read.
    """

    columns = Row
    processor_time = True

    def __init__(self, settings: MarsTraining, part: Workload, folder: Path, minutes: float | None = None) -> None:
        super().__init__(settings, folder, part.digest(), minutes)
        s = settings
        self.part = part
        longest = max(s.length, s.validation_length)
        if len(part) < longest:
            raise SpecError(
                f"--length and --validation-length: sequences of {longest} need as many jobs, got {len(part)}"
            )
        places = len(part) - s.validation_length + 1
        several = min(s.validation, places)
        begins = stream(s.seed, "mars validation").choice(places, several, replace=False)
        self.validation = [self._take(int(begin), s.validation_length) for begin in begins]
        self._watched = [sequence_of(each) for each in self.validation]
        self.start, self._unit = "walltime", 1.0
        if not self.resume():
            self._begin()

    def step(self) -> FloatArray:
        """Play sequences and learn from them; their mean bounded slowdowns."""
        s = self.settings
        rng = stream(s.seed, "mars training", self.updates)
        begins = rng.integers(0, len(self.part) - s.length + 1, s.batch).tolist()
        parts = [self._take(begin, s.length) for begin in begins]
        other = slowdowns(parts, f"{s.relative_to}-easy") if s.relative_to else None

        def reward(at: int, slowdown: float) -> float:
            return -slowdown / self._unit if other is None else 1 - slowdown / float(other[at])

        return self.learner.update([sequence_of(each) for each in parts], reward, rng, 1 - 0.9 * min(1, self.share()))

    def row(self, seen: FloatArray) -> Row | None:
        """A look at the validation, where one is due."""
        if self.updates % self.settings.validate_every and not self.done:
            return None
        weights = self.learner.network.weights()
        value, best = self.evaluate(weights), self.curve[-1].best
        if value < best:
            self._best = vector_of(weights)
        return Row(self.updates, 0.0, float(seen.mean()), value, min(value, best))

    def arrays(self) -> Arrays:
        """The network with its optimiser, and the best weights so far."""
        return {"best": self._best, **self.learner.arrays()}

    def facts(self) -> dict[str, Any]:
        """What the network began with, and what it made of the validation then."""
        return {"start": self.start, "unit": self._unit}

    def load(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Take over a state."""
        self.start, self._unit, self._best = facts["start"], facts["unit"], arrays["best"]
        self._new_learner()
        self.learner.load(arrays)

    def evaluate(self, weights: KernelWeights) -> float:
        """Mean bounded slowdown of the validation under the likeliest picks."""
        return float(np.mean([greedy(weights, each, self.settings.slots, 0.0) for each in self._watched]))

    def checkpoint(self, name: str, trained_on: str, command: str, classes: Sequence[str] = ()) -> Checkpoint:
        """Choose what the decision maker asks, write the best weights with their card, and give both.

        ``classes`` are those of the workflows that it was trained on; none for a trace.
        """
        s, weights = self.settings, kernel_weights(self._best)
        choice = choose(weights, s.slots, self.validation)
        return save_in(
            self.folder,
            name,
            weights._asdict(),
            "mars",
            SCHEMA,
            network=NETWORK,
            cluster={"nodes": self.part.cluster.num_nodes},
            settings={"learner": s.learner, "slots": s.slots, **choice.settings}
            | ({"classes": list(classes)} if classes else {}),
            trained_on=trained_on,
            validated_on=f"{len(self.validation)} sequences of {s.validation_length} jobs of the same part",
            command=command,
            seed=s.seed,
            decisions=self.updates * s.batch * s.length,
            seconds=round(self.seconds, 1),
            scores={
                "bounded_slowdown": choice.best,
                "learned_alone": choice.learned,
                "before_training": self.curve[0].best,
            },
            rules={rule: {"bounded_slowdown": value} for rule, value in choice.rules.items()},
        )

    def _begin(self) -> None:
        """Begin with the linear score that does best on the validation."""
        began = self.clock()
        values = {
            start: self.evaluate(first_weights(stream(self.settings.seed, "mars weights"), start)) for start in STARTS
        }
        self.start = min(values, key=values.__getitem__)
        self._unit = values[self.start]
        self._best = vector_of(self._new_learner())
        self.seconds = self.clock() - began
        self.add(Row(0, 0.0, self._unit, self._unit, self._unit))

    def _new_learner(self) -> KernelWeights:
        """A network that has learnt nothing, and its first weights."""
        first = first_weights(stream(self.settings.seed, "mars weights"), self.start)
        first.out[:] *= np.float32(_SHARPNESS)
        self.learner = Learner(MarsNetwork(first, stream(self.settings.seed, "mars critic")), self.settings)
        return first

    def _take(self, begin: int, length: int) -> Workload:
        return self.part.take(slice(begin, begin + length))
