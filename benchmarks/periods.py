"""Windows by period against FCFS and backfilling: experiment VI-E of the NSA paper, and its figure 6.

    python -m benchmarks.periods                                  # the paper's tree and cost, ten epochs of 300 jobs
    python -m benchmarks.periods --cost-model authors --pod 40    # as in the authors' public code

FCFS and EASY backfilling (BF) start jobs at every event and place them one after another; windows start them at
the multiples of a period, by the number of periods waited, and place those of a window together. Nodes are chosen
by `sequential` (the next idle nodes) and by exact solvers under each rule; every method meets the same jobs.
Which nodes jobs get never changes when they run, so the waits of a method are the same under all of them.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from transom import registry
from transom.cli.output.console import number, print_table
from transom.errors import TransomError
from transom.generate.instances.tjap import StreamModel
from transom.models import Cluster, FatTree, HopCost, JobTable
from transom.plot import hops_and_waits, save
from transom.rng import stream
from transom.simulation import simulate
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.output.verification import check_nodes, check_schedule
from transom.traces import Workload

PER_JOB = {"FCFS": "fcfs", "BF": "fcfs-easy"}


def epoch(number: int, jobs: int, tree: FatTree, seed: int) -> Workload:
    """The first jobs of a stream as in section VI-A; walltimes are the runtimes, which the paper takes as known."""
    model = StreamModel()
    drawn = model.arrivals(jobs * model.gaps[1], stream(seed, "periods", number))
    submit, nodes, runtime = (column[:jobs] for column in drawn)
    unknown = np.full(jobs, -1)
    table = np.column_stack((np.arange(1, jobs + 1), submit, nodes, runtime, unknown, unknown))
    return Workload(f"epoch {number}", Cluster(tree.num_nodes, topology=tree), JobTable(table), runtime)


def measure(workloads: list[Workload], policy: str, solver: str, cost: HopCost, per_job: bool) -> np.ndarray:
    """Mean hop cost, mean wait [s], switches and pods per job, and share of allocations proved, of each epoch."""
    allocator = Allocator(solver, cost=cost, per_job=per_job)
    rows = []
    for workload in workloads:
        schedule = simulate(workload, policy, allocator=allocator)
        assert schedule.spread is not None
        assert schedule.runs is not None
        assert check_schedule(workload, schedule) + check_nodes(schedule, schedule.runs) == []
        spread, told = schedule.spread, schedule.decisions
        proved = told["allocation_proved"][told["allocated"] > 0].mean()
        rows.append([each.mean() for each in (spread.hop_cost, schedule.wait, spread.leaves, spread.pods)] + [proved])
    return np.array(rows)


def main() -> None:
    """Read the command line, replay, print the table, draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=300, help="of an epoch")
    parser.add_argument("--periods", type=int, nargs="+", default=[10, 20, 30, 40, 50, 60], help="[s]")
    parser.add_argument("--window", choices=("paper", "code"), default="paper", help="which jobs a window takes")
    parser.add_argument("--solvers", nargs="+", default=["sequential", "scas-dp", "dcas-exact", "free-exact"])
    parser.add_argument("--cost-model", default="paper")
    parser.add_argument("--pod", type=int, default=100, help="nodes of a pod: 100 in the paper, 40 in the code")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/periods.png"), help="the figure: .png, .pdf or .svg")
    arguments = parser.parse_args()
    try:
        run(arguments)
    except TransomError as error:
        parser.error(str(error))


def run(arguments: argparse.Namespace) -> None:
    """Replay every method with every solver."""
    if min(arguments.epochs, arguments.jobs) < 1:
        raise TransomError(f"--epochs and --jobs must be > 0, got {arguments.epochs} and {arguments.jobs}")
    begin = time.perf_counter()
    tree = FatTree.uniform(1000, 10, arguments.pod)
    cost = registry.make(registry.COST_MODELS, arguments.cost_model)
    workloads = [epoch(k, arguments.jobs, tree, arguments.seed) for k in range(1, arguments.epochs + 1)]
    methods = {**PER_JOB, **{f"{tau} s": f"nwp:period={tau},window={arguments.window}" for tau in arguments.periods}}
    costs: dict[str, list[float]] = {}
    waits: dict[str, float] = {}
    rows = []
    for solver in arguments.solvers:
        for method, policy in methods.items():
            each = measure(workloads, policy, solver, cost, method in PER_JOB)
            mean = each.mean(axis=0)
            costs.setdefault(solver, []).append(float(mean[0]))
            assert waits.setdefault(method, mean[1]) == mean[1], "waits do not depend on nodes"
            deviation = each[:, 0].std(ddof=1) if len(each) > 1 else float("nan")
            places = [number(mean[2], 2), number(mean[3], 2), number(100 * mean[4], 1)]
            rows.append([solver, method, number(mean[0], 0), number(deviation, 0), number(mean[1], 1), *places])
    told = f"{arguments.epochs} epochs of {arguments.jobs} jobs on {tree.num_nodes} nodes, pods of {arguments.pod}"
    title = f"{told}, cost model {arguments.cost_model}"
    columns = ["solver", "method", "mean hop cost", "± epochs", "mean wait [s]", "switches", "pods", "proved [%]"]
    print_table(title, columns, rows, left=2)
    figure = hops_and_waits(list(methods), costs, list(waits.values()), told, len(PER_JOB))
    print(f"figure: {save(figure, arguments.out)}; {time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
