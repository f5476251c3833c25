"""With the compiler switched off everything works, slowly, and gives the same answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# Every registered solver on a small instance of each problem that it takes, and every rule of a replay.
EVERYTHING = """
import json, warnings
from dataclasses import replace
import numpy as np
from transom import Allocation, ConstrainedPath, FatTree, Knapsack, Selection, Stop, registry, simulate, solve
from transom.generate import generate_lublin
from transom.simulation.nodes.allocator import Allocator

warnings.simplefilter("ignore")  # integers that wrap around in hashes
rng = np.random.default_rng(5)
tree = FatTree.uniform(24, 4, 12)
idle = np.sort(rng.choice(24, 18, replace=False))
problems = [Knapsack(rng.integers(1, 40, 9), rng.integers(1, 30, 9), 60)]
problems.append(Selection(rng.integers(1, 30, (7, 3)), [60] * 3))
problems += [Allocation(tree, idle, [6, 4, 3], rule) for rule in ("static", "dynamic", "free")]
problems.append(ConstrainedPath.from_allocation(Allocation(tree, idle, [6, 4, 3], "static", False)))
found = {}
for name in registry.names(registry.SOLVERS):
    for entry in registry.entries(registry.SOLVERS, name):
        for problem in problems:
            solver = registry.make(registry.SOLVERS, "nsa:anywhere=yes" if entry == "nsa" else entry)
            if isinstance(problem, solver.solves) and solver.supports(problem) is None:
                result = solve(problem, solver, Stop(iterations=30))
                found[f"{entry} {problem.kind}"] = [result.value, result.bound, result.status, result.error]
workload = generate_lublin(60, 32, rng)
policies = ["fcfs", "sjf", "wfp3-easy", "fcfs-easy", "f1-easy", "sjf-conservative", "unicep-conservative"]
policies += ["window:solver=dp", "window:solver=primal-dual", "dras-pg:anywhere=yes"]
policies += ["decima-pg:anywhere=yes", "multisched", "random"]
for policy in policies:
    schedule = simulate(workload, policy)
    found[policy] = [schedule.start.tolist(), schedule.mode.tolist()]
clustered = replace(workload, cluster=replace(workload.cluster, topology=FatTree.uniform(32, 4, 16)))
schedule = simulate(clustered, "fcfs-easy", allocator=Allocator("scas-dp"))
found["scas-dp in a replay"] = [schedule.runs.first.tolist(), schedule.decisions["allocation_cost"].tolist()]
print(json.dumps(found))
"""


def everything(off: bool) -> dict[str, object]:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": str(int(off))}
    command = [sys.executable, "-c", EVERYTHING]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_answers_are_the_same_without_the_compiler() -> None:
    compiled, plain = everything(off=False), everything(off=True)
    assert plain.keys() == compiled.keys()
    assert len(plain) > 60
    assert {name: plain[name] for name in plain if plain[name] != compiled[name]} == {}
