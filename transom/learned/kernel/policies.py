"""The kernel policy in the simulator: a checkpoint picks job after job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from transom.learned.checkpoints import Card, load
from transom.learned.kernel.scoring import SLOTS, KernelWeights, VisibleJobs, best
from transom.learned.kernel.weights import first_weights, read_weights
from transom.models import Window
from transom.models.arrays import BoolArray
from transom.models.job import NODES, SUBMIT, WALLTIME
from transom.simulation.core.decision import Decision
from transom.simulation.passes.window_pass import pass_over, window_state


@dataclass(frozen=True)
class KernelPolicy:
    """Start the jobs that a network scores highest, one after the other; stop at the first that does not fit.

    Parameters
    ----------
    weights : of the network.
    backfilling : ``easy``: the job that does not fit gets a reservation, and others are backfilled around it.
    name, digest, card : of the checkpoint.
    """

    order: ClassVar[str] = "fcfs"

    weights: KernelWeights = field(repr=False, compare=False)
    backfilling: Literal["none", "easy"] = "none"
    name: str = "kernel"
    digest: str = ""
    card: Card | None = field(default=None, repr=False, compare=False)

    def pick(self, window: Window) -> int:
        """The id of the job that is to start next, whether it fits now or not."""
        shown = _visible(window)
        return int(window.queue.id[best(self.weights, shown)])

    def decide(self, window: Window, /) -> Decision:
        """Decide one instant."""
        order = self._order(window)
        return pass_over(window, self.backfilling, window_state(window, order))

    def _order(self, window: Window) -> list[int]:
        """Positions in the queue: those that are picked, the last of which may not fit, then the others."""
        shown, free = _visible(window), int(window.available[0])
        left, rows, ends = shown.queue, list(range(len(shown.queue))), shown.ends
        fits: BoolArray = np.asarray((window.queue.demand <= window.available[1:]).all(axis=1))
        picked: list[int] = []
        while rows:
            here = np.array([window.now, free, window.cluster.num_nodes], np.int64)
            row = int(best(self.weights, VisibleJobs(left, ends, here)))
            picked.append(rows.pop(row))
            _, walltime, nodes = left[row]
            if nodes > free or not fits[picked[-1]]:
                break
            free -= int(nodes)
            at = int(np.searchsorted(ends[:, 0], window.now + walltime, "right"))
            ends = np.insert(ends, at, (window.now + walltime, nodes), axis=0)
            left = np.ascontiguousarray(np.delete(left, row, axis=0))
        return picked + sorted(set(range(len(window.queue))) - set(picked))


def _visible(window: Window) -> VisibleJobs:
    """What the network sees of a window: the first jobs of its queue."""
    queue = np.ascontiguousarray(window.queue.data[:SLOTS][:, [SUBMIT, WALLTIME, NODES]])
    ends = np.column_stack((window.running_end, window.running.nodes)).astype(np.int64)
    at = np.array([window.now, window.available[0], window.cluster.num_nodes], np.int64)
    return VisibleJobs(queue, np.ascontiguousarray(ends), at)


def kernel(model: str = "", backfill: Literal["none", "easy"] = "none") -> KernelPolicy:
    """A network that ``transom train kernel`` trained picks one of the first 128 waiting jobs.

    Parameters
    ----------
    model : path of a ``.safetensors`` file; without it, the network is the one that trainings may begin with: short
        jobs first that need not wait long for their nodes.
    backfill : whether jobs are backfilled around a picked one that does not fit.

    Raises
    ------
    SpecError : there is no such checkpoint.
    DocumentError : the checkpoint cannot be read, or is of something else.

    References
    ----------
    Zhang et al., RLScheduler, SC'20, whose network is of this kind.
    """
    if not model:
        return KernelPolicy(first_weights(np.random.default_rng(0), "walltime and delay"), backfill)
    checkpoint = load(model, "kernel")
    card = checkpoint.card
    return KernelPolicy(read_weights(checkpoint.weights), backfill, card.name, card.weights, card)
