"""Proximal policy optimisation on recorded decisions, with generalised advantages: the one loss of all that use it.

References
----------
Schulman et al., Proximal policy optimization algorithms, arXiv 1707.06347, eq. 7 and 9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transom.models.arrays import FloatArray

Forward = Callable[[Tensor], tuple[Tensor, Tensor | None]]
"""Of some decisions, by place: the logarithms of the chances of all actions ``(decisions, actions)``, minus infinity
where there is none, and what a critic says of their states ``(decisions,)``."""


class Recorded(NamedTuple):
    """Decisions: the action, the logarithm of its chance, how good it was, and what a critic should say; ``(T,)``."""

    action: Tensor
    log_chance: Tensor
    advantage: Tensor
    target: Tensor | None = None


class Weights(NamedTuple):
    """How PPO updates: clip of the ratio of chances, passes over the decisions, decisions of a step, weight of the
    critic's error, of the bonus for entropy, and the norm to which gradients are cut."""

    clip: float = 0.2
    passes: int = 1
    minibatch: int = 1024
    value: float = 0.5
    entropy: float = 0.0
    largest_gradient: float = 1.0


def improve(
    optimizer: torch.optim.Optimizer,
    forward: Forward,
    recorded: Recorded,
    weights: Weights,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Make good decisions likelier.

    Parameters
    ----------
    optimizer : of the parameters behind ``forward``.
    rng : draws minibatches.

    Returns
    -------
    Means over the steps: ``value_error``, ``entropy`` and its ``share`` of that of a uniform choice, ``gradient``
    before it is cut, the share of ratios that were ``clipped``, and the ``divergence`` (approximately).
    """
    action, before, advantage, target = recorded
    seen: list[tuple[float, ...]] = []
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    for _ in range(weights.passes):
        for part in minibatches(len(action), weights.minibatch, rng, action.device):
            logs, values = forward(part)
            change = logs.gather(1, action[part, None])[:, 0] - before[part]
            ratio = change.exp()
            clipped = ratio.clamp(1 - weights.clip, 1 + weights.clip)
            gain = torch.minimum(ratio * advantage[part], clipped * advantage[part]).mean()
            entropy, share = entropies(logs)
            loss = -gain - weights.entropy * entropy
            error = torch.zeros(())
            if values is not None and target is not None:
                error = (values - target[part]).square().mean()
                loss = loss + weights.value * error
            norm = descend(optimizer, loss, parameters, weights.largest_gradient)
            with torch.no_grad():
                moved = (ratio - 1 - change).mean(), (ratio != clipped).float().mean()
            seen.append(tuple(map(float, (error.detach(), entropy.detach(), share, norm, moved[1], moved[0]))))
    names = "value_error", "entropy", "share", "gradient", "clipped", "divergence"
    return dict(zip(names, np.mean(seen, axis=0).tolist(), strict=True))


def descend(optimizer: torch.optim.Optimizer, loss: Tensor, parameters: list[Tensor], largest_gradient: float) -> float:
    """One step down a loss; the norm of its gradient before it is cut."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(parameters, largest_gradient)
    optimizer.step()
    return float(norm)


def entropies(logs: Tensor) -> tuple[Tensor, float]:
    """Mean entropy of choices, and its mean share of that of a uniform choice; of a single action it is none."""
    entropy = -(logs.exp() * logs.masked_fill(logs == -torch.inf, 0.0)).sum(1)
    several = (logs > -torch.inf).sum(1).clamp(min=2)
    return entropy.mean(), float((entropy.detach() / torch.log(several.to(entropy.dtype))).mean())


def minibatches(number: int, size: int, rng: np.random.Generator, device: torch.device) -> tuple[Tensor, ...]:
    """All places below ``number`` in random order, in parts of about ``size``."""
    order = torch.from_numpy(rng.permutation(number)).to(device)
    parts: tuple[Tensor, ...] = torch.tensor_split(order, max(1, round(number / size)))
    return parts


def standardised(advantage: FloatArray, outlier: float) -> NDArray[np.float32]:
    """Advantages of mean 0 and deviation 1, in float32, none further than ``outlier`` from 0."""
    found = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    return np.asarray(found.clip(-outlier, outlier), np.float32)
