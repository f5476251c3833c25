"""Slurm's own choice of nodes beside ours: ``python -m benchmarks.slurm_choice [--jobs 50]``.

On an emulated Slurm (topology/tree, leaf switches of eight nodes below one), random nodes are drained, and a job is
started by Slurm on what is idle: every second one with ``--switches=1``, of a size that one leaf switch still has. For
each job the same idle nodes are given to our solver of free allocations, with the same limit. Prints how often Slurm's
nodes cost less, the same and more communication, and by how much. Needs what the tests of an emulated Slurm need.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.slurm.cluster import EmulatedSlurm, missing
from transom import Stop, solve
from transom.models import Allocation, FatTree
from transom.traces.records.hostlist import hosts

_LONGEST = 300.0


class Case(NamedTuple):
    """A job on idle nodes: its size, whether it may span one leaf switch alone, the costs of Slurm's nodes and ours."""

    size: int
    limited: bool
    slurms: float
    ours: float


def run_cases(slurm: EmulatedSlurm, jobs: int, seed: int) -> list[Case]:
    """Have Slurm start jobs one after the other, each on other idle nodes."""
    rng, tree = np.random.default_rng(seed), FatTree.uniform(slurm.nodes, slurm.leaf, slurm.nodes)
    found = []
    for i in range(jobs):
        limited = i % 2 == 0
        idle = np.sort(rng.choice(slurm.nodes, int(rng.integers(4, slurm.nodes)), replace=False))
        most = int(np.bincount(idle // slurm.leaf).max()) if limited else min(len(idle), 16)
        size = int(rng.integers(2, most + 1))
        slurm.run("scontrol", "update", "NodeName=ALL", "State=resume", check=False)
        drained = [slurm.names[node] for node in np.setdiff1d(np.arange(slurm.nodes), idle)]
        slurm.run("scontrol", "update", f"NodeName={','.join(drained)}", "State=drain", "Reason=x")
        asked = ["--switches=1"] if limited else []
        job = slurm.submit("true", f"-N{size}", "-t1", *asked)
        slurm.wait(lambda job=job: slurm.states()[job] == "COMPLETED", "the job has ended", _LONGEST)
        nodes = next(each["NodeList"] for each in slurm.completed() if each["JobId"] == str(job))
        limits = np.array([1]) if limited else None
        problem = Allocation(tree, idle, [size], rule="free", leaf_limits=limits)
        theirs = problem.owners([[slurm.names.index(name) for name in hosts(nodes)]])
        assert problem.violations(theirs) == []
        result = solve(problem, "free-cpsat", Stop(seconds=10))
        assert result.value is not None
        found.append(Case(size, limited, problem.value(theirs), result.value))
    return found


def main() -> None:
    """Run, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if (why := missing()) is not None:
        raise SystemExit(why)
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        Path(folder).chmod(0o755)
        with EmulatedSlurm(Path(folder)) as slurm:
            cases = run_cases(slurm, options.jobs, options.seed)
    for limited in (True, False):
        some = [each for each in cases if each.limited is limited]
        less, more = sum(each.slurms < each.ours for each in some), sum(each.slurms > each.ours for each in some)
        total, ours = sum(each.slurms for each in some), sum(each.ours for each in some)
        print(
            f"{len(some)} jobs {'with --switches=1' if limited else 'without a limit'}: Slurm's nodes cost less than "
            f"ours {less} times, the same {len(some) - less - more}, more {more}; in all {total:g} against {ours:g}"
        )


if __name__ == "__main__":
    main()
