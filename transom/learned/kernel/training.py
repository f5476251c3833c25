"""Training by evolution strategies: weights move towards what scheduled whole sequences better.

In each generation, pairs of opposite random changes of all weights schedule the same sequences, taking the highest
score; the ranks of their mean bounded slowdowns weigh the changes, and Adam makes the step.

References
----------
Salimans et al., Evolution strategies as a scalable alternative to reinforcement learning, 2017.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from transom.errors import SpecError
from transom.learned.checkpoints import Checkpoint, make_card, save
from transom.learned.kernel.cards import NETWORK
from transom.learned.kernel.rollouts import bounded_slowdown
from transom.learned.kernel.scoring import SCHEMA, SLOTS
from transom.learned.kernel.weights import STARTS, first_weights, kernel_weights, vector_of
from transom.learned.training.share import share_done
from transom.learned.training.state import STATE, check_settings, read_state, write_progress
from transom.models.arrays import FloatArray, IntArray
from transom.rng import stream

TAU = 10  # bound of the bounded slowdown [s]
_APART = 8  # sequences of the validation begin a length / 8 or more from those that are kept apart


@dataclass(frozen=True, slots=True)
class KernelTraining:
    """Settings of a training.

    Parameters
    ----------
    backfill : ``easy``: jobs are backfilled while the picked one waits.
    generations : at most, > 0.
    pairs : opposite changes of the weights in a generation, > 0.
    batch : sequences that each of them schedules, > 0.
    length : jobs of a sequence, > 0.
    validation : other sequences that choose the checkpoint, > 0.
    validate_every : generations between two looks at them, > 0.
    sigma : standard deviation of the changes, > 0.
    learning_rate : of Adam at the beginning, > 0; it falls to a tenth.
    seed : >= 0.
    """

    backfill: str = "none"
    generations: int = 400
    pairs: int = 16
    batch: int = 12
    length: int = 1024
    validation: int = 100
    validate_every: int = 10
    sigma: float = 0.1
    learning_rate: float = 0.03
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("generations", "pairs", "batch", "length", "validation", "validate_every"):
            if getattr(self, name) <= 0:
                raise SpecError(f"--{name.replace('_', '-')} must be > 0, got {getattr(self, name)}")
        for name in ("sigma", "learning_rate"):
            if not 0 < getattr(self, name) < 10:
                raise SpecError(f"--{name.replace('_', '-')} must be > 0 and < 10, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Generation:
    """A row of the learning curve: processor time [s], means over sequences, and the best validation so far."""

    generations: int
    seconds: float
    training: float
    validation: float
    best: float


class KernelTrainer:
    """A training that lives in a folder: ``training.safetensors`` (its state), ``curve.csv`` and the checkpoint.

    Parameters
    ----------
    settings : how to train.
    jobs : by arrival, the columns of :attr:`~transom.simulation.locked.process.LockedState.jobs`.
    nodes : of the machine.
    apart : beginnings of sequences near which none of the validation begins.
    folder : a training of the same settings that stopped there goes on.
    minutes : stop after so much processor time of training [min]; None: never.

    Attributes
    ----------
    curve : a row for each look at the validation.

    Raises
    ------
    SpecError : there are too few jobs.
    DocumentError : the folder holds a training of other settings or jobs, or what is there cannot be read.
    """

    def __init__(
        self,
        settings: KernelTraining,
        jobs: IntArray,
        nodes: int,
        apart: Sequence[int],
        folder: Path,
        minutes: float | None = None,
    ) -> None:
        s = settings
        self.settings, self.folder, self.nodes = settings, folder, nodes
        self._jobs, self._minutes = jobs, minutes
        self.begins = len(jobs) - s.length
        near = np.array(apart, np.int64).reshape(-1, 1)
        free = np.arange(max(self.begins, 0))
        free = free[(np.abs(free - near) * _APART >= s.length).all(axis=0)]
        if len(free) < s.validation:
            raise SpecError(f"sequences of {s.length}: {s.validation} to validate on need more than {len(jobs)} jobs")
        self._validation = stream(s.seed, "kernel validation").choice(free, s.validation, replace=False)
        self.curve: list[Generation] = []
        self.updates, self.seconds = 0, 0.0
        self._state = folder / STATE
        if self._state.is_file():
            self._restore()
            return
        began = time.process_time()
        starts = [vector_of(first_weights(stream(s.seed, "kernel weights"), start)) for start in STARTS]
        values = [self.evaluate(each, self._validation) for each in starts]
        self.start = list(STARTS)[int(np.argmin(values))]
        self._weights = self._best = starts[int(np.argmin(values))]
        self._moments = np.zeros((2, len(self._weights)))
        self.seconds = time.process_time() - began
        self.curve.append(Generation(0, self.seconds, min(values), min(values), min(values)))

    @property
    def done(self) -> bool:
        """Whether all generations are made, or the time is over."""
        return self._share() >= 1

    @property
    def jobs_scheduled(self) -> int:
        """Jobs of the sequences that were scheduled to learn from."""
        s = self.settings
        return self.updates * s.pairs * 2 * s.batch * s.length

    def update(self) -> Generation | None:
        """Make a generation, and look at the validation where a look is due."""
        began, s = time.process_time(), self.settings
        rng = stream(s.seed, "kernel training", self.updates)  # nothing of a generator has to be kept
        starts = rng.integers(0, self.begins, s.batch)
        changes = rng.normal(size=(s.pairs, len(self._weights))) * s.sigma
        values = np.array(
            [[self.evaluate(self._weights + sign * each, starts) for sign in (1, -1)] for each in changes]
        )
        ranked = np.empty(values.size)
        ranked[np.argsort(values, axis=None, kind="stable")] = np.linspace(-0.5, 0.5, values.size)
        ranks = ranked.reshape(values.shape)
        gradient = (ranks[:, 0] - ranks[:, 1]) @ changes / (2 * s.pairs * s.sigma)
        rate = s.learning_rate * (1 - 0.9 * min(1.0, self._share()))
        self.updates += 1
        first, second = self._moments
        self._moments = np.stack((0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2))
        mean, square = self._moments[0] / (1 - 0.9**self.updates), self._moments[1] / (1 - 0.99**self.updates)
        self._weights = self._weights - rate * mean / (np.sqrt(square) + 1e-8)
        self.seconds += time.process_time() - began
        if self.updates % s.validate_every and not self.done:
            return None
        began = time.process_time()
        found, best = self.evaluate(self._weights, self._validation), self.curve[-1].best
        if found < best:
            self._best = self._weights
        self.seconds += time.process_time() - began
        row = Generation(self.updates, self.seconds, float(values.mean()), found, min(found, best))
        self.curve.append(row)
        return row

    def evaluate(self, vector: FloatArray, starts: IntArray) -> float:
        """Mean over sequences of the mean bounded slowdown."""
        weights, s = kernel_weights(vector), self.settings
        parts = (self._jobs[start : start + s.length].copy() for start in starts)
        return float(
            np.mean([bounded_slowdown(weights, part, self.nodes, s.backfill == "easy", TAU) for part in parts])
        )

    def save(self) -> None:
        """Write the state and the curve."""
        arrays = {"weights": self._weights, "best": self._best, "moments": self._moments, "jobs": self._jobs}
        progress = {"generation": self.updates, "seconds": self.seconds, "start": self.start}
        write_progress(self.folder, self.settings, self.curve, Generation, arrays, **progress)

    def checkpoint(self, name: str, trained_on: str, command: str) -> Checkpoint:
        """Write the best weights on the validation with their card, and give both."""
        weights, s = kernel_weights(self._best)._asdict(), self.settings
        card = make_card(
            weights,
            "kernel",
            SCHEMA,
            name=name,
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
        made = Checkpoint(weights, card)
        save(self.folder / f"{name}.safetensors", made)
        return made

    def _share(self) -> float:
        made = self.updates / self.settings.generations
        return share_done(made, self.seconds, self._minutes)

    def _restore(self) -> None:
        from transom.errors import DocumentError

        arrays, facts = read_state(self._state)
        try:
            check_settings(self._state, facts["settings"], asdict(self.settings), "generations")
            if not np.array_equal(arrays["jobs"][:, :4], self._jobs[:, :4]):
                raise DocumentError(f"{self._state}: was begun on other jobs; take another folder to begin anew")
            self._weights, self._best, self._moments = arrays["weights"], arrays["best"], arrays["moments"]
            self.updates, self.seconds, self.start = facts["generation"], facts["seconds"], facts["start"]
            self.curve = [Generation(*row) for row in facts["curve"]]
        except (KeyError, TypeError) as error:
            raise DocumentError(f"{self._state}: does not hold such a training: {error}") from None
