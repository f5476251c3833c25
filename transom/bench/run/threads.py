"""How many threads the libraries of a process may use."""

from __future__ import annotations

import os
import sys

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


def announce_threads(threads: int) -> None:
    """Set the variables, for libraries and child processes that are still to come."""
    os.environ.update(dict.fromkeys(VARIABLES, str(threads)))


def limit_threads(threads: int) -> None:
    """Fix the threads of all libraries that are loaded, and of those that are still to come.

    Solvers with threads of their own are limited through ``threads`` of :func:`~transom.solving.solve`.
    """
    from threadpoolctl import threadpool_limits

    announce_threads(threads)
    threadpool_limits(limits=threads)
    if "numba" in sys.modules:
        import numba

        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
