"""What decisions were worth: discounted sums of the rewards that followed, compiled."""

from __future__ import annotations

from transom._system.compiling import compiled
from transom.models.arrays import BoolArray, FloatArray


@compiled
def advantages(
    reward: FloatArray,
    discount: FloatArray,
    done: BoolArray,
    values: FloatArray,
    after: float,
    lam: float,
    advantage: FloatArray,
) -> None:
    r"""Fill ``advantage`` with the generalised estimate.

    .. math:: A_k = \delta_k + d_k \lambda A_{k+1}, \quad \delta_k = r_k + d_k V_{k+1} - V_k

    Parameters
    ----------
    reward, discount, done : of each decision, float64, float64 and bool, shape ``(T,)``; ``done`` marks the last one of
        an episode.
    values : V of the state of each decision, float64, shape ``(T,)``.
    after : V of the state that follows the last decision.
    lam : :math:`\lambda`, from 0 (one step) to 1 (the whole sum).
    advantage : filled, float64, shape ``(T,)``.

    References
    ----------
    Schulman et al., High-dimensional continuous control using generalized advantage estimation, ICLR 2016, eq. 16.
    """
    following, value = 0.0, after
    for k in range(len(reward) - 1, -1, -1):
        kept = 0.0 if done[k] else discount[k]
        following = reward[k] + kept * value - values[k] + kept * lam * following
        advantage[k] = following
        value = values[k]
