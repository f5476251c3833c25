"""A training that lives in a folder: its state, its curve, its clock, Ctrl-C. What is learnt are hooks."""

from __future__ import annotations

import csv
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from transom._system.files import atomic_write
from transom._system.signals import deferred_sigint
from transom.errors import DocumentError, SpecError
from transom.learned.training.state import STATE, Arrays, read_state, write_state

_AHEAD = 0.1  # share by which the time has to be ahead of the updates before it counts


class Trainer(ABC):
    """A training that can be stopped after any update and goes on with the same result.

    A subclass prepares itself, then calls :meth:`resume`. An update is a :meth:`step`, then perhaps a :meth:`row` of
    the learning curve; :meth:`arrays`, :meth:`facts` and :meth:`load` are its state. The numbers of an update are drawn
    from a stream of its own (by seed and :attr:`updates`), so that no generator has to be kept.

    Parameters
    ----------
    settings : a dataclass; how is trained.
    folder : gets ``training.safetensors`` (the state), ``curve.csv`` and perhaps ``tensorboard/``.
    subject : digest of what is trained on.
    minutes : end after so much time of training [min], if that comes first; None: never.

    Attributes
    ----------
    curve : the rows so far.
    updates, seconds : how many were made, and how long they took over all starts [s].

    Raises
    ------
    SpecError : the time is not > 0.
    """

    columns: ClassVar[type]
    """The dataclass of a row of the curve; its field ``seconds`` is filled in here."""

    length: ClassVar[str] = "updates"
    """The setting that says how many updates there are."""

    extends: ClassVar[tuple[str, ...]] = ()
    """Settings that may change when a training goes on."""

    board: ClassVar[str] = ""
    """What rows are called in logs for TensorBoard; there are none if empty."""

    processor_time: ClassVar[bool] = False
    """Whether :attr:`seconds` are processor time."""

    def __init__(self, settings: Any, folder: Path, subject: str = "", minutes: float | None = None) -> None:
        if minutes is not None and not minutes > 0:
            raise SpecError(f"minutes must be > 0, got {minutes:g}")
        self.settings, self.folder, self.subject, self.minutes = settings, folder, subject, minutes
        self.curve: list[Any] = []
        self.updates, self.seconds = 0, 0.0
        self._state = folder / STATE
        self._log: Any = None

    @abstractmethod
    def step(self) -> Any:
        """Make an update, and say what :meth:`row` is to know of it."""

    @abstractmethod
    def row(self, seen: Any) -> Any | None:
        """The row of the curve after an update, None where none is due."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """All arrays that the next update depends on; the names of weights begin with ``weights``."""

    def facts(self) -> dict[str, Any]:
        """The plain values that it depends on beside them."""
        return {}

    @abstractmethod
    def load(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Take over what :meth:`arrays` and :meth:`facts` gave."""

    def clock(self) -> float:
        """The time [s]."""
        return time.process_time() if self.processor_time else time.perf_counter()

    def made(self) -> float:
        """The share of the updates that is made."""
        return self.updates / float(getattr(self.settings, self.length))

    def share(self) -> float:
        """The share of the training that is done, at least 1 at its end; learning rates fall by it.

        The time counts where it will not suffice for the updates: once it is a tenth ahead of them, and at its end. A
        training whose limit is far away does the same on every machine.
        """
        made = self.made()
        spent = 0.0 if self.minutes is None else self.seconds / (60 * self.minutes)
        return spent if spent >= 1 or spent > made + _AHEAD else made

    @property
    def done(self) -> bool:
        """Whether no update is left."""
        return self.share() >= 1

    def update(self) -> Any | None:
        """Make an update; the row of the curve, None where none was due.

        Raises
        ------
        SpecError : the weights are no longer finite.
        """
        began = self.clock()
        seen = self.step()
        self.updates += 1
        weights = [array for name, array in self.arrays().items() if name.startswith("weights")]
        if not all(np.isfinite(each).all() for each in weights):
            raise SpecError(f"after update {self.updates} weights are not finite; take a lower learning rate")
        self.seconds += self.clock() - began
        began = self.clock()
        row = self.row(seen)
        self.seconds += self.clock() - began
        return None if row is None else self.add(row)

    def add(self, row: Any) -> Any:
        """Append a row to the curve."""
        self.curve.append(replace(row, seconds=self.seconds))
        for name, value in asdict(self.curve[-1]).items():
            if self.board and isinstance(value, (int, float)):
                self._logs().add_scalar(f"{self.board}/{name}", value, self.place())
        return self.curve[-1]

    def place(self) -> int:
        """Where the training stands on the axis of the logs."""
        return self.updates

    def save(self) -> None:
        """Write the state and the curve."""
        rows = [list(asdict(each).values()) for each in self.curve]
        own = {"settings": asdict(self.settings), "subject": self.subject, "updates": self.updates}
        write_state(self._state, self.arrays(), {**own, "seconds": self.seconds, "curve": rows, **self.facts()})
        with atomic_write(self.folder / "curve.csv") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([field.name for field in fields(self.columns)])
            writer.writerows([f"{x:.8g}" if isinstance(x, float) else x for x in each] for each in rows)

    def close(self) -> None:
        """Close the logs; they are opened again when something is written."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def resume(self) -> bool:
        """Go on with what stopped in the folder; whether there was something.

        Raises
        ------
        DocumentError : that is of other settings or of something else, or cannot be read.
        """
        if not self._state.is_file():
            return False
        arrays, facts = read_state(self._state)
        try:
            self._check(facts["settings"])
            if facts["subject"] != self.subject:
                raise DocumentError(f"{self._state}: was begun on other jobs or machines; take another folder")
            self.updates, self.seconds = int(facts["updates"]), float(facts["seconds"])
            self.curve = [self.columns(*row) for row in facts["curve"]]
            self.load(arrays, facts)
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise DocumentError(f"{self._state}: does not hold such a training: {why}; take another folder") from None
        return True

    def _check(self, begun: dict[str, Any]) -> None:
        for name, value in asdict(self.settings).items():
            now = list(value) if isinstance(value, tuple) else value  # a sequence comes out of the file as a list
            if name not in self.extends and (then := begun[name]) != now:
                why = f", and the learning rate fell to its least at that of {then}" if name == self.length else ""
                raise DocumentError(
                    f"{self._state}: was begun with {name} {then}, not {now}{why}; take {name} {then}, or another "
                    "folder to begin anew"
                )

    def _logs(self) -> Any:
        if self._log is None:
            from torch.utils.tensorboard import SummaryWriter

            self._log = SummaryWriter(str(self.folder / "tensorboard"), purge_step=self.place())
        return self._log


def train(trainer: Trainer, every: int = 20, report: Callable[[Any], None] = lambda _: None) -> None:
    """Go on until all updates are made; the state is written now and then, at the end and after Ctrl-C.

    Parameters
    ----------
    trainer : what goes on.
    every : updates between two writings of the state, > 0.
    report : called after every update with its row of the curve, None where it has none.

    Raises
    ------
    KeyboardInterrupt : after the update in which Ctrl-C was pressed, of which nothing is lost; when it is pressed
        again, at once, and the state is the one that was written last.
    """
    with closing(trainer), deferred_sigint() as pressed:
        made = 0
        while not trainer.done:
            report(trainer.update())
            made += 1
            if pressed or trainer.done or made % every == 0:
                trainer.save()
            if pressed:
                raise KeyboardInterrupt
