"""How long a look at a long queue takes: ``python -m benchmarks.live_queue [--jobs 5000] [--policy fcfs-easy]``.

An emulated Slurm of 32 nodes on leaf switches of eight is full, and thousands of held jobs wait. A driver in a dry run
looks at it: the first time, and again each time that a running job has ended, so that it decides anew. Prints the wall
time of a look, the CPU time of this process and that of Slurm's commands, for each solver that chooses nodes. Kernels
are compiled, or loaded, before. Needs what the tests of an emulated Slurm need.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from tests.slurm.cluster import EmulatedSlurm, missing
from transom.simulation.nodes.allocator import Allocator
from transom.slurm.acting import Terms
from transom.slurm.advice import Adviser
from transom.slurm.drive import Driver
from transom.slurm.selector import Selector

_LONGEST = 600.0


class Took(NamedTuple):
    """Seconds of a look: on the wall, of CPU here, of CPU of the commands; and how many jobs it would start."""

    wall: float
    own: float
    commands: float
    starts: int


def timed(driver: Driver) -> Took:
    """One look."""
    wall, own, commands = time.perf_counter(), time.process_time(), _commands()
    starts = len(driver.look().starts)
    return Took(time.perf_counter() - wall, time.process_time() - own, _commands() - commands, starts)


def _commands() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fill(slurm: EmulatedSlurm) -> list[int]:
    """A running job on each node."""
    jobs = [slurm.submit("sleep 3600", "-N1", "-t", str(600 + i)) for i in range(slurm.nodes)]
    slurm.wait(lambda: all(slurm.states()[job] == "RUNNING" for job in jobs), "the machine is full", _LONGEST)
    return jobs


def main() -> None:
    """Fill, queue, and look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--looks", type=int, default=6)
    parser.add_argument("--policy", default="fcfs-easy")
    parser.add_argument("--allocate", nargs="*", default=["", "dcas-exact"])
    options = parser.parse_args()
    if (why := missing()) is not None:
        raise SystemExit(why)
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        Path(folder).chmod(0o755)
        with (
            EmulatedSlurm(Path(folder), settings={"MaxJobCount": "100000"}) as slurm,
            patch.dict(os.environ, slurm.environment),
        ):
            run(slurm, options)


def run(slurm: EmulatedSlurm, options: argparse.Namespace) -> None:
    """Time looks under each solver."""
    running = fill(slurm)
    rng = np.random.default_rng(1)
    for i in range(options.jobs):
        size, minutes = rng.integers(1, 9), rng.integers(5, 600)
        slurm.submit("true", "-H", f"-N{size}", f"-t{minutes}")
        if i in (20, options.jobs - 1):  # kernels of all that is looked at
            for solver in options.allocate if i == 20 else []:
                slurm.run("scancel", str(running.pop()))
                driver(options.policy, solver).look()
    print(f"{options.jobs} held jobs, {len(running)} running, policy {options.policy}; seconds")
    for solver in options.allocate:
        looks = driver(options.policy, solver)
        took = [timed(looks)]
        for _ in range(options.looks):
            idle = slurm.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").count("\n")
            slurm.run("scancel", str(running.pop()))
            slurm.wait(
                lambda idle=idle: slurm.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").count("\n") > idle, "a node"
            )
            took.append(timed(looks))
        first, rest = took[0], np.array(took[1:])
        print(f"{solver or 'first idle nodes'}:")
        print(f"  first look  wall {first.wall:.2f}, CPU here {first.own:.2f}, of commands {first.commands:.2f}")
        for what, each in (("median", np.median(rest, axis=0)), ("largest", rest.max(axis=0))):
            print(f"  {what:11} wall {each[0]:.2f}, CPU here {each[1]:.2f}, of commands {each[2]:.2f}")
        print(f"  starts in these looks: {[one.starts for one in took]}")


def driver(policy: str, solver: str) -> Driver:
    """A driver in a dry run, of all jobs."""
    return Driver(Adviser(policy, Allocator(solver) if solver else None), Terms(Selector(("all",))), None)


if __name__ == "__main__":
    main()
