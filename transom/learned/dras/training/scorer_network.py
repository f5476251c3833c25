"""The shared encoder of :mod:`transom.learned.scorer` as a torch module, with a critic beside it.

The actor scores candidates one by one; the critic has weights of its own, takes the mean of its encoded candidates and
says what the state is worth. Rows beyond the number of candidates are left out before anything is computed.

In a checkpoint the weights are ``actor.NAME``, with the names of :class:`~transom.learned.scorer.ScorerWeights`, and
``critic.NAME``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from transom.learned.scorer import LEAK, ScorerWeights


class ScorerNetwork(nn.Module):
    """Scores of candidates and the value of a state.

    Parameters
    ----------
    features, context : numbers per candidate and in common.
    hidden : units of the two hidden layers.
    rng : draws the first weights: He for the hidden layers; the last layers begin at a hundredth of that, so that all
        candidates are about equally likely and all states worth nothing.

    References
    ----------
    He et al., Delving deep into rectifiers, ICCV 2015, section 2.2.
    """

    def __init__(self, features: int, context: int, hidden: Sequence[int], rng: np.random.Generator) -> None:
        super().__init__()
        first, second = hidden

        def drawn(*shape: int, inputs: int, scale: float = 1.0) -> nn.Parameter:
            return nn.Parameter(
                torch.from_numpy((rng.normal(size=shape) * scale * sqrt(2 / inputs)).astype(np.float32))
            )

        def zeros(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.zeros(shape))

        inputs = features + context
        self.actor = nn.ParameterDict(
            {
                "features": drawn(features, first, inputs=inputs),
                "context": drawn(context, first, inputs=inputs),
                "bias": zeros(first),
                "hidden": drawn(first, second, inputs=first),
                "hidden_bias": zeros(second),
                "out": drawn(second, inputs=second, scale=0.01),
            }
        )
        self.critic = nn.ParameterDict(
            {
                "features": drawn(features, first, inputs=inputs),
                "context": drawn(context, first, inputs=inputs),
                "bias": zeros(first),
                "pooled": drawn(first, second, inputs=first + context),
                "pooled_context": drawn(context, second, inputs=first + context),
                "pooled_bias": zeros(second),
                "out": drawn(second, inputs=second, scale=0.01),
                "offset": zeros(1),
            }
        )

    def forward(self, features: Tensor, context: Tensor, count: Tensor) -> Tensor:
        """The scores, shape ``(T, W)``, minus infinity beyond ``count`` ``(T,)``.

        ``features`` has shape ``(T, W, F)`` and ``context`` ``(T, G)``.
        """
        valid = valid_candidates(features, count)
        owner = valid.nonzero()[:, 0]
        a = self.actor
        one = leaky_relu(features[valid] @ a["features"] + (context @ a["context"] + a["bias"])[owner], float(LEAK))
        two = leaky_relu(one @ a["hidden"] + a["hidden_bias"], float(LEAK))
        scores = features.new_full(valid.shape, -torch.inf)
        return scores.masked_scatter(valid, two @ a["out"])

    def values(self, features: Tensor, context: Tensor, count: Tensor) -> Tensor:
        """What states are worth, shape ``(T,)``."""
        valid = valid_candidates(features, count)
        owner = valid.nonzero()[:, 0]
        c = self.critic
        one = leaky_relu(features[valid] @ c["features"] + (context @ c["context"] + c["bias"])[owner], float(LEAK))
        summed = one.new_zeros(len(count), one.shape[1]).index_add(0, owner, one)
        pooled = summed / count.unsqueeze(1)
        two = leaky_relu(pooled @ c["pooled"] + context @ c["pooled_context"] + c["pooled_bias"], float(LEAK))
        return two @ c["out"] + c["offset"]

    def scorer(self) -> ScorerWeights:
        """The actor's weights as the compiled kernels take them (copies)."""
        arrays = {name: weight.detach().cpu().numpy().copy() for name, weight in self.actor.items()}
        return ScorerWeights(**arrays)


def valid_candidates(features: Tensor, count: Tensor) -> Tensor:
    """Which rows of ``(T, W, F)`` are candidates, bool, shape ``(T, W)``."""
    return torch.arange(features.shape[1], device=count.device) < count.unsqueeze(1)
