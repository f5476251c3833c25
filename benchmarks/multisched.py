"""Several resources on a trace: the MultiSched poster's comparison (Figure 4), knob (Figure 5) and times (Figure 6).

    python -m benchmarks.multisched compare TRACE             # every method, three seeds: table, spokes, gain
    python -m benchmarks.multisched knob TRACE                # utilisation and order of the site against k
    python -m benchmarks.multisched times TRACE               # time of a decision against the number of resources

The poster draws requests for R1-R5 from normal distributions that it does not state. Here each resource has the law
`normal`, truncated at zero, with the deviation at `--deviation` of the mean, and a capacity at which its load is that
of the nodes (`--load` sets another). Budgets are iterations, so that a run can be repeated; what is finished is kept in
`--out` and not computed again, so that the whole trace (`--jobs 0`) can be interrupted. Every schedule is verified at
every event; an audit counts how often each job is passed over and what it is promised.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.starvation_audit import Audited
from transom import read_swf, simulate
from transom._system.files import atomic_write
from transom.cli.output.console import number, print_table, progress
from transom.errors import TransomError
from transom.generate.demands.resources import offered_load, with_resources
from transom.plot import decision_times, gain_over_time, knob_sweep, save, utilisation_kiviat
from transom.rng import stream
from transom.simulation import Schedule
from transom.simulation.output.metrics import summary, utilisation
from transom.simulation.policies.by_name import make_policy
from transom.simulation.runs import Run, replay
from transom.traces import Workload, cut

BOUND = 50
GENERATIONS = 50


def methods(window: str) -> dict[str, str]:
    """The methods of the poster by the names in its figures; the exact front, also with what fits behind the window."""
    exact = f"{window},bound={BOUND},seconds=none"
    return {
        "FCFS": "fcfs",
        "FCFS+EASY": "fcfs-easy",
        "Weighted": f"weighted:{exact}",
        "Constrained": f"constrained:{exact}",
        "BinPacking": f"dot-product:{window},bound={BOUND}",
        "BBSched": f"bbsched:rule=trade-off,{exact},iterations={GENERATIONS}",
        "MultiSched": f"multisched:{exact},iterations={GENERATIONS}",
        "exact front": f"selection:solver=pareto-dp,{exact}",
        "exact front, backfilled": f"selection:solver=pareto-dp,backfill=yes,{exact}",
    }


def workload_of(arguments: argparse.Namespace, resources: int, seed: int) -> Workload:
    """The jobs asked for, with so many further resources."""
    workload = read_swf(arguments.trace)
    if arguments.jobs:
        workload = cut(workload, arguments.start, arguments.jobs)
    load = "" if arguments.load is None else f",load={arguments.load:g}"
    law = f"[normal:mean=100,deviation={100 * arguments.deviation:g}{load}]"
    return with_resources(workload, ",".join(f"R{r}={law}" for r in range(1, resources + 1)), seed)


def measured(workload: Workload, label: str, spec: str, seed: int, out: Path) -> tuple[Schedule, dict[str, float]]:
    """One replay, verified, and what the audit of the starvation bound found; kept in a folder."""
    run = Run(label.replace(", ", "-").replace(" ", "-").replace("+", "-"), spec, seed)
    schedule, read = replay(workload, run, out)
    path = out / run.label / "audit.json"
    if not hasattr(make_policy(spec), "bound"):
        return schedule, {"promises": 0}
    if read and path.exists():
        return schedule, json.loads(path.read_text())
    watched = Audited(make_policy(spec), BOUND, stream(seed, spec))
    again = simulate(workload, watched, seed=seed)
    faults = watched.verdict(again)
    if not np.array_equal(again.start, schedule.start):
        faults.append("replayed again it is another schedule")
    if faults:
        raise RuntimeError(f"{label}: {'; '.join(faults[:3])}")
    found = {"promises": len(watched.promised), "most_passed": max(watched.passed.values(), default=0)}
    with atomic_write(path) as file:
        json.dump(found, file)
    return schedule, found


def used(schedule: Schedule) -> list[float]:
    """Utilisation of the nodes and of each further resource between the first and the last submission."""
    first, last = int(schedule.jobs.submit.min()), int(schedule.jobs.submit.max())
    return [utilisation(schedule, first, last, each) for each in (None, *schedule.cluster.resources)]


def kept_order(schedule: Schedule) -> float:
    """Share of the jobs that no job submitted after them overtook."""
    order = np.lexsort((schedule.jobs.id, schedule.jobs.submit))
    start = schedule.start[order]
    earliest_behind = np.append(np.minimum.accumulate(start[::-1])[::-1][1:], np.iinfo(np.int64).max)
    return float((start <= earliest_behind).mean())


def decision_seconds(schedule: Schedule) -> float:
    """Mean time of the solver over the decisions that asked it [s]; NaN where there is none."""
    if "seconds" not in schedule.decisions:
        return math.nan
    asked = schedule.decisions["points"] > 0
    return float(schedule.decisions["seconds"][asked].mean()) if asked.any() else math.nan


def compare(arguments: argparse.Namespace) -> None:
    """Figure 4: every method over all seeds."""
    table: dict[str, list[list[float]]] = {}
    shown: list[Schedule] = []
    chosen = methods(f"size={arguments.size}")
    promises: dict[str, int] = {}
    loads = []
    with progress() as bars:
        task = bars.add_task("replays", total=len(chosen) * arguments.seeds)
        for seed in range(arguments.seeds):
            workload = workload_of(arguments, arguments.resources, seed)
            loads.append(offered_load(workload))
            for label, spec in chosen.items():
                schedule, audit = measured(workload, label, spec, seed, arguments.out / f"seed-{seed}")
                figures = summary(schedule)
                waits = [figures[name] / 3600 for name in ("mean_wait", "p95_wait", "max_wait")]
                slow = [figures["mean_bounded_slowdown"]]
                table.setdefault(label, []).append(
                    [*used(schedule), *waits, *slow, 100 * kept_order(schedule), 1000 * decision_seconds(schedule)]
                )
                promises[label] = promises.get(label, 0) + int(audit["promises"])
                if seed == 0:
                    shown.append(replace(schedule, policy=label))
                bars.advance(task)
    resources = ["nodes", *workload.cluster.resources]
    means = {label: np.mean(rows, axis=0) for label, rows in table.items()}
    spread = {
        label: np.std(rows, axis=0, ddof=1) if len(rows) > 1 else np.nan * means[label] for label, rows in table.items()
    }
    told = _told(workload, arguments.seeds)
    load = " ".join(f"{100 * load:.0f}" for load in np.mean(loads, axis=0))
    title = f"{told}, windows of {arguments.size}, offered load {load} %"
    count = len(resources)
    shares = [[label, *(number(100 * share, 1) for share in mean[:count])] for label, mean in means.items()]
    print_table(f"{title}: utilisation while jobs are submitted", ["method", *(f"{r} [%]" for r in resources)], shares)
    rows = [
        [
            label,
            number(mean[count], 2),
            number(spread[label][count], 2),
            *(number(x, 1) for x in mean[count + 1 : -1]),
            number(mean[-1], 2),
            f"{promises[label]:,}",
        ]
        for label, mean in means.items()
    ]
    columns = ["method", "mean wait [h]", "± seeds", "p95 [h]", "longest [h]", "bounded slowdown"]
    columns += ["not overtaken [%]", "solver a decision [ms]", "promises"]
    print_table("waiting times, and how far the order of the site is kept", columns, rows)
    print(
        "no resource is oversubscribed at any event; every promise is kept, and who is passed over often enough has one"
    )
    spokes = utilisation_kiviat(resources, {label: mean[:count].tolist() for label, mean in means.items()}, told)
    print(f"figure: {save(spokes, arguments.out / 'utilisation.png')}")
    ahead = [schedule for schedule in shown if schedule.policy == "MultiSched"]
    others = [schedule for schedule in shown if schedule.policy != "MultiSched"]
    print(f"figure: {save(gain_over_time(ahead + others), arguments.out / 'gain.png')}")


def knob(arguments: argparse.Namespace) -> None:
    """Figure 5: MultiSched under several values of k."""
    resources: list[str] = []
    rows = []
    with progress() as bars:
        task = bars.add_task("replays", total=len(arguments.knob) * arguments.seeds)
        for k in arguments.knob:
            each = []
            for seed in range(arguments.seeds):
                workload = workload_of(arguments, arguments.resources, seed)
                resources = ["nodes", *workload.cluster.resources]
                spec = f"multisched:k={k:g},seconds=none,iterations={GENERATIONS},bound={BOUND}"
                schedule, _ = replay(workload, Run(f"k-{k:g}", spec, seed), arguments.out / f"seed-{seed}")
                each.append([*used(schedule), kept_order(schedule), summary(schedule)["mean_wait"] / 3600])
                bars.advance(task)
            rows.append(np.mean(each, axis=0))
    told = _told(workload, arguments.seeds)
    columns = ["k", *(f"{name} [%]" for name in resources), "not overtaken [%]", "mean wait [h]"]
    cells = [
        [f"{k:g}", *(number(100 * x, 1) for x in row[:-1]), number(row[-1], 2)]
        for k, row in zip(arguments.knob, rows, strict=True)
    ]
    print_table(f"MultiSched: {told}", columns, cells)
    lines = {name: [row[r] for row in rows] for r, name in enumerate(resources)}
    figure = knob_sweep(arguments.knob, lines, {"jobs nobody overtook": [row[-2] for row in rows]}, told)
    print(f"figure: {save(figure, arguments.out / 'knob.png')}")


def times(arguments: argparse.Namespace) -> None:
    """Figure 6: how long a decision takes with more and more resources."""
    counts = arguments.counts
    window = methods(f"size={arguments.size}")
    lines: dict[str, list[float]] = {label: [] for label in ("BBSched", "MultiSched", "exact front")}
    tails: dict[str, list[float]] = {label: [] for label in lines}
    with progress() as bars:
        task = bars.add_task("replays", total=len(counts) * len(lines))
        for count in counts:
            workload = workload_of(arguments, count - 1, 0)
            for label in lines:
                # In wall-clock time: no solver may take longer than a scheduler would wait for it.
                spec = window[label].replace("seconds=none", "seconds=30")
                schedule, _ = replay(workload, Run(label.replace(" ", "-"), spec), arguments.out / f"resources-{count}")
                asked = schedule.decisions["seconds"][schedule.decisions["points"] > 0]
                lines[label].append(float(asked.mean()) if len(asked) else math.nan)
                tails[label].append(float(np.quantile(asked, 0.99)) if len(asked) else math.nan)
                bars.advance(task)
    told = f"{workload.name}, {len(workload):,} jobs, windows of {arguments.size}"
    columns = ["resources", *(f"{label} [ms]" for label in lines), *(f"{label}, 99 % [ms]" for label in lines)]
    rows = [
        [str(count), *(number(1000 * each[i], 2) for each in (*lines.values(), *tails.values()))]
        for i, count in enumerate(counts)
    ]
    print_table(f"mean time of a decision: {told}", columns, rows)
    print(f"figure: {save(decision_times(counts, lines, 0.6, told), arguments.out / 'times.png')}")


def _told(workload: Workload, seeds: int) -> str:
    return f"{workload.name}, {len(workload):,} jobs, {seeds} seed{'s' * (seeds > 1)}"


def main(given: Sequence[str] | None = None) -> None:
    """Read the command line and run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("compare", "knob", "times"))
    parser.add_argument("trace", type=Path)
    parser.add_argument("--jobs", type=int, default=2000, help="consecutive jobs; 0 for the whole trace")
    parser.add_argument("--start", type=int, default=0, help="position of the first job")
    parser.add_argument("--resources", type=int, default=5, help="further resources of compare and knob")
    parser.add_argument("--deviation", type=float, default=0.5, help="of a request, as a share of the mean")
    parser.add_argument("--load", type=float, help="of each further resource; that of the nodes by default")
    parser.add_argument("--size", type=int, default=20, help="jobs in the window of compare and times")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--knob", type=float, nargs="+", default=[0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1])
    parser.add_argument(
        "--counts", type=int, nargs="+", default=[2, 4, 6, 8, 10], help="resources of times, with nodes"
    )
    parser.add_argument("--out", type=Path, default=None, help="what is finished, and figures: out/multisched-WHAT")
    arguments = parser.parse_args(given)
    arguments.out = arguments.out or Path("out") / f"multisched-{arguments.what}"
    begin = time.perf_counter()
    try:
        {"compare": compare, "knob": knob, "times": times}[arguments.what](arguments)
    except TransomError as error:
        parser.error(str(error))
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
