"""How many decisions a second the scheduling environments take, on one core.

    python -m benchmarks.scheduling_env TRACE.swf.gz    # a real trace
    python -m benchmarks.scheduling_env                 # 20,000 generated jobs

A decision is a selection among two candidates or more. Stepping is measured without a network: choices are random
among the candidates that there are. Then come the observations, and rollouts with the compact network in the loop,
and the environments of Gymnasium. Seconds are those of the processor, so that other work on the machine counts less;
rates are the best of some rounds, and plain EASY backfilling of the same jobs stands beside them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from transom._system.compiling import compiled
from transom.generate import generate_lublin
from transom.learned.dras.process.episodes import Episode, Episodes
from transom.learned.dras.process.features import CONTEXT, FEATURES, observe
from transom.learned.dras.process.inference import new_workspace
from transom.learned.dras.process.paper_state import paper_state
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.process.rewards import parse_reward
from transom.learned.dras.process.scheduling_env import SchedulingEnv
from transom.learned.dras.process.stepping import act, step_to_next_decision
from transom.learned.dras.process.vector_env import SchedulingVectorEnv
from transom.learned.dras.training.collect import collect, replay
from transom.learned.scorer import ScorerWeights
from transom.rng import stream
from transom.simulation import simulate
from transom.traces import Workload, read_swf

SCHEMES = {
    "as the paper": AgentConfig(head=0, keep=0),
    "reservation of the head, kept": AgentConfig(head=1, keep=1),
    "one level": AgentConfig(levels=1),
}


@compiled
def wander(s, c, scheme, nodes, runtime, rewards, rng, seen, view, state):
    """Random choices to the end of an episode; ``seen`` 0: nothing is observed, 1: features, 2: the paper's state."""
    features, context, _, _ = view
    decisions = 0
    while True:
        count = step_to_next_decision(s, c, scheme, nodes, runtime, rewards)
        if count == 0:
            return decisions
        if seen == 1:
            observe(s, c, scheme, nodes, features, context)
        elif seen == 2:
            paper_state(s, c, scheme, nodes, state)
        k = int(rng.random() * count)
        act(s, c, scheme, nodes, rewards, k)
        decisions += 1


def rate(action: Callable[[], int], rounds: int) -> float:
    """How many of what an action counts it does in a second, in the best of some rounds after a first."""
    action()
    best = 0.0
    for _ in range(rounds):
        begin = time.process_time()
        count = action()
        best = max(best, count / (time.process_time() - begin))
    return best


def stepping(workload: Workload, scheme: AgentConfig, spec: str, seen: int, rounds: int) -> tuple[int, float]:
    """Decisions in an episode with random choices, and how many a second; making the episode is not counted."""
    nodes, reward, rng = workload.cluster.num_nodes, parse_reward(spec), stream(0, "wander")
    view, state = new_workspace(scheme.window), np.zeros((2 * scheme.window + nodes, 2), np.float32)
    best, decisions = 0.0, 0
    for _ in range(rounds + 1):
        e = Episode(workload, 0, scheme, reward)
        begin = time.process_time()
        decisions = wander(e.state, e.decision_state, scheme, nodes, e.runtime, e.rewards, rng, seen, view, state)
        best = max(best, decisions / (time.process_time() - begin))
    return decisions, best


def scorer(hidden: int) -> ScorerWeights:
    """A compact network with random weights."""
    rng, f, g = stream(0, "weights"), len(FEATURES), len(CONTEXT)
    shapes = [(f, hidden), (g, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden,)]
    return ScorerWeights(*(rng.normal(size=shape, scale=0.3).astype(np.float32) for shape in shapes))


def environments(workload: Workload, scheme: AgentConfig, rounds: int) -> None:
    """The environments of Gymnasium, observations included."""
    drawn = stream(0, "steps")
    for observation in ("compact", "paper"):
        env = SchedulingEnv([workload], scheme, observation=observation)
        env.reset(seed=0)

        def steps(env: SchedulingEnv = env, rng: np.random.Generator = drawn) -> int:
            for _ in range(500):
                if env.step(int(rng.random() * env.scheme.window))[2]:
                    env.reset()
            return 500

        print(f"  SchedulingEnv, {observation:<8}           {rate(steps, rounds):>12,.0f} steps/s")
        lanes = SchedulingVectorEnv([workload] * 16, scheme, observation=observation)

        def all_steps(env: SchedulingVectorEnv = lanes, rng: np.random.Generator = drawn) -> int:
            for _ in range(200):
                env.step(rng.integers(0, env.scheme.window, env.num_envs))
            return 200 * env.num_envs

        print(f"  SchedulingVectorEnv of 16, {observation:<8} {rate(all_steps, rounds):>10,.0f} steps/s")


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--hidden", type=int, default=32, help="units of both layers of the compact network")
    arguments = parser.parse_args()
    rounds, weights = arguments.rounds, scorer(arguments.hidden)
    workload = (
        read_swf(arguments.trace) if arguments.trace else generate_lublin(20_000, 256, stream(0, "jobs"), load=1.2)
    )
    n = len(workload)

    def easy() -> int:
        return len(simulate(workload, "fcfs-easy"))

    def greedy() -> int:
        return len(replay(workload, scheme, weights))

    print(f"{workload.name}: {n} jobs on {workload.cluster.num_nodes} nodes, best of {rounds} rounds on one core")
    print(f"plain EASY backfilling              {rate(easy, rounds):>12,.0f} jobs/s")
    for title, scheme in SCHEMES.items():
        print(f"{title}: {scheme}")
        for spec, seen, what in [
            ("waiting", 0, "stepping"),
            ("capability", 0, "stepping, reward capability"),
            ("waiting", 1, "stepping and features"),
            ("waiting", 2, "stepping and the paper's state"),
        ]:
            decisions, each = stepping(workload, scheme, spec, seen, rounds)
            print(f"  {what:<32}  {each:>12,.0f} decisions/s  ({n * each / decisions:,.0f} jobs/s)")
        episodes, rng = Episodes([workload]), stream(0, "collect")
        sampled = rate(lambda: len(collect(episodes, scheme, weights, 4096, rng).count), rounds)  # noqa: B023
        print(f"  {'rollouts with the network':<32}  {sampled:>12,.0f} decisions/s")
        print(f"  {'replays with the network':<32}  {rate(greedy, rounds):>12,.0f} jobs/s")
    environments(workload, SCHEMES["as the paper"], rounds)


if __name__ == "__main__":
    main()
