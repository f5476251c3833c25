"""The networks of Table III as a torch module.

Their interface is that of :mod:`~transom.learned.dras.training.scorer_network`.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from transom.learned.dras.process.paper_scorer import Floats, PaperShape
from transom.learned.scorer import LEAK


class PaperNetwork(nn.Module):
    """Scores of candidates: logits of DRAS-PG, values of DRAS-DQL.

    The paper does not state the slope of the leaky rectifier below zero; it is 1/100 here.

    Parameters
    ----------
    shape : sizes of the network.
    rng : draws the first weights: He for the hidden layers; the output layer begins at a hundredth of that, so that
        all candidates are about equally likely. Without it weights have no values, as is enough to take over others.

    References
    ----------
    Fan et al. (2021), section III-B and Table III; He et al., Delving deep into rectifiers, ICCV 2015, section 2.2.
    """

    def __init__(self, shape: PaperShape, rng: np.random.Generator | None = None) -> None:
        super().__init__()
        self.shape = shape
        for name, lengths in shape.shapes().items():
            weight = torch.empty(lengths)
            if rng is not None:
                scale = 0.0 if name.endswith("_bias") else sqrt(2 / lengths[0]) * (0.01 if name == "out" else 1.0)
                weight = torch.from_numpy(rng.standard_normal(lengths, np.float32)) * scale
            self.register_parameter(name, nn.Parameter(weight))

    def forward(self, features: Tensor, context: Tensor, count: Tensor) -> Tensor:
        """The scores, shape ``(T, W)``, minus infinity beyond ``count`` ``(T,)``.

        ``features`` has shape ``(T, W, 4)`` and ``context`` ``(T, 2 N)``
        (:meth:`~transom.learned.dras.process.paper_scorer.PaperScorer.scores`).
        """
        valid = torch.arange(features.shape[1], device=count.device) < count.unsqueeze(1)
        nodes = self._filtered(context.unflatten(1, (-1, 2)))
        scores = features.new_full(valid.shape, -torch.inf)
        if self.shape.agent == "pg":
            jobs = self._filtered((features * valid.unsqueeze(2)).reshape(len(count), -1, 2))
            made = self._onwards(torch.cat((jobs, nodes), dim=1) @ self.first)
            return torch.where(valid, made, scores)
        # All jobs of a decision see the same nodes.
        shared = nodes @ self.first[2:]
        jobs = self._filtered(features[valid].unflatten(1, (2, 2)))
        made = self._onwards(jobs @ self.first[:2] + shared[valid.nonzero()[:, 0]])
        return scores.masked_scatter(valid, made)

    def scores(self, features: Floats, context: Floats, count: int) -> Floats:
        """The scores of the first ``count`` candidates of one decision, as those of
        :meth:`~transom.learned.dras.process.paper_scorer.PaperScorer.scores`."""
        parts = torch.from_numpy(features)[None], torch.from_numpy(context)[None], torch.tensor([count])
        with torch.no_grad():
            made: Floats = self(*(part.to(self.first.device) for part in parts))[0, :count].cpu().numpy()
        return made

    def _filtered(self, rows: Tensor) -> Tensor:
        return rows @ self.filter + self.filter_bias

    def _onwards(self, one: Tensor) -> Tensor:
        two = leaky_relu(one, float(LEAK)) @ self.second
        return leaky_relu(two, float(LEAK)) @ self.out + self.out_bias
