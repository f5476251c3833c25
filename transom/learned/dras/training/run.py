"""A whole training in a folder: checkpoint, curve, logs, and the state that it goes on from."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from transom._system.files import atomic_write
from transom.errors import DocumentError
from transom.learned.checkpoints import Checkpoint, save
from transom.learned.dras.training.training import Training
from transom.learned.dras.training.validation import FIGURES, Validation
from transom.learned.training.loop import train
from transom.learned.training.share import share_done
from transom.learned.training.state import STATE, read_state, write_state

Report = Callable[[Training], None]
"""Called after every update and every look at the validation workloads."""

Looked = Callable[[Training, Validation], None]
"""Called after every look at the validation workloads, with what was seen."""

_COLUMNS = ("updates", "decisions", "seconds", "reward", *FIGURES, "best", "behind")


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
    with closing(_Run(training, folder, stated, minutes)) as run:
        training.judge.compare_with(against, replaying)

        def print_row(found: Validation | None) -> None:
            report(training)
            if found is not None:
                looked(training, found)

        train(run, sys.maxsize, print_row)  # the state is written with every look
        run.keep()
    return training.checkpoint(*stated)


class _Run:
    """A training whose updates are a step of learning, or a look at the validation workloads where one is due."""

    def __init__(self, training: Training, folder: Path, stated: Stated, minutes: float | None) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._training, self._folder, self._stated, self._minutes = training, folder, stated, minutes
        self._curve: list[list[Any]] = []
        if (folder / STATE).is_file():
            arrays, facts = read_state(folder / STATE)
            try:
                training.restore(arrays, facts)
                self._curve = facts["curve"]
            except DocumentError as error:
                raise DocumentError(f"{folder}: {error}") from None
            except (KeyError, TypeError, ValueError) as error:
                raise DocumentError(f"{folder / STATE}: does not hold such a training: {error}") from None
        self._logs = SummaryWriter(str(folder / "tensorboard"), purge_step=training.decisions + 1)

        self.done = self._share() >= 1 and not self._due()

    def update(self) -> Validation | None:
        training = self._training
        if not self._due():
            for key, value in training.step(self._share()).items():
                self._logs.add_scalar(f"training/{key}", value, training.decisions)
            return None
        self.done = self._share() >= 1  # now: the look itself takes time, and is not what a training is for
        found = training.validate()
        best, ahead = int(training.best_validation is found), " ".join(training.judge.ahead_of(found))
        row = [training.updates, training.decisions, round(training.seconds, 1), found.reward]
        self._curve.append([*row, *(round(value, 3) for value in found.figures.values()), best, ahead])
        for key, figure in {"reward": found.reward, **found.figures}.items():
            self._logs.add_scalar(f"validation/{key}", figure, training.decisions)
        self.keep()
        self.save()
        return found

    def save(self) -> None:
        arrays, facts = self._training.snapshot()
        write_state(self._folder / STATE, arrays, {**facts, "curve": self._curve})

    def keep(self) -> None:
        """Write the checkpoint and the curve."""
        save(self._folder / f"{self._stated.name}.safetensors", self._training.checkpoint(*self._stated))
        with atomic_write(self._folder / "curve.csv") as file:
            csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *self._curve])

    def close(self) -> None:
        self._logs.close()

    def _due(self) -> bool:
        """Whether the validation workloads are to be looked at before anything else is learnt."""
        training = self._training
        due = self._share() >= 1 or training.updates % training.settings.validate_every == 0
        return due and (not self._curve or self._curve[-1][0] != training.updates)

    def _share(self) -> float:
        training = self._training
        done = training.decisions / training.settings.decisions if training.settings.decisions else 1.0
        return min(1.0, share_done(done, training.seconds, self._minutes))
