"""Training of MARS in a folder from which it resumes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transom.errors import DocumentError, SpecError
from transom.learned.checkpoints import Checkpoint, make_card, save
from transom.learned.kernel.cards import NETWORK
from transom.learned.kernel.scoring import KernelWeights
from transom.learned.kernel.weights import STARTS, first_weights, kernel_weights, vector_of
from transom.learned.mars.cards import SCHEMA
from transom.learned.mars.choosing import choose, slowdowns
from transom.learned.mars.learners import Learner
from transom.learned.mars.network import MarsNetwork
from transom.learned.mars.process import sequence_of
from transom.learned.mars.rollouts import greedy
from transom.learned.mars.settings import MarsTraining
from transom.learned.training.share import share_done
from transom.learned.training.state import STATE, Arrays, check_settings, read_state, write_progress
from transom.models.arrays import IntArray
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


class MarsTrainer:
    """A training that lives in a folder: ``training.safetensors`` (its state), ``curve.csv`` and the checkpoint.

    Parameters
    ----------
    settings : how to train.
    part : the jobs to train on, and nothing else.
    folder : a training of the same settings and jobs that stopped there goes on.
    minutes : stop after so much processor time of training [min]; None: never.

    Attributes
    ----------
    curve : a row for each look at the validation.

    Raises
    ------
    SpecError : there are too few jobs, or they ask for further resources.
    DocumentError : the folder holds a training of other settings or jobs, or what is there cannot be read.
    """

    def __init__(self, settings: MarsTraining, part: Workload, folder: Path, minutes: float | None = None) -> None:
        s = settings
        self.settings, self.part, self.folder, self._minutes = settings, part, folder, minutes
        self._all = sequence_of(part)
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
        self.curve: list[Row] = []
        self.updates, self.seconds = 0, 0.0
        self._state = folder / STATE
        found = read_state(self._state) if self._state.is_file() else None
        self.start, self._unit = self._first() if found is None else ("walltime", 1.0)
        first = first_weights(stream(s.seed, "mars weights"), self.start)
        first.out[:] *= np.float32(_SHARPNESS)
        self._best = vector_of(first)
        self.learner = Learner(MarsNetwork(first, stream(s.seed, "mars critic")), settings)
        if found is not None:
            self._restore(*found)

    @property
    def done(self) -> bool:
        """Whether all updates are made, or the time is over."""
        return self._share() >= 1

    def update(self) -> Row | None:
        """Make an update, and look at the validation where a look is due."""
        began, s = time.process_time(), self.settings
        rng = stream(s.seed, "mars training", self.updates)  # nothing of a generator has to be kept
        begins = rng.integers(0, len(self.part) - s.length + 1, s.batch).tolist()
        parts = [self._take(begin, s.length) for begin in begins]
        other = slowdowns(parts, f"{s.relative_to}-easy") if s.relative_to else None

        def reward(at: int, slowdown: float) -> float:
            return -slowdown / self._unit if other is None else 1 - slowdown / float(other[at])

        found = self.learner.update([sequence_of(each) for each in parts], reward, rng, 1 - 0.9 * min(1, self._share()))
        self.updates += 1
        self.seconds += time.process_time() - began
        if self.updates % s.validate_every and not self.done:
            return None
        began = time.process_time()
        weights = self.learner.network.weights()
        if not all(np.isfinite(array).all() for array in weights):
            raise SpecError("the weights are no longer finite; take a lower --learning-rate")
        value, best = self.evaluate(weights), self.curve[-1].best
        if value < best:
            self._best = vector_of(weights)
        self.seconds += time.process_time() - began
        self.curve.append(Row(self.updates, self.seconds, float(found.mean()), value, min(value, best)))
        return self.curve[-1]

    def evaluate(self, weights: KernelWeights) -> float:
        """Mean bounded slowdown of the validation under the likeliest picks."""
        return float(np.mean([greedy(weights, each, self.settings.slots, 0.0) for each in self._watched]))

    def save(self) -> None:
        """Write the state and the curve."""
        arrays = {"best": self._best, "jobs": self._jobs(), **self.learner.state()}
        progress = {"updates": self.updates, "seconds": self.seconds, "start": self.start, "unit": self._unit}
        write_progress(self.folder, self.settings, self.curve, Row, arrays, **progress)

    def checkpoint(self, name: str, trained_on: str, command: str, classes: Sequence[str] = ()) -> Checkpoint:
        """Choose what the decision maker asks, write the best weights with their card, and give both.

        ``classes`` are those of the workflows that it was trained on; none for a trace.
        """
        s, weights = self.settings, kernel_weights(self._best)
        choice = choose(weights, s.slots, self.validation)
        card = make_card(
            weights._asdict(),
            "mars",
            SCHEMA,
            name=name,
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
        made = Checkpoint(weights._asdict(), card)
        save(self.folder / f"{name}.safetensors", made)
        return made

    def _first(self) -> tuple[str, float]:
        """The linear score that does best on the validation, and how."""
        began = time.process_time()
        values = {
            start: self.evaluate(first_weights(stream(self.settings.seed, "mars weights"), start)) for start in STARTS
        }
        start = min(values, key=values.__getitem__)
        self.seconds = time.process_time() - began
        self.curve.append(Row(0, self.seconds, values[start], values[start], values[start]))
        return start, values[start]

    def _take(self, begin: int, length: int) -> Workload:
        return self.part.take(slice(begin, begin + length))

    def _jobs(self) -> IntArray:
        return self._all.jobs

    def _share(self) -> float:
        made = self.updates / self.settings.updates
        return share_done(made, self.seconds, self._minutes)

    def _restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        try:
            check_settings(self._state, facts["settings"], asdict(self.settings), "updates")
            if not np.array_equal(arrays["jobs"], self._jobs()):
                raise DocumentError(f"{self._state}: was begun on other jobs; take another folder to begin anew")
            self.learner.restore(arrays)
            self._best, self.updates, self.seconds = arrays["best"], facts["updates"], facts["seconds"]
            self.start, self._unit = facts["start"], facts["unit"]
            self.curve = [Row(*row) for row in facts["curve"]]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DocumentError(f"{self._state}: does not hold such a training: {str(error).splitlines()[0]}") from None
