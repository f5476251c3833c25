"""A whole training in a folder: checkpoint, curve, logs, and the state that it goes on from."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transom.ctrl_c import ctrl_c_waits
from transom.errors import DocumentError
from transom.files import whole_file
from transom.learned.checkpoints import Checkpoint, save
from transom.learned.dras.training import VALIDATION, Training
from transom.learned.dras.training_state import load_state, save_state

Told = Callable[[Training], None]
"""Called after every update and every look at the validation workloads."""

_COLUMNS = ("updates", "decisions", "seconds", "reward", *VALIDATION, "best")


def run_training(
    training: Training,
    folder: Path,
    name: str,
    trained_on: str,
    command: str,
    minutes: float | None = None,
    told: Told | None = None,
) -> Checkpoint:
    """Train to the end, or go on with what an interrupted run left in the folder.

    Parameters
    ----------
    training : not begun yet.
    folder : gets ``NAME.safetensors`` and its card ``NAME.json``, ``curve.csv``, ``logs`` and ``state``.
    name, trained_on, command : for the card.
    minutes : end after so much time of training, if that comes first.
    told : see :data:`Told`.

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

    def share() -> float:
        done = training.decisions / training.settings.decisions if training.settings.decisions else 1.0
        return min(1.0, done if minutes is None else max(done, training.seconds / (60 * minutes)))

    def put_away() -> None:
        arrays, facts = training.snapshot()
        save_state(folder / "state", training.updates, arrays, {**facts, "curve": curve})

    def keep() -> None:
        save(folder / f"{name}.safetensors", training.checkpoint(name, trained_on, command))
        with whole_file(folder / "curve.csv") as file:
            csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *curve])

    # Half an update is no state to go on from: a first Ctrl-C waits until it is made, and nothing is lost.
    with SummaryWriter(str(folder / "logs"), purge_step=training.decisions + 1) as logs, ctrl_c_waits() as pressed:
        while True:
            over = share() >= 1
            due = over or training.updates % training.settings.every == 0
            if due and (not curve or curve[-1][0] != training.updates):
                found = training.validate()
                figures = [round(value, 3) for value in found.figures.values()]
                best = int(training.best_validation is found)
                row = [training.updates, training.decisions, round(training.seconds, 1), found.reward]
                curve.append([*row, *figures, best])
                for key, value in {"reward": found.reward, **found.figures}.items():
                    logs.add_scalar(f"validation/{key}", value, training.decisions)
                keep()
                put_away()
                if told is not None:
                    told(training)
            if over:
                return training.checkpoint(name, trained_on, command)
            if not pressed:
                for key, value in training.step(share()).items():
                    logs.add_scalar(f"training/{key}", value, training.decisions)
                if told is not None:
                    told(training)
            if pressed:
                put_away()
                raise KeyboardInterrupt
