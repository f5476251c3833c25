"""Windows to train on, from streams of their own that no test epoch is drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np

from transom.errors import SpecError
from transom.generate.instances.tjap import StreamModel, solver_policy, stream_steps
from transom.learned.repair.process import Windows, scale_of
from transom.models import AUTHORS, PAPER, Allocation, FatTree, HopCost
from transom.rng import stream
from transom.simulation.policies.period import CODE_LIMIT

ClusterName = Literal["paper", "authors"]

CLUSTERS: dict[ClusterName, tuple[StreamModel, HopCost]] = {
    "paper": (StreamModel(), PAPER),
    "authors": (StreamModel(pod_nodes=40, window="code", most=CODE_LIMIT, one_node="lost"), AUTHORS),
}
"""Jobs, cluster and cost model: as Lan et al. (2023) say, and as in its authors' code, which made the tables."""


def stream_windows(
    model: StreamModel,
    cost: HopCost,
    seed: int,
    name: str,
    epochs: int = 100,
    periods: int = 100,
    policy: str = "scas-dp",
) -> list[Allocation]:
    """The windows that streams of jobs meet, under the rule of the policy.

    Parameters
    ----------
    name : epoch e comes from ``stream(seed, name, e)``.

    The others are those of :meth:`WindowPool.generate`.
    """
    place, rule = solver_policy(policy)
    problems = []
    for epoch in range(epochs):
        rng = stream(seed, name, epoch)
        problems += [step.problem for step in stream_steps(model, periods, rng, place, rule, True, cost)]
    return problems


@dataclass(frozen=True, slots=True)
class WindowPool:
    """Windows of one cluster, ready for the kernels.

    Parameters
    ----------
    windows : they themselves.
    tree : the cluster.
    cost : what hops cost.
    largest : nodes of the largest job that may come, which sizes are divided by in observations.
    """

    windows: Windows
    tree: FatTree
    cost: HopCost
    largest: int

    @classmethod
    def of(cls, problems: Sequence[Allocation], largest: int | None = None) -> WindowPool:
        """A pool of given windows; those without a job are left out.

        Parameters
        ----------
        problems : on one tree and with one cost model; the rule plays no part.
        largest : as in the class, by default that of these windows.

        Raises
        ------
        SpecError : there is no window with a job, one asks for more nodes than are idle, one has a job above
            ``largest``, or trees or cost models differ.
        """
        kept = [problem for problem in problems if len(problem)]
        if not kept:
            raise SpecError("repair: there is no window with a job to train on")
        tree, cost = kept[0].tree, kept[0].cost
        most = max(int(problem.sizes.max()) for problem in kept)
        for number, problem in enumerate(kept):
            if problem.tree != tree or problem.cost != cost:
                raise SpecError(f"repair: window {number} has another tree or cost model than window 0")
            if problem.trivial() is not None:
                raise SpecError(f"repair: window {number} asks for more nodes than are idle")
        if largest is not None and largest < most:
            raise SpecError(f"repair: a window has a job of {most} nodes, more than the largest of {largest}")
        windows = Windows(
            np.cumsum([0, *(len(problem.idle) for problem in kept)]),
            np.cumsum([0, *(len(problem) for problem in kept)]),
            np.concatenate([problem.leaf for problem in kept]),
            np.concatenate([problem.pod for problem in kept]),
            np.concatenate([problem.sizes for problem in kept]),
            cost.weights,
            scale_of(tree, largest or most),
        )
        return cls(windows, tree, cost, largest or most)

    @classmethod
    def generate(
        cls,
        model: StreamModel,
        cost: HopCost,
        seed: int,
        epochs: int = 100,
        periods: int = 100,
        policy: str = "scas-dp",
    ) -> WindowPool:
        """The windows that a stream of jobs meets.

        Epoch e of seed s comes from ``stream(s, "repair training", e)``; those that ``transom generate tjap`` writes
        come from ``stream(s, "tjap", e)``, so that no epoch of it is trained on, whatever the seeds.

        Parameters
        ----------
        model : the jobs and the cluster; ``CLUSTERS`` has those of the paper and of its authors' code. The code trains
            on windows of at most two jobs (``most=2``), here all of a window are taken.
        cost : what hops cost.
        seed : of the streams.
        epochs : how many streams from an empty cluster, > 0.
        periods : of an epoch, > 0.
        policy : solver that places the jobs, and so makes the idle nodes of later windows.

        Raises
        ------
        SpecError : no period has a window.
        """
        return cls.of(stream_windows(model, cost, seed, "repair training", epochs, periods, policy), model.sizes[1])

    def __len__(self) -> int:
        return len(self.windows.first_node) - 1

    def digest(self) -> str:
        """32 hexadecimal digits that depend on all of the windows."""
        state = blake2b(digest_size=16)
        for array in self.windows:
            state.update(str(array.shape).encode())
            state.update(np.ascontiguousarray(array).tobytes())
        return state.hexdigest()
