r"""What a job of a window is worth: the values of the knapsack, named and registered.

An objective maps a window to one value per queued job; a selection is worth the sum of its
jobs' values. Values are integers, or floats that the knapsack scales once (:data:`SCALE`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from transom.errors import ModelError, SpecError
from transom.models.window import Window

SCALE = 1_000_000
"""By how much real-valued objectives are multiplied before they are rounded to integers."""


class Objective(Protocol):
    """Anything that maps a window to one value per queued job, shape ``(queued jobs,)``."""

    def __call__(self, window: Window, /) -> NDArray[np.int64] | NDArray[np.float64]: ...


@dataclass(frozen=True, slots=True)
class UsedNodes:
    r"""Used nodes: :math:`v_j = n_j`."""

    def __call__(self, window: Window, /) -> NDArray[np.int64]:
        return window.queue.nodes


@dataclass(frozen=True, slots=True)
class WaitingNodes:
    r"""Used nodes weighted by waiting time: :math:`v_j = n_j (w_j + 1)` in node-seconds.

    The second that is added keeps a job that was submitted this instant from being worth nothing.

    Raises
    ------
    ModelError : the values do not fit into 62 bits.
    """

    def __call__(self, window: Window, /) -> NDArray[np.int64]:
        if np.multiply(window.queue.nodes, window.wait + 1, dtype=float).sum() >= 2.0**62:
            raise ModelError("wait: the node-seconds waited do not fit into 62 bits")
        return window.queue.nodes * (window.wait + 1)


@dataclass(frozen=True, slots=True)
class Waited:
    r"""Waiting time: :math:`v_j = w_j + 1` in seconds, so that a job counts that was submitted this instant."""

    def __call__(self, window: Window, /) -> NDArray[np.int64]:
        return window.wait + 1


@dataclass(frozen=True, slots=True)
class SitePriority:
    """The site's priority of a job; unknown and negative ones count as 0."""

    def __call__(self, window: Window, /) -> NDArray[np.int64]:
        return np.maximum(window.queue.priority, 0)


@dataclass(frozen=True, slots=True)
class DrasCapability:
    r"""The DRAS reward for capability computing, made additive per job.

    .. math:: v_j = w_1 \frac{t_j}{t_{\max}} + (w_2 + w_3) \frac{n_j}{N}

    with :math:`t_j` the waiting time, :math:`t_{\max}` the longest one in the queue (the term is 0
    where nobody has waited) and :math:`N` the nodes of the cluster. The paper's second and third
    term, mean size of the selected jobs and used nodes, both come down to :math:`n_j/N` per job.

    Parameters
    ----------
    w1, w2, w3 : weights, >= 0, by default 1/3 each as for Theta.

    References
    ----------
    Fan et al., DRAS, section III-A, eq. (1).
    """

    w1: float = 1 / 3
    w2: float = 1 / 3
    w3: float = 1 / 3

    def __post_init__(self) -> None:
        if not all(0 <= w < np.inf for w in (self.w1, self.w2, self.w3)):
            raise SpecError(f"dras-capability: weights must be finite and >= 0, got {self.w1}, {self.w2}, {self.w3}")

    def __call__(self, window: Window, /) -> NDArray[np.float64]:
        wait = window.wait
        longest = int(wait.max(initial=0))
        waited = self.w1 * wait / longest if longest else np.zeros(len(wait))
        return waited + (self.w2 + self.w3) * window.queue.nodes / window.cluster.num_nodes  # (eq. 1)


@dataclass(frozen=True, slots=True)
class DrasCapacity:
    r"""The DRAS reward for capacity computing, made additive per job: :math:`v_j = 1/t_j`.

    The paper sums :math:`-1/t_j` over the jobs left in the queue and does not say what
    :math:`t_j` is; it is taken as the walltime, here in hours, so that starting a job gains
    its :math:`1/t_j`.

    References
    ----------
    Fan et al., DRAS, section III-A, eq. (2).
    """

    def __call__(self, window: Window, /) -> NDArray[np.float64]:
        return 3600.0 / window.queue.walltime  # (eq. 2)
