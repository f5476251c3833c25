"""Random streams: an integer seed goes in, generators go down as arguments."""

from __future__ import annotations

from zlib import crc32

import numpy as np


def stream(seed: int, *parts: str | int) -> np.random.Generator:
    """The random stream of a named part of a run: same seed and parts, same numbers in any process.

    Parameters
    ----------
    seed : the user's seed, >= 0.
    parts : what the stream is for, such as ``("sa", 3)`` for the solver's third repetition.
    """
    key = [crc32(part.encode()) if isinstance(part, str) else part for part in parts]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(key)))
