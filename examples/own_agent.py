"""An agent of your own, from Gymnasium to a row of `transom simulate` and a figure: REINFORCE with a linear softmax.

Train it: python examples/own_agent.py [UPDATES]
Compare it: transom simulate TRACE --policy fcfs-easy --policy ./examples/own_agent.py:trained
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from transom import plot, simulate
from transom.generate import generate_lublin
from transom.learned import envs
from transom.learned.dras.agent.any_agent import AgentPolicy
from transom.learned.dras.process.features import FEATURES
from transom.models.arrays import BoolArray, FloatArray
from transom.simulation import Policy

OUT = Path("out/own_agent")
EPISODES = 8  # of an update, all of one workload, so that their returns can be compared
STEP = 0.5


def chances(weights: FloatArray, seen: Any, allowed: BoolArray) -> FloatArray:
    """How likely each action is: a softmax of the weighted features of the candidates, 0 where there is none."""
    scores = np.where(allowed, seen["features"] @ weights, -np.inf)
    odds: FloatArray = np.exp(scores - scores.max())
    odds /= odds.sum()
    return odds


def episode(env: Any, weights: FloatArray, rng: np.random.Generator) -> tuple[float, FloatArray]:
    """Play a workload; its return, and the gradient of the log-likelihood of what was chosen."""
    (seen, _), ended = env.reset(seed=0), False  # the same workload each time
    total, gradient = 0.0, np.zeros(len(weights))
    while not ended:
        likely = chances(weights, seen, env.action_masks())
        action = rng.choice(len(likely), p=likely)
        gradient += seen["features"][action] - likely @ seen["features"]
        seen, reward, ended, _, _ = env.step(action)
        total += reward
    return total, gradient


def train(updates: int, seed: int = 0) -> tuple[FloatArray, list[float]]:
    """Weights after so many updates, and the mean wait [h] on a workload kept aside, before them and after each."""
    rng, weights = np.random.default_rng(seed), np.zeros(len(FEATURES))
    waits = [mean_wait(policy(weights))]
    for update in range(updates):
        env = environment(jobs=150, load=1.5, workload_seed=update).unwrapped
        played = [episode(env, weights, rng) for _ in range(EPISODES)]
        returns, gradients = np.array([each[0] for each in played]), np.array([each[1] for each in played])
        gradient = (returns - returns.mean()) / (returns.std() + 1e-9) @ gradients
        weights = weights + STEP * gradient / (np.linalg.norm(gradient) + 1e-9)
        waits.append(mean_wait(policy(weights)))
    return weights, waits


def mean_wait(policy: Policy | str) -> float:
    """The mean wait [h] on a workload that no training sees."""
    aside = generate_lublin(500, 64, np.random.default_rng(99), load=1.1)
    return float(simulate(aside, policy).wait.mean()) / 3600


def environment(**workload: float) -> Any:
    """What the agent sees and chooses."""
    return gymnasium.make("transom/Scheduling-v0", observation="compact", window=20, longest=86_400, **workload)


def policy(weights: FloatArray) -> AgentPolicy:
    """The agent as a policy: always the likeliest action."""

    def act(seen: Any, allowed: BoolArray) -> int:
        return int(chances(weights, seen, allowed).argmax())

    digest = blake2b(weights.tobytes(), digest_size=8).hexdigest()  # kept replays of other weights are made anew
    return envs.make_policy(act, environment(), masked=True, name="own-agent", digest=digest)


def trained(weights: str = str(OUT / "weights.npy")) -> AgentPolicy:
    """What `--policy ./examples/own_agent.py:trained` names; `:weights=FILE` takes other weights."""
    return policy(np.load(weights))


if __name__ == "__main__":
    weights, waits = train(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    OUT.mkdir(parents=True, exist_ok=True)
    np.save(OUT / "weights.npy", weights)
    levels = {rule: mean_wait(rule) for rule in ("fcfs-easy", "saf-easy")}
    figure = plot.learning({"own-agent": [waits]}, levels, "a workload kept aside", ("update", "mean wait [h]"))
    plot.save(figure, OUT / "learning.png")
    print(f"mean wait {waits[0]:.1f} h untrained, {waits[-1]:.1f} h trained")
