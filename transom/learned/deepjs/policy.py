"""DeepJS as a policy of replays of tasks on machines, from a checkpoint or untrained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transom.errors import SpecError
from transom.learned.checkpoints import Card, load, weights_digest
from transom.learned.deepjs.network import NETWORKS, Network, first_network, named, network_of, room
from transom.learned.deepjs.pairs import new_pairs, seen
from transom.learned.deepjs.rollouts import decide_all
from transom.rng import stream
from transom.simulation.placement.state import Arranged, State
from transom.traces.tasks.workload import TaskWorkload

Greedy = Literal["yes", "no", "card"]
"""Whether the pair with the highest score is taken, rather than one drawn by the softmax of the scores; ``card``:
whichever was better in training."""

UNTRAINED = "untrained"
RESOURCES = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """A network chooses pairs of task and machine, one instance after another, until none fits.

    Parameters
    ----------
    network : scores the pairs.
    greedy : take the pair with the highest score, the first of equal ones by machines; else draw.
    card : of the checkpoint.
    """

    network: Network
    greedy: bool
    card: Card | None = None

    @property
    def digest(self) -> str:
        """Of the weights, which decide beside what the specification says."""
        return weights_digest(named(self.network))

    def advance(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Callable[[State], bool]:
        """What goes on with a replay (:class:`~transom.simulation.placement.policies.TaskLoop`).

        Raises
        ------
        SpecError : the resources are not CPU and memory.
        """
        check_resources(workload)
        sight, pairs = seen(workload, arranged), new_pairs(len(workload), len(workload.machines))
        inputs, values = np.empty((pairs.place.size, 6), np.float32), room(self.network, pairs.place.size)
        draws = rng.random(0 if self.greedy else int(workload.instances.sum()))
        return lambda state: decide_all(state, self.network, sight, pairs, draws, inputs, values)


def check_resources(workload: TaskWorkload) -> None:
    """Refuse a workload whose resources the features of the network do not speak of.

    Raises
    ------
    SpecError : the resources are not CPU and memory.
    """
    if workload.resources != RESOURCES:
        raise SpecError(f"deepjs: decides by cpu and memory, and machines have {', '.join(workload.resources)}")


def deepjs(model: str = "deepjs", greedy: Greedy = "card", seed: int = 0, network: str = "code") -> NetworkPolicy:
    """A network that was trained by policy gradient scores every pair of a waiting task and a machine where it fits.

    Parameters
    ----------
    model : name of a shipped checkpoint, the path of a ``.safetensors`` file, or ``untrained``.
    greedy : ``yes``: the highest score; ``no``: drawn by the softmax of the scores; ``card``: what was better in
        training, for ``untrained`` drawn as in training.
    seed : of the weights of ``untrained``, >= 0: those that a training of this seed begins with.
    network : of ``untrained``, ``code`` or ``paper``.

    Raises
    ------
    SpecError : there is no such checkpoint or network, or the seed is negative.
    DocumentError : the checkpoint cannot be read, or is none of DeepJS.

    References
    ----------
    Li and Hu (2019), section 3.2.
    """
    if model == UNTRAINED:
        if network not in NETWORKS:
            raise SpecError(f"deepjs: network must be one of {', '.join(NETWORKS)}, got {network!r}")
        if seed < 0:
            raise SpecError(f"deepjs: seed must be >= 0, got {seed}")
        return NetworkPolicy(untrained(network, seed), greedy == "yes")
    if (seed, network) != (0, "code"):
        raise SpecError("deepjs: seed and network are about model=untrained")
    checkpoint = load(model, "deepjs")
    chosen = bool(checkpoint.card.settings["greedy"]) if greedy == "card" else greedy == "yes"
    return NetworkPolicy(network_of(checkpoint.card.network, checkpoint.weights), chosen, checkpoint.card)


def untrained(network: str, seed: int) -> Network:
    """The network that a training of this seed begins with."""
    return first_network(network, stream(seed, "deepjs weights"))
