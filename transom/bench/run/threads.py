"""How many threads the libraries of a process may use."""

from __future__ import annotations

import os

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)
"""What libraries read when they are loaded, and child processes when they start."""


def thread_variables(threads: int) -> dict[str, str]:
    """The environment of a process whose libraries are to use so many threads.

    Solvers with threads of their own are limited through ``threads`` of :func:`~transom.solving.solve`.
    """
    return dict.fromkeys(VARIABLES, str(threads)) | {"NUMBA_NUM_THREADS": str(min(threads, os.cpu_count() or 1))}
