"""How many decisions a second the repair environments take on one core, without a network.

    python -m benchmarks.repair_env [--cluster authors] [--lanes 64 256] [--decisions 400000] [--epochs 10] [--seed 0]

Windows are those that training draws. Actions are drawn evenly from what the masks allow; the time is processor time
of stepping and of asking for the masks, not of drawing, after warm-up; of five parts the quickest is printed, which
other programs on the machine disturbed least. ``RepairBatch`` steps all repairs in one compiled call,
``RepairEnv`` is the front of Gymnasium for one, and the last line is that one in Gymnasium's ``SyncVectorEnv``, asked
for masks as training does it. The exit status is 1 where ``RepairBatch`` takes fewer than 100,000 decisions a second.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import thread_time
from typing import Any, get_args

import numpy as np
from gymnasium.vector import SyncVectorEnv

from transom.learned.repair.pool import CLUSTERS, ClusterName, WindowPool
from transom.learned.repair.repair_batch import RepairBatch
from transom.learned.repair.repair_env import RepairEnv
from transom.learned.repair.task import RepairTask
from transom.rng import stream

PROMISE = 100_000  # decisions a second of RepairBatch
PARTS = 5


def drawn(masks: Any, rng: np.random.Generator) -> Any:
    """An allowed action of each row; what is allowed comes first."""
    return (rng.random(len(masks)) * masks.sum(axis=1)).astype(np.int64)


def rate(step: Callable[[Any], Any], masks: Any, lanes: int, decisions: int, rng: np.random.Generator) -> float:
    """Decisions a second [1/s] of ``step``, which takes actions and gives the next masks."""
    rounds = max(decisions // lanes // PARTS, 2)
    parts = []
    for _ in range(PARTS + 1):  # the first is for warming up
        took = 0.0
        for _ in range(rounds):
            actions = drawn(masks, rng)
            began = thread_time()
            masks = step(actions)
            took += thread_time() - began
        parts.append(took)
    return lanes * rounds / min(parts[1:])


def main() -> int:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cluster", choices=get_args(ClusterName), default="authors")
    parser.add_argument("--lanes", type=int, nargs="+", default=[64, 256], help="repairs that are stepped together")
    parser.add_argument("--decisions", type=int, default=400_000, help="that are measured; a 20th of it for one repair")
    parser.add_argument("--epochs", type=int, default=10, help="of 100 periods that windows come from")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model, cost = CLUSTERS[arguments.cluster]
    pool = WindowPool.generate(model, cost, arguments.seed, arguments.epochs)
    idle, jobs = np.diff(pool.windows.first_node).mean(), np.diff(pool.windows.first_job).mean()
    print(f"{len(pool)} windows, in the mean {idle:.0f} idle nodes and {jobs:.1f} jobs")
    print(f"{'environment':<34}{'repairs':>8}{'decisions/s':>14}")
    rng = stream(arguments.seed, "repair env rate")
    slowest = np.inf
    for lanes in arguments.lanes:
        many = RepairBatch(pool, RepairTask(), lanes, arguments.seed)
        many.reset()

        def step_many(actions: Any, many: RepairBatch = many) -> Any:
            many.step(actions)
            return many.action_masks()

        found = rate(step_many, many.action_masks(), lanes, arguments.decisions, rng)
        slowest = min(slowest, found)
        print(f"{'RepairBatch':<34}{lanes:>8}{found:>14,.0f}", flush=True)

    single = RepairEnv(pool)
    single.reset(seed=arguments.seed)

    def step_single(actions: Any) -> Any:
        if single.step(actions[0])[2]:
            single.reset()
        return single.action_masks()[None]

    found = rate(step_single, single.action_masks()[None], 1, arguments.decisions // 20, rng)
    print(f"{'RepairEnv':<34}{1:>8}{found:>14,.0f}", flush=True)

    lanes = arguments.lanes[-1]
    plain = SyncVectorEnv([lambda: RepairEnv(pool)] * lanes)
    plain.reset(seed=arguments.seed)

    def step_plain(actions: Any) -> Any:
        plain.step(actions)
        return np.array(plain.call("action_masks"))

    masks = np.array(plain.call("action_masks"))
    found = rate(step_plain, masks, lanes, arguments.decisions // 20, rng)
    print(f"{'RepairEnv in SyncVectorEnv':<34}{lanes:>8}{found:>14,.0f}")
    if slowest < PROMISE:
        print(f"RepairBatch: fewer than {PROMISE:,} decisions a second")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
