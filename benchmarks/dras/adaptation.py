"""Figure 9: demand and mean wait by week, of an agent as it was trained and of one that goes on learning."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.dras.methods import FCFS, RULES, SAF, SJF, WAITING, agents
from benchmarks.dras.rows import add_workload, workload_of
from transom import simulate
from transom.cli.output.console import number, print_table, progress
from transom.plot import save, weekly
from transom.simulation import Schedule
from transom.simulation.output.breakdowns import by_week
from transom.simulation.output.metrics import summary

BUSIEST = 0.25
"""Share of the weeks that count as busy: those in which most node-hours were submitted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    add_workload(parser)
    parser.add_argument("--agents", type=Path, required=True, help="folder with VARIANT/SEED/*.safetensors")
    parser.add_argument(
        "--every", type=int, default=10, help="scheduling instances between two updates, as in the paper"
    )
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-4], help="learning rates of the updates")
    parser.add_argument("--seeds", type=int, default=5, help="agents of so many seeds")
    parser.add_argument("--out", type=Path, default=Path("out/dras/weekly.png"), help="the figure, of the first seed")


def run(arguments: argparse.Namespace) -> None:
    """Replay with and without adaptation, print the means and draw the weeks."""
    workload = workload_of(arguments)
    trained = [method for method in agents(arguments.agents) if method.label == WAITING][: arguments.seeds]
    shown = [simulate(workload, RULES[label], label=label) for label in (FCFS, SJF, SAF)]
    cells = [[schedule.policy, "-", *_figures(schedule), "-"] for schedule in shown]
    kinds = {WAITING: ""} | {
        f"{WAITING}, adapting at {rate:g}": f",adapt=yes,instances={arguments.every},learning_rate={rate:g}"
        for rate in arguments.rates
    }
    with progress() as bars:
        task = bars.add_task("replays", total=len(trained) * len(kinds))
        for label, more in kinds.items():
            for place, method in enumerate(trained):
                begin = time.perf_counter()
                schedule = simulate(workload, method.spec + more, seed=method.agent or 0, label=label)
                seconds = time.perf_counter() - begin
                cells.append([label, str(method.agent), *_figures(schedule), number(seconds, 1)])
                if place == 0:
                    shown.append(schedule)
                bars.advance(task)
    columns = [
        "method",
        "seed",
        "mean wait [s]",
        "in busy weeks [s]",
        "in others [s]",
        "bounded slowdown",
        "max wait [h]",
    ]
    print_table(f"{workload.name}, without jitter", [*columns, "replay [s]"], cells)
    print(f"figure: {save(weekly(shown), arguments.out)}")


def _figures(schedule: Schedule) -> list[str]:
    busy, others = busy_and_other_waits(schedule)
    whole = summary(schedule)
    waits = (number(each, 0) for each in (whole["mean_wait"], busy, others))
    return [*waits, number(whole["mean_bounded_slowdown"], 1), number(whole["max_wait"] / 3600, 0)]


def busy_and_other_waits(schedule: Schedule) -> tuple[float, float]:
    """Mean waiting time [s] of the jobs submitted in the busiest weeks (:data:`BUSIEST`) and in all others."""
    weeks = by_week(schedule)
    demand = np.array([week.group.node_hours for week in weeks])
    busy = np.argsort(-demand, kind="stable")[: max(1, round(BUSIEST * len(weeks)))]
    found = []
    for chosen in (busy, np.setdiff1d(np.arange(len(weeks)), busy)):
        jobs = sum(weeks[i].group.jobs for i in chosen)
        total = sum(weeks[i].group.mean_wait * weeks[i].group.jobs for i in chosen)
        found.append(total / jobs if jobs else float("nan"))
    return found[0], found[1]
