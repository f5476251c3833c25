"""A whole training in a folder: checkpoint, curve, logs, and the state that it goes on from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from transom.learned.checkpoints import Checkpoint, save
from transom.learned.dras.training.learner import Figures
from transom.learned.dras.training.training import Training
from transom.learned.dras.training.validation import Validation
from transom.learned.training.state import Arrays
from transom.learned.training.trainer import Trainer, train

Report = Callable[[Training], None]
"""Called after every update and every look at the validation workloads."""

Looked = Callable[[Training, Validation], None]
"""Called after every look at the validation workloads, with what was seen."""


class Stated(NamedTuple):
    """What the card says of a training, in words."""

    name: str
    trained_on: str = ""
    validated_on: str = ""
    command: str = ""


def run_training(
    training: Training,
    folder: Path,
    stated: Stated,
    minutes: float | None = None,
    report: Report = lambda training: None,
    looked: Looked = lambda training, found: None,
    against: Sequence[str] = (),
    replaying: Callable[[str], None] = lambda spec: None,
) -> Checkpoint:
    """Train to the end, or go on with what an interrupted run left in the folder.

    Parameters
    ----------
    training : not begun yet.
    folder : gets ``NAME.safetensors`` and its card ``NAME.json``, ``curve.csv``, ``tensorboard`` and the state.
    stated : for the card.
    minutes : end after so much time of training, if that comes first.
    report, looked : see :data:`Report` and :data:`Looked`.
    against : policies that snapshots are compared with (:data:`~transom.learned.dras.training.validation.AGAINST`).
    replaying : called with each of them before it is replayed.

    Raises
    ------
    DocumentError : the folder holds another training.
    KeyboardInterrupt : as of :func:`~transom.learned.training.loop.train`.
    """
    run = _Run(training, folder, stated, minutes)
    training.judge.compare_with(against, replaying)
    if not run.resume():
        run.begin(looked)

    def print_row(row: Row | None) -> None:
        report(training)
        if row is not None:
            looked(training, run.found)

    train(run, sys.maxsize, print_row)  # the state is written with every look
    run.keep()
    return training.checkpoint(*stated)


@dataclass(frozen=True, slots=True)
class Row:
    """A look at the validation workloads: a row of the curve."""

    updates: int
    decisions: int
    seconds: float
    reward: float | None
    mean_wait: float
    mean_bounded_slowdown: float
    max_wait: float
    best: int
    behind: str


class _Run(Trainer):
    """A training of an agent in its folder: steps of learning, and looks at the validation workloads."""

    columns, length, extends, board = Row, "decisions", ("decisions", "validate_every"), "validation"

    def __init__(self, training: Training, folder: Path, stated: Stated, minutes: float | None) -> None:
        super().__init__(training.settings, folder, training.digest(), minutes)
        self._training, self._stated = training, stated
        self.found: Validation

    def made(self) -> float:
        """See :class:`Trainer`; a training of no decisions only looks at its first weights."""
        return self._training.decisions / self.settings.decisions if self.settings.decisions else 1.0

    def place(self) -> int:
        """Logs count decisions."""
        return self._training.decisions

    def begin(self, looked: Looked) -> None:
        """Look at the first weights; this does not count as time of training."""
        self.add(self._look())
        looked(self._training, self.found)

    def step(self) -> Figures:
        """Record decisions and learn from them."""
        return self._training.step(min(1.0, self.share()))

    def row(self, seen: Figures) -> Row | None:
        """A look, where one is due."""
        for key, value in seen.items():
            self._logs().add_scalar(f"training/{key}", value, self.place())
        if self.updates % self.settings.validate_every and not self.done:
            return None
        return self._look()

    def add(self, row: Row) -> Row:
        """Append a row, and write what there is."""
        added: Row = super().add(row)
        self.keep()
        self.save()
        return added

    def arrays(self) -> Arrays:
        """See :class:`Trainer`."""
        return self._training.snapshot()[0]

    def facts(self) -> dict[str, Any]:
        """See :class:`Trainer`."""
        return self._training.snapshot()[1]

    def load(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """See :class:`Trainer`."""
        self._training.restore(arrays, facts)

    def keep(self) -> None:
        """Write the checkpoint."""
        save(self.folder / f"{self._stated.name}.safetensors", self._training.checkpoint(*self._stated))

    def _look(self) -> Row:
        training = self._training
        self.found = found = training.validate()
        best, behind = int(training.best_validation is found), " ".join(training.judge.ahead_of(found))
        figures = {name: round(value, 3) for name, value in found.figures.items()}
        return Row(
            updates=training.updates,
            decisions=training.decisions,
            seconds=0.0,
            reward=found.reward,
            best=best,
            behind=behind,
            **figures,
        )
