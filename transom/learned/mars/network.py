"""The actor of :mod:`transom.learned.kernel.scoring` as a torch module, with a critic beside it.

Slots without a job are zeros and masked: they have no chance and do not count in the critic's mean.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from transom.learned.kernel.scoring import FEATURES, KernelWeights
from transom.models.arrays import IntArray

_HIDDEN = (32, 16)  # of the critic


class MarsNetwork(nn.Module):
    """Chances of waiting jobs, and the value of a state.

    Parameters
    ----------
    actor : the weights that a training begins with.
    rng : draws the critic's; its last layer begins with zeros, so that all states are worth nothing.
    """

    def __init__(self, actor: KernelWeights, rng: np.random.Generator) -> None:
        super().__init__()
        self.actor = nn.ParameterDict(
            {name: nn.Parameter(torch.from_numpy(array.copy())) for name, array in actor._asdict().items()}
        )
        first, second = _HIDDEN
        layers = {"first": (len(FEATURES), first), "second": (first, second)}
        drawn = {name: rng.normal(size=shape) * sqrt(2 / shape[0]) for name, shape in layers.items()}
        zeros = {"first_bias": first, "second_bias": second, "out": second, "offset": 1}
        self.critic = nn.ParameterDict(
            {
                **{name: nn.Parameter(torch.from_numpy(array.astype(np.float32))) for name, array in drawn.items()},
                **{name: nn.Parameter(torch.zeros(size)) for name, size in zeros.items()},
            }
        )

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        """Logarithms of the chances ``(states, slots)``; those of masked slots are minus infinity.

        ``features`` ``(states, slots, 8)`` float32, ``mask`` ``(states, slots)`` bool, True where there is a job.
        """
        a, x = self.actor, features
        for layer in ("first", "second", "third"):
            x = torch.relu(x @ a[layer] + a[f"{layer}_bias"])
        return (x @ a["out"]).masked_fill(~mask, -torch.inf).log_softmax(1)

    def values(self, features: Tensor, mask: Tensor) -> Tensor:
        """What states are worth ``(states,)``, from the mean of their encoded jobs."""
        c = self.critic
        encoded = torch.relu(features @ c["first"] + c["first_bias"]).masked_fill(~mask.unsqueeze(2), 0)
        mean = encoded.sum(1) / mask.sum(1, keepdim=True)
        return torch.relu(mean @ c["second"] + c["second_bias"]) @ c["out"] + c["offset"]

    def weights(self) -> KernelWeights:
        """The actor as kernels want it."""
        return KernelWeights(**{name: each.detach().numpy().copy() for name, each in self.actor.items()})


def padded(rows: NDArray[np.float32], counts: IntArray) -> tuple[Tensor, Tensor]:
    """Features of jobs, state after state, as slots filled with zeros, and the mask of the slots that hold a job.

    Parameters
    ----------
    rows : shape ``(counts.sum(), 8)``.
    counts : jobs of each state, > 0.
    """
    mask = np.arange(counts.max()) < counts[:, None]
    features = np.zeros((*mask.shape, rows.shape[1]), np.float32)
    features[mask] = rows
    return torch.from_numpy(features), torch.from_numpy(mask)
