"""Every error that a user of Transom can cause, under one base class.

The command line prints such an error as one line and exits with status 2; anything else that
escapes is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

from typing import Any

_SHOWN = 40  # characters of a value in a message


class TransomError(ValueError):
    """Base of all errors that come from input, not from a fault in Transom."""


class ModelError(TransomError):
    """A job, cluster, window or problem breaks a condition of its type."""


class TraceError(TransomError):
    """A workload trace cannot be read; the message names file, line and condition."""


class DocumentError(TransomError):
    """One of Transom's own files (JSON document, Parquet) cannot be read or does not fit."""


class StoreError(TransomError):
    """A store of the bench is in use by another process, cannot be written, or is none."""


class SpecError(TransomError):
    """A name or parameter of a solver, policy, objective or rule is unknown or out of range."""


class StopError(TransomError):
    """A stopping criterion is out of range."""


class UnsupportedError(TransomError):
    """A solver says that it cannot take this problem; the message carries its reason."""


class SlurmError(TransomError):
    """A Slurm does not answer, refuses, or tells what cannot be understood."""


class SlurmBusyError(SlurmError):
    """A Slurm does not answer, or says that it is too busy: whether it did what it was asked is not known."""


class PeerError(TransomError):
    """Another program at the end of a connection sends what its protocol does not allow, or hangs up."""


class PolicyError(TransomError):
    """A policy took a decision that the cluster cannot carry out."""


def shown(value: Any) -> str:
    """A value for a message: its type, and itself if that is short."""
    text = repr(value)
    if value is None or len(text) > _SHOWN or "\n" in text:
        return "None" if value is None else type(value).__name__
    return text if isinstance(value, (int, float, bool)) else f"{type(value).__name__} {text}"
