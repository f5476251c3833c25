"""How much of a training is done, of its updates and of its time."""

from __future__ import annotations

_AHEAD = 0.1  # share by which the time has to be ahead of the updates before it counts


def share_done(made: float, seconds: float, minutes: float | None) -> float:
    """The share of a training that is done, at least 1 at its end; learning rates fall by it.

    The time counts where it will not suffice for the updates: once it is a tenth ahead of them, and at its end. A
    training whose limit is far away does the same on every machine.

    Parameters
    ----------
    made : share of the updates, >= 0.
    seconds : that the training took so far [s].
    minutes : that it may take [min], > 0; None: any number.
    """
    spent = 0.0 if minutes is None else seconds / (60 * minutes)
    return spent if spent >= 1 or spent > made + _AHEAD else made
