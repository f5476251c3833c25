"""A training from update to update: what is written when, and what Ctrl-C does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from transom._system.signals import deferred_sigint


class Updated(Protocol):
    """A training that goes on by updates."""

    @property
    def done(self) -> bool:
        """Whether no update is left."""

    def update(self) -> Any:
        """Make one, and say what it did."""

    def save(self) -> None:
        """Write the state and the curve."""


def train(trainer: Updated, every: int = 20, report: Callable[[Any], None] = lambda _: None) -> None:
    """Go on until all updates are made; the state is written now and then, at the end and after Ctrl-C.

    Parameters
    ----------
    trainer : what goes on.
    every : updates between two writings of the state, > 0.
    report : called with what every update did.

    Raises
    ------
    KeyboardInterrupt : after the update in which Ctrl-C was pressed, of which nothing is lost; when it is pressed
        again, at once, and the state is the one that was written last.
    """
    with deferred_sigint() as pressed:
        made = 0
        while not trainer.done:
            report(trainer.update())
            made += 1
            if pressed or trainer.done or made % every == 0:
                trainer.save()
            if pressed:
                raise KeyboardInterrupt
