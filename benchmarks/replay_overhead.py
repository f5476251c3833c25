"""What a replay pays beside its solver, side by side: jobs per CPU second, and the cost of one small `solve`.

    python -m benchmarks.replay_overhead                             # theta_2022 in ../shared/traces, all its jobs
    python -m benchmarks.replay_overhead TRACE.swf.gz --jobs 5000    # another trace, or its first jobs
    python -m benchmarks.replay_overhead --rules                     # only rules whose order changes with time

The general path is the same replay with every window handed to the solver as a problem of its own, as for all other
solvers, or with the queue ordered in Python before every pass, as for rules without a kernel. It is measured on the
first `--general` jobs, and decisions are compared on these. Allocations are always problems of their own. CPU time
of one process, kernels warm, the best of `--rounds`. Figures of one table are of one moment of one machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any
from unittest import mock

import numpy as np

from transom import registry
from transom.models import Knapsack
from transom.simulation import Schedule, simulate
from transom.simulation.core import replay
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.nodes.topology import parse_tree
from transom.simulation.policies import window_replay
from transom.solving import answer, solve
from transom.stop import Stop
from transom.traces import Workload, read_swf

THETA = Path(__file__).parents[2] / "shared" / "traces" / "theta_2022.swf.gz"
FORMULAS = {
    "saf": "walltime*nodes",
    "f1": "log10(walltime)*nodes + 870*log10(submit)",
    "wfp3": "-(wait/walltime)**3*nodes",
    "unicep": "-(wait + 1e-15)/(log2(nodes + 1e-15)*walltime)",
}
RULES = [rule + tail for rule in ("wfp3", "unicep") for tail in ("", "-easy", "-conservative")]
SIZES = (10, 50, 256)
SOLVERS = ("dp", "primal-dual")
_LOADED = {name: registry.make(registry.SOLVERS, name) for name in SOLVERS}


def cpu(action: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """The least CPU time of some calls [s], and what the last one returned."""
    took, made = [], None
    for _ in range(rounds):
        begin = process_time()
        made = action()
        took.append(process_time() - begin)
    return min(took), made


def general(run: Callable[[], Schedule]) -> Schedule:
    """A replay that hands windows and allocations to the solver one by one, and orders the queue in Python."""
    with (
        mock.patch.object(replay, "queue_order", return_value=None),
        mock.patch.object(window_replay, "takes", return_value=False),
    ):
        return run()


def untimed(schedule: Schedule) -> Schedule:
    """The schedule without the seconds that its decisions took, which differ from run to run."""
    return replace(schedule, decisions={k: of for k, of in schedule.decisions.items() if k != "seconds"})


def compare(title: str, run: Callable[[Workload], Schedule], workload: Workload, few: int, rounds: int) -> None:
    """Print jobs per CPU second of a replay on both paths, and whether they agree."""
    part = workload.take(np.arange(min(few, len(workload))))
    general(lambda: run(part.take(np.arange(min(50, len(part))))))
    fast = run(part)  # loads the kernels
    slow_took, slow = cpu(lambda: general(lambda: run(part)), rounds)
    part_took, _ = cpu(lambda: run(part), rounds)
    whole_took, _ = cpu(lambda: run(workload), rounds)
    same = "the same" if untimed(fast) == untimed(slow) and fast.runs == slow.runs else "DIFFERENT"
    rates = len(part) / slow_took, len(part) / part_took, len(workload) / whole_took
    print(f"{title:<38} {'  '.join(f'{rate:>10,.0f}' for rate in rates)}  {same}", flush=True)


def formulas(workload: Workload, rounds: int) -> None:
    """Print how long a rule takes that is written as a formula, relative to its kernel, and whether starts agree."""
    print(f"\n{'CPU time of a formula / its rule':<38}")
    for rule, score in FORMULAS.items():
        specs = f"{rule}-easy", f"formula-easy:score=[{score}]"
        few = workload.take(np.arange(min(50, len(workload))))
        for spec in specs:
            simulate(few, spec)  # loads the kernels
        took, made = zip(*(cpu(partial(simulate, workload, spec), rounds) for spec in specs), strict=True)
        same = "the same" if np.array_equal(made[0].start, made[1].start) else "DIFFERENT"
        print(f"{rule:<38} {took[1] / took[0]:>10.2f}  {same}", flush=True)


def windows(rounds: int) -> None:
    """Print what `solve` takes for knapsacks like those of windows, and what a policy pays for one."""
    print(f"\n{'milliseconds of CPU time a call':<38} {'  '.join(f'{n:>4} items' for n in SIZES)}")
    for solver in SOLVERS:
        for title, call in (("solve", _solve), ("in a policy", _answer)):
            took = []
            for items in SIZES:
                problems = [_window(items, seed) for seed in range(20)]
                call(problems[0], solver)
                took.append(1000 * cpu(partial(_all, call, problems, solver), rounds)[0] / len(problems))
            print(f"{f'{solver}, {title}':<38} {'  '.join(f'{each:>10.3f}' for each in took)}", flush=True)


def _window(items: int, seed: int) -> Knapsack:
    """Waiting jobs of Theta's sizes before 2,000 idle nodes: node-seconds waited per node."""
    rng = np.random.default_rng(seed)
    nodes = rng.choice([1, 16, 128, 256, 384, 512, 777, 1024], items)
    return Knapsack(nodes * rng.integers(1, 10**5, items), nodes, 2000)


def _solve(problem: Knapsack, solver: str) -> object:
    return solve(problem, solver)


def _answer(problem: Knapsack, solver: str) -> object:
    return answer(problem, _LOADED[solver], Stop(seconds=1.0), 0)


def _all(call: Callable[[Knapsack, str], object], problems: list[Knapsack], solver: str) -> None:
    for problem in problems:
        call(problem, solver)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path, default=THETA)
    parser.add_argument("--rules", action="store_true", help="only rules whose order changes with time")
    parser.add_argument("--jobs", type=int, help="only the first so many")
    parser.add_argument("--general", type=int, default=2000, help="jobs of the general path")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--objective", default="nodes", help="of the window policy")
    parser.add_argument("--cluster", help="a tree, by default the smallest k-ary one")
    arguments = parser.parse_args()
    workload = read_swf(arguments.trace)
    workload = workload.take(np.arange(min(arguments.jobs or len(workload), len(workload))))
    nodes = workload.cluster.num_nodes
    k = next(k for k in count(2, 2) if k**3 // 4 >= nodes)
    tree = parse_tree(arguments.cluster or f"fat-tree:k={k}", nodes)
    clustered = replace(workload, cluster=replace(workload.cluster, topology=tree))
    policy, few, rounds = f"window:solver=dp,objective=[{arguments.objective}]", arguments.general, arguments.rounds
    print(f"{workload.name}: {len(workload):,} jobs on {nodes} nodes, {arguments.cluster or f'fat-tree:k={k}'}")
    columns = f"general, {few}", f"fast, {few}", "fast, all"
    print(f"{'jobs per CPU second':<38} {'  '.join(f'{column:>10}' for column in columns)}")
    for rule in RULES:
        compare(rule, partial(simulate, policy=rule), workload, few, rounds)
    formulas(workload, rounds)
    if arguments.rules:
        return
    compare(policy, lambda jobs: simulate(jobs, policy), workload, few, rounds)
    for title, per_job in (("--allocate scas-dp", False), ("--allocate scas-dp --allocate-by job", True)):
        allocator = Allocator("scas-dp", per_job=per_job)
        took, _ = cpu(partial(simulate, clustered, "fcfs-easy", allocator=allocator), rounds)
        print(f"{title:<38} {len(clustered) / took:>10,.0f}", flush=True)
    windows(rounds)


if __name__ == "__main__":
    main()
