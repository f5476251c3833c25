"""Figures 4 and 5: the validation after each jobset, in several orders of jobsets and of several agents."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.dras.methods import DQL, FCFS, RULES, WAITING
from benchmarks.dras.rows import copies, reading
from transom import simulate
from transom._system.files import atomic_write
from transom.cli.output.console import number, print_table, progress
from transom.generate import PHASES, by_months
from transom.generate.workload.jobsets import JOBS
from transom.learned.dras.process.process import AgentConfig
from transom.learned.dras.training.jobsets import phased, scale_load
from transom.learned.dras.training.training import Training, TrainingSettings
from transom.learned.training.devices import chosen_device
from transom.plot import learning, save
from transom.traces import Workload, read_swf

TRAINING, VALIDATION = (1, 2), (3, 3)
"""Months of the trace, as in the paper."""

BATCH = 512
"""Decisions of an update; jobsets hold some hundreds to thousands of them."""

LEVELS = (FCFS, "BinPacking", "Random", "Optimization, eq. 1")
"""What does not learn, for the learning curves."""

ORDERS = {
    "sampled, real, synthetic": ("sampled", "real", "synthetic"),
    "real, sampled, synthetic": ("real", "sampled", "synthetic"),
    "synthetic, sampled, real": ("synthetic", "sampled", "real"),
    "real alone": ("real",),
}
"""Figure 4: the phases in the order of the training."""

PPO = "ppo:passes=4,minibatch=128"  # jobsets are short: more is made of each decision than in a long training

METHODS = {
    f"{WAITING}, PPO": (PPO, 2),
    f"{WAITING}, eq. 3": ("pg", 2),
    f"{DQL}, eq. 4": ("dql", 2),
    "Decima-PG, PPO": (PPO, 1),
}
"""Figure 5: how weights are updated, and the levels of the process."""


class Curve(NamedTuple):
    """A training: its name and seed, and the mean wait of the validation [s] before it and after each jobset."""

    label: str
    seed: int
    waits: list[float]


def in_order(
    workload: Workload, phases: Sequence[str], seed: int, synthetic: int = 30, jobs: int = JOBS, rate: float = 1.0
) -> list[Workload]:
    """Jobsets phase after phase; the same ones in every order, and as many where a phase is left out.

    Parameters
    ----------
    workload : the part of the trace that is there for training.
    phases : in their order.
    seed : of what is drawn.
    synthetic : how many synthetic jobsets.
    jobs : in each sampled or synthetic one.
    rate : by which times between submissions are divided, so that there is more to decide.
    """
    whole = {phase: phased(workload, phase, seed, jobs) for phase in ("sampled", "real")}
    whole["synthetic"] = phased(workload, f"synthetic={synthetic}", seed, jobs)
    total = sum(map(len, whole.values()))
    listed = [scale_load(made, rate) for phase in phases for made in whole[phase]]
    return [listed[i % len(listed)] for i in range(total)]


def trained(training: Training) -> Iterator[float]:
    """Train on one jobset after another; the mean wait of the validation [s] before it and after each."""
    sets = len(training.episodes.workloads)
    yield training.validate().figures["mean_wait"]
    told = 0
    while told < sets:
        training.step(told / sets)
        finished = min(training.episodes.finished, sets)
        if finished > told:
            wait = training.validate().figures["mean_wait"]
            for _ in range(told, finished):  # one recording may reach over several short jobsets
                yield wait
            told = finished


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("what", choices=("orders", "methods"), help="figure 4 or figure 5")
    parser.add_argument("trace", type=Path)
    parser.add_argument("--epoch", type=int, default=0, help="second 0 of the trace in Unix time: its UnixStartTime")
    parser.add_argument("--agent", default="pg", help="how weights are updated in figure 4")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--synthetic", type=int, default=30, help="synthetic jobsets; the paper: 82")
    parser.add_argument("--jobs", type=int, default=JOBS, help="of a sampled or synthetic jobset")
    parser.add_argument("--rate", type=float, default=1.0, help="by which times between submissions are divided")
    parser.add_argument("--copies", type=int, default=3, help="jittered copies of the validation")
    parser.add_argument("--rows", type=Path, required=True, help="where the curves are kept (.csv)")
    parser.add_argument("--out", type=Path, required=True, help="the figure")


def run(arguments: argparse.Namespace) -> None:
    """Train what the file of curves lacks, print where each ends, and draw."""
    import torch

    torch.set_num_threads(1)
    device = chosen_device("cpu")
    trace = read_swf(arguments.trace)
    workload = by_months(trace, *TRAINING, arguments.epoch)
    validation = copies(by_months(trace, *VALIDATION, arguments.epoch), arguments.copies)
    runs: dict[str, tuple[Sequence[str], str, int]]
    if arguments.what == "orders":
        runs = {label: (phases, arguments.agent, 2) for label, phases in ORDERS.items()}
    else:
        runs = {label: (PHASES, agent, levels) for label, (agent, levels) in METHODS.items()}
    curves = read_curves(arguments.rows) if arguments.rows.exists() else []
    with progress() as bars:
        task = bars.add_task("jobsets", total=None)
        for seed in range(1, arguments.seeds + 1):
            for label, (phases, agent, levels) in runs.items():
                if any((curve.label, curve.seed) == (label, seed) for curve in curves):
                    continue
                sets = in_order(workload, phases, seed, arguments.synthetic, arguments.jobs, arguments.rate)
                settings = TrainingSettings(
                    agent=agent, scheme=AgentConfig(levels=levels, head=0, keep=0), batch=BATCH, seed=seed
                )
                bars.reset(task, total=len(sets), description=f"{label}, seed {seed}")
                waits = []
                for wait in trained(Training(sets, validation, settings, device)):
                    waits.append(wait)
                    bars.update(task, completed=len(waits) - 1)
                curves.append(Curve(label, seed, waits))
                write_curves(arguments.rows, curves)
    show(arguments, [curve for curve in curves if curve.label in runs and curve.seed <= arguments.seeds], validation)


def show(arguments: argparse.Namespace, curves: Sequence[Curve], validation: Sequence[Workload]) -> None:
    """Print where the curves begin and end, and draw them."""
    levels = {
        label: float(np.mean([simulate(copy, RULES[label]).wait.mean() for copy in validation])) for label in LEVELS
    }
    title = f"{validation[0].name}: mean wait [s], means over {arguments.seeds} seeds"
    print_table(title, *curve_table(curves))
    print(", ".join(f"{label} {number(level, 0)} s" for label, level in levels.items()))
    hours = {label: table / 3600 for label, table in by_label(curves).items()}
    shown = {label: level / 3600 for label, level in levels.items()} if arguments.what == "methods" else {}
    figure = learning(hours, shown, f"validation on {validation[0].name}", ("jobset", "mean wait [h]"))
    print(f"figure: {save(figure, arguments.out)}")


def curve_table(curves: Sequence[Curve]) -> tuple[list[str], list[list[str]]]:
    """Columns and cells: the mean wait [s] after some jobsets, over the seeds, the best, and the last of each seed."""
    tables = by_label(curves)
    last = min(table.shape[1] for table in tables.values()) - 1
    jobsets = [0, *(at for at in (9, 18) if at < last), last]
    cells = [
        [
            label,
            *(number(table[:, at].mean(), 0) for at in jobsets),
            number(table.min(axis=1).mean(), 0),
            " ".join(number(wait, 0) for wait in table[:, last]),
        ]
        for label, table in tables.items()
    ]
    return ["training", *(f"after {at} jobsets" for at in jobsets), "best", f"after {last}, by seed"], cells


def by_label(curves: Sequence[Curve]) -> dict[str, np.ndarray]:
    """The curves of each label, shape ``(seeds, 1 + jobsets)``."""
    found: dict[str, list[list[float]]] = {}
    for curve in curves:
        found.setdefault(curve.label, []).append(curve.waits)
    return {label: np.array(waits) for label, waits in found.items()}


def write_curves(path: Path, curves: Sequence[Curve]) -> None:
    """Write curves, a line for each jobset; the file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["training", "seed", "jobset", "mean_wait"])
        for curve in curves:
            out.writerows([curve.label, curve.seed, at, f"{wait:.7g}"] for at, wait in enumerate(curve.waits))


def read_curves(path: Path) -> list[Curve]:
    """Read what :func:`write_curves` wrote.

    Raises
    ------
    DocumentError : it is no such table.
    """
    with reading(path) as lines:
        found: dict[tuple[str, int], list[float]] = {}
        for line in lines:
            found.setdefault((line["training"], int(line["seed"])), []).append(float(line["mean_wait"]))
    return [Curve(label, seed, waits) for (label, seed), waits in found.items()]
