"""How long a DRAS agent takes to decide, as a policy of the simulator, on one core.

    python -m benchmarks.dras_decision_time TRACE.swf.gz [--jobs 3000] [--model PATH] [--json]

A policy gets a window and returns a decision; what this takes is divided by the choices among two candidates or more
that were made in it. Windows in which there was nothing to choose are left out. The compact network also replays the
whole trace in one compiled loop. Weights of the networks of Table III are drawn, which takes as long to compute with.
Times are of processor time, of this machine at this moment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from transom.learned.checkpoints import Checkpoint, load, make_card
from transom.learned.dras.agent.policies import LearnedPolicy
from transom.learned.dras.process import features
from transom.learned.dras.process.paper_scorer import SCHEMA, Agent, PaperShape
from transom.learned.dras.process.process import AgentConfig
from transom.learned.scorer import ScorerWeights
from transom.models import Window
from transom.rng import stream
from transom.simulation import Decision, simulate
from transom.traces import Workload, read_swf

LIMITS = {"compact": 0.1, "paper-pg": 10.0, "paper-dql": 10.0}
"""What the median is to stay below [ms]."""


class Timed:
    """A policy, and the processor time of each of its decisions [s]."""

    order = "fcfs"

    def __init__(self, policy: LearnedPolicy) -> None:
        self._policy = policy
        self.reset = policy.reset
        self.instants: list[float] = []
        self.choices: list[int] = []

    def decide(self, window: Window, /) -> Decision:
        """Decide, and look at the clock."""
        before, begin = self._policy.choices, process_time()
        decision = self._policy.decide(window)
        self.instants.append(process_time() - begin)
        self.choices.append(self._policy.choices - before)
        return decision


def measured(workload: Workload, checkpoint: Checkpoint) -> dict[str, Any]:
    """Median and 99th percentile of the time of a choice [ms], and of a whole window."""
    policy = LearnedPolicy(checkpoint, anywhere=False)
    simulate(workload.take(np.arange(min(200, len(workload)))), policy)  # compiles
    timed = Timed(policy)
    simulate(workload, timed)
    choices, seconds = np.array(timed.choices), np.array(timed.instants)
    asked = choices > 0
    each = seconds[asked] / choices[asked] * 1e3
    told = {
        "choices": int(choices.sum()),
        "median_ms": float(np.median(each)),
        "p99_ms": float(np.percentile(each, 99)),
        "window_median_ms": float(np.median(seconds[asked]) * 1e3),
        "window_p99_ms": float(np.percentile(seconds[asked], 99) * 1e3),
    }
    if policy.run is not None:
        begin = process_time()
        simulate(workload, policy)
        told["replay_us_per_choice"] = (process_time() - begin) / max(told["choices"], 1) * 1e6
    return told


def checkpoints(nodes: int, model: str | None) -> Iterator[tuple[str, Checkpoint]]:
    """The networks, one after another: those of Table III are large."""
    rng, scheme = stream(0, "weights"), AgentConfig()
    if model is not None:
        yield "compact", load(model, "dras")
    else:
        f, g = len(features.FEATURES), len(features.CONTEXT)
        drawn = ScorerWeights(
            *(rng.normal(size=s).astype(np.float32) for s in ((f, 32), (g, 32), 32, (32, 32), 32, 32))
        )
        arrays = {f"actor.{name}": array for name, array in drawn._asdict().items()}
        yield "compact", Checkpoint(arrays, _card(arrays, scheme, nodes, "scorer", features.SCHEMA))
    agents: tuple[Agent, ...] = ("pg", "dql")
    for agent in agents:
        shape = PaperShape(agent, nodes)
        arrays = {
            name: rng.standard_normal(lengths, np.float32) / np.float32(lengths[0] ** 0.5)
            for name, lengths in shape.shapes().items()
        }
        yield shape.name, Checkpoint(arrays, _card(arrays, scheme, nodes, shape.name, SCHEMA))


def _card(arrays: dict[str, Any], scheme: AgentConfig, nodes: int, network: str, schema: str) -> Any:
    return make_card(
        arrays,
        name=network,
        component="dras",
        network=network,
        schema=schema,
        cluster={"nodes": nodes},
        settings={**scheme._asdict(), "agent": "pg", "reward": "waiting", "batch": 2},
        trained_on="nothing",
        command="python -m benchmarks.dras_decision_time",
        seed=0,
        decisions=0,
        seconds=0.0,
    )


_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Measure the three networks on one trace."""
    if any(os.environ.get(name) != "1" for name in _THREADS):
        # The numbers of threads are read when numpy is imported.
        command = [sys.executable, "-m", "benchmarks.dras_decision_time", *sys.argv[1:]]
        sys.exit(subprocess.run(command, env={**os.environ, **dict.fromkeys(_THREADS, "1")}).returncode)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--jobs", type=int, default=3000, help="of the trace, from its beginning")
    parser.add_argument("--model", help="weights of the compact network; drawn ones by default")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    whole = read_swf(given.trace)
    workload = whole.take(np.arange(min(given.jobs, len(whole))))
    rows = {}
    for name, checkpoint in checkpoints(workload.cluster.num_nodes, given.model):
        rows[name] = measured(workload, checkpoint)
    if given.json:
        print(json.dumps({"trace": given.trace.name, "jobs": len(workload), **rows}))
        return
    print(f"{workload.name}: the first {len(workload):,} jobs on {workload.cluster.num_nodes:,} nodes; processor time")
    print(f"{'network':10} {'choices':>8} {'median':>9} {'99 %':>9} {'limit':>8}   window: median, 99 %")
    for name, told in rows.items():
        print(
            f"{name:10} {told['choices']:>8,} {told['median_ms']:>6.3f} ms {told['p99_ms']:>6.3f} ms "
            f"{LIMITS[name]:>5g} ms   {told['window_median_ms']:.3f} ms, {told['window_p99_ms']:.3f} ms"
        )
        if "replay_us_per_choice" in told:
            print(
                f"{'':10} in one compiled replay {told['replay_us_per_choice']:.1f} us per choice, all events included"
            )


if __name__ == "__main__":
    main()
