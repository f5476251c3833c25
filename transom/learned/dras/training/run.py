"""A whole training in a folder: checkpoint, curve, logs, and the state that it goes on from."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transom._system.files import whole_file
from transom._system.signals import ctrl_c_waits
from transom.errors import DocumentError
from transom.learned.checkpoints import Checkpoint, save
from transom.learned.dras.training.state import load_state, save_state
from transom.learned.dras.training.training import Training
from transom.learned.dras.training.validation import FIGURES, Validation

Told = Callable[[Training], None]
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
    told: Told | None = None,
    looked: Looked | None = None,
    against: Sequence[str] = (),
    replaying: Callable[[str], None] = lambda spec: None,
) -> Checkpoint:
    """Train to the end, or go on with what an interrupted run left in the folder.

    Parameters
    ----------
    training : not begun yet.
    folder : gets ``NAME.safetensors`` and its card ``NAME.json``, ``curve.csv``, ``tensorboard`` and ``state``.
    stated : for the card.
    minutes : end after so much time of training, if that comes first.
    told, looked : see :data:`Told` and :data:`Looked`.
    against : policies that snapshots are compared with (:data:`~transom.learned.dras.training.validation.AGAINST`).
    replaying : called with each of them before it is replayed.

    Raises
    ------
    DocumentError : the folder holds another training.
    KeyboardInterrupt : after the update in which Ctrl-C was pressed, of which nothing is lost; when it is pressed
        again, at once, and the state is the one that was written last.
    """
    from torch.utils.tensorboard import SummaryWriter

    curve: list[list[Any]] = []
    if (kept := load_state(folder / "state")) is not None:
        arrays, facts = kept
        try:
            training.restore(arrays, facts)
        except DocumentError as error:
            raise DocumentError(f"{folder}: {error}") from None
        curve = facts["curve"]

    training.judge.compare_with(against, replaying)

    def share() -> float:
        done = training.decisions / training.settings.decisions if training.settings.decisions else 1.0
        return min(1.0, done if minutes is None else max(done, training.seconds / (60 * minutes)))

    def put_away() -> None:
        arrays, facts = training.snapshot()
        save_state(folder / "state", training.updates, arrays, {**facts, "curve": curve})

    def keep() -> None:
        save(folder / f"{stated.name}.safetensors", training.checkpoint(*stated))
        with whole_file(folder / "curve.csv") as file:
            csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *curve])

    # Half an update is no state to go on from: a first Ctrl-C waits until it is made, and nothing is lost.
    with (
        SummaryWriter(str(folder / "tensorboard"), purge_step=training.decisions + 1) as logs,
        ctrl_c_waits() as pressed,
    ):
        while True:
            over = share() >= 1
            due = over or training.updates % training.settings.validate_every == 0
            if due and (not curve or curve[-1][0] != training.updates):
                found = training.validate()
                figures = [round(value, 3) for value in found.figures.values()]
                best = int(training.best_validation is found)
                row = [training.updates, training.decisions, round(training.seconds, 1), found.reward]
                curve.append([*row, *figures, best, " ".join(training.judge.ahead_of(found))])
                for key, value in {"reward": found.reward, **found.figures}.items():
                    logs.add_scalar(f"validation/{key}", value, training.decisions)
                keep()
                put_away()
                if told is not None:
                    told(training)
                if looked is not None:
                    looked(training, found)
            if over:
                keep()
                return training.checkpoint(*stated)
            if not pressed:
                for key, value in training.step(share()).items():
                    logs.add_scalar(f"training/{key}", value, training.decisions)
                if told is not None:
                    told(training)
            if pressed:
                put_away()
                raise KeyboardInterrupt
