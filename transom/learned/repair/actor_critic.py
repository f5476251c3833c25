"""The actor and the critic as stable-baselines3 wants them: two networks of Table II that share nothing.

Nothing imports this at module level: the classes derive from those of torch.
"""

from __future__ import annotations

from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from transom.learned.repair.networks import network
from transom.learned.repair.process import SEEN


class TwoNetworks(nn.Module):
    """An actor and a critic of one architecture; each takes flat observations, shape ``(batch, rows * 100)``."""

    def __init__(self, name: str, rows: int) -> None:
        super().__init__()
        self.actor = network(name, rows)
        self.critic = network(name, rows, outputs=1)
        self._shape = (-1, rows, SEEN) if name.startswith("cnn") else (-1, rows * SEEN)

    def forward(self, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What both say."""
        return self.forward_actor(flat), self.forward_critic(flat)

    def forward_actor(self, flat: torch.Tensor) -> torch.Tensor:
        """Logarithms of the chances of each first node, but for a constant, shape ``(batch, 100)``."""
        return self.actor(flat.view(self._shape))

    def forward_critic(self, flat: torch.Tensor) -> torch.Tensor:
        """Expected reward, shape ``(batch, 1)``."""
        return self.critic(flat.view(self._shape))


class RepairPolicy(MaskableActorCriticPolicy):
    """The policy that is trained: the networks' last layers are their own, the library adds none.

    Parameters
    ----------
    network, rows : as of :func:`~transom.learned.repair.networks.network`; the others are the library's.
    """

    def __init__(self, *args: Any, network: str, rows: int, **kwargs: Any) -> None:
        self._network, self._rows = network, rows
        super().__init__(*args, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        self.mlp_extractor = TwoNetworks(self._network, self._rows)
        self.action_net = self.value_net = nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)
