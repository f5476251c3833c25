"""The policy gradient of DRAS-PG, Fan et al. (2021) eq. 3, with what the paper leaves open settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transom._system.settings import Share, check_settings
from transom.learned.dras.training.learner import Bonus, Figures, Learner, discounts, observed
from transom.learned.training.returns import advantages
from transom.learned.training.state import Arrays

if TYPE_CHECKING:
    from torch import nn

    from transom.learned.dras.training.collect import Batch


@dataclass(frozen=True, slots=True)
class PolicyGradientSettings:
    """How eq. 3 is applied.

    Parameters
    ----------
    learning_rate : alpha, of Adam.
    discount : per scheduling instance; 1 as printed.
    standardise : divide returns less baseline by their deviation within the update.
    entropy : weight of a bonus for entropy, falling linearly to a tenth; 0 as printed.
    """

    learning_rate: Share = 1e-3
    discount: Share = 1.0
    standardise: bool = False
    entropy: Bonus = 0.0

    def __post_init__(self) -> None:
        check_settings("pg", self)


class PolicyGradient(Learner):
    r"""Steps along :math:`\sum_k \nabla_\theta \log \pi_\theta(s_k, a_k) (\sum_{k' \ge k} r_{k'} - b_k)`.

    The baseline b_k is the mean over all past updates of what followed from step k on. Updates differ in length: a step
    that no past one had takes the mean of the last step that is known, and before the first update it is 0. The sum
    over k is taken as a mean, which Adam does not notice, but the norm to which gradients are cut does.

    References
    ----------
    Fan et al. (2021), section III-B, eq. 3.
    """

    looks_ahead = False

    def __init__(self, network: nn.Module, settings: PolicyGradientSettings) -> None:
        super().__init__(network, settings.learning_rate)
        self.settings = settings
        self._sums = np.zeros(0)  # of the returns by step, over past updates
        self._counts = np.zeros(0)

    def update(self, batch: Batch, rng: np.random.Generator, progress: float = 0.0) -> Figures:
        """Learn from recorded decisions; see :meth:`Learner.update`."""
        import torch

        from transom.learned.training.ppo import entropies

        s, learnt = self.settings, len(batch.action)
        # Without a critic, advantages at lambda = 1 are the returns.
        returns, nothing = np.empty(learnt), np.zeros(learnt)
        discount = np.append(discounts(batch, s.discount), 0.0)
        advantages(batch.reward.astype(np.float64), discount, batch.done, nothing, 0.0, 1.0, returns)
        gain = returns - self.baseline(learnt)
        self._remember(returns)
        if s.standardise:
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        data = observed(batch, self.device)
        logs = torch.log_softmax(self.network(data.features, data.context, data.count), dim=1)
        entropy, share = entropies(logs)
        log = logs.gather(1, data.action.unsqueeze(1)).squeeze(1)
        gains = torch.from_numpy(gain.astype(np.float32)).to(self.device)
        bonus = s.entropy * (1 - 0.9 * progress)
        norm = self.descend(-(log * gains).mean() - bonus * entropy)
        return {"return": float(returns[0]), "entropy": share, "gradient": norm}

    def baseline(self, steps: int) -> NDArray[np.float64]:
        """b_k of the first ``steps`` decisions of the next update."""
        if not len(self._sums):
            return np.zeros(steps)
        known = self._sums / self._counts
        return known[np.minimum(np.arange(steps), len(known) - 1)]

    def state(self) -> Arrays:
        """See :meth:`Learner.state`."""
        return {**super().state(), "baseline.sums": self._sums, "baseline.counts": self._counts}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """See :meth:`Learner.restore`."""
        super().restore(arrays)
        self._sums, self._counts = arrays["baseline.sums"].copy(), arrays["baseline.counts"].copy()

    def _remember(self, returns: NDArray[np.float64]) -> None:
        more = max(0, len(returns) - len(self._sums))
        self._sums, self._counts = np.pad(self._sums, (0, more)), np.pad(self._counts, (0, more))
        self._sums[: len(returns)] += returns
        self._counts[: len(returns)] += 1
