"""Figures 4 and 5: the validation after each jobset, in several orders of jobsets and of several agents."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.dras.methods import DQL, FCFS, RULES, WAITING
from benchmarks.dras.rows import copies, reading
from transom import simulate
from transom.cli.output import number, print_table, progress
from transom.files import whole_file
from transom.generate import PHASES, by_months, jobsets
from transom.generate.jobsets import JOBS, Phase
from transom.learned.checkpoints import require
from transom.plot import learning, save
from transom.rng import stream
from transom.traces import Workload, read_swf

if TYPE_CHECKING:
    from transom.learned.dras.learner import Learner
    from transom.learned.dras.process import Scheme
    from transom.learned.dras.scorer_network import ScorerNetwork

TRAINING, VALIDATION = (1, 2), (3, 3)
"""Months of the trace, as in the paper."""

HIDDEN = (32, 32)
DECISIONS = 1024
"""Recorded between two updates."""

LEVELS = (FCFS, "BinPacking", "Random", "Optimization, eq. 1")
"""What does not learn, for the learning curves."""

ORDERS: dict[str, tuple[Phase, ...]] = {
    "sampled, real, synthetic": ("sampled", "real", "synthetic"),
    "real, sampled, synthetic": ("real", "sampled", "synthetic"),
    "synthetic, sampled, real": ("synthetic", "sampled", "real"),
    "real alone": ("real",),
}


class Curve(NamedTuple):
    """A training: its name and seed, and the mean wait of the validation [s] before it and after each jobset."""

    label: str
    seed: int
    waits: list[float]


Make = Callable[["ScorerNetwork"], "Learner"]


def agents() -> dict[str, tuple[Make, Scheme]]:
    """How the agents of figure 5 learn and schedule."""
    from transom.learned.dras.policy_gradient import PolicyGradient, PolicyGradientSettings
    from transom.learned.dras.ppo import Ppo, PpoSettings
    from transom.learned.dras.process import Scheme
    from transom.learned.dras.q_learning import QLearning, QLearningSettings

    def ppo(network: ScorerNetwork) -> Learner:
        return Ppo(network, PpoSettings())

    def eq3(network: ScorerNetwork) -> Learner:
        return PolicyGradient(network, PolicyGradientSettings())

    def eq4(network: ScorerNetwork) -> Learner:
        return QLearning(network, QLearningSettings())

    return {
        f"{WAITING}, PPO": (ppo, Scheme()),
        f"{WAITING}, eq. 3": (eq3, Scheme()),
        f"{DQL}, eq. 4": (eq4, Scheme()),
        "Decima-PG, PPO": (ppo, Scheme(levels=1)),
    }


def in_order(workload: Workload, phases: Sequence[Phase], seed: int, synthetic: int, jobs: int) -> list[Workload]:
    """Jobsets phase after phase; the same ones in every order, and as many where a phase is left out."""
    whole = {
        phase: list(jobsets(workload, phase, stream(seed, "jobsets", phase), count, jobs))
        for phase, count in zip(PHASES, (None, None, synthetic), strict=True)
    }
    total = sum(map(len, whole.values()))
    listed = [made for phase in phases for made in whole[phase]]
    return [listed[i % len(listed)] for i in range(total)]


def trained(
    sets: Sequence[Workload], validation: Sequence[Workload], make: Make, scheme: Scheme, seed: int
) -> Iterator[float]:
    """Train on one jobset after another; the mean wait of the validation [s] before it and after each."""
    from transom.learned.dras.collect import Episodes, collect, replay
    from transom.learned.dras.features import CONTEXT, FEATURES
    from transom.learned.dras.scorer_network import ScorerNetwork

    network = ScorerNetwork(len(FEATURES), len(CONTEXT), HIDDEN, stream(seed, "weights"))
    learner, rng = make(network), stream(seed, "training")

    def validated() -> float:
        return float(np.mean([replay(copy, scheme, network.scorer()).wait.mean() for copy in validation]))

    yield validated()
    episodes, told = Episodes(sets), 0
    while told < len(sets):
        batch = collect(episodes, scheme, network.scorer(), DECISIONS, rng, learner.exploration)
        learner.update(batch, rng, episodes.finished / len(sets))
        if episodes.finished > told:
            wait = validated()
            # A recording may reach over several short jobsets.
            for _ in range(told, min(episodes.finished, len(sets))):
                yield wait
            told = episodes.finished


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("what", choices=("orders", "methods"), help="figure 4 or figure 5")
    parser.add_argument("trace", type=Path)
    parser.add_argument("--epoch", type=int, default=0, help="second 0 of the trace in Unix time: its UnixStartTime")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--synthetic", type=int, default=30, help="synthetic jobsets; the paper: 82")
    parser.add_argument("--jobs", type=int, default=JOBS, help="of a sampled or synthetic jobset")
    parser.add_argument("--copies", type=int, default=3, help="jittered copies of the validation")
    parser.add_argument("--rows", type=Path, required=True, help="where the curves are kept (.csv)")
    parser.add_argument("--out", type=Path, required=True, help="the figure")


def run(arguments: argparse.Namespace) -> None:
    """Train what the file of curves lacks, print where each ends, and draw."""
    require("training", "torch")
    import torch

    torch.set_num_threads(1)
    trace = read_swf(arguments.trace)
    workload = by_months(trace, *TRAINING, arguments.epoch)
    validation = copies(by_months(trace, *VALIDATION, arguments.epoch), arguments.copies)
    known = agents()
    main_make, main_scheme = next(iter(known.values()))
    if arguments.what == "orders":
        runs = {label: (phases, main_make, main_scheme) for label, phases in ORDERS.items()}
    else:
        runs = {label: (PHASES, make, scheme) for label, (make, scheme) in known.items()}
    curves = read_curves(arguments.rows) if arguments.rows.exists() else []
    with progress() as bars:
        task = bars.add_task("jobsets", total=None)
        for seed in range(1, arguments.seeds + 1):
            for label, (phases, make, scheme) in runs.items():
                if any((curve.label, curve.seed) == (label, seed) for curve in curves):
                    continue
                sets = in_order(workload, phases, seed, arguments.synthetic, arguments.jobs)
                bars.reset(task, total=len(sets), description=f"{label}, seed {seed}")
                waits = []
                for wait in trained(sets, validation, make, scheme, seed):
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
    tables = by_label(curves)
    jobs = [0, 9, 18, next(iter(tables.values())).shape[1] - 1]
    cells = [
        [label, *(number(table[:, at].mean(), 0) for at in jobs), number(table.min(axis=1).mean(), 0)]
        for label, table in tables.items()
    ]
    cells += [[label, *("-" for _ in jobs), number(level, 0)] for label, level in levels.items()]
    title = f"{validation[0].name}: mean wait [s], means over {arguments.seeds} seeds"
    print_table(title, ["training", *(f"after {at}" for at in jobs), "best"], cells)
    hours = {label: table / 3600 for label, table in tables.items()}
    shown = {label: level / 3600 for label, level in levels.items()} if arguments.what == "methods" else {}
    figure = learning(hours, shown, f"validation on {validation[0].name}", ("jobset", "mean wait [h]"), log=True)
    print(f"figure: {save(figure, arguments.out)}")


def by_label(curves: Sequence[Curve]) -> dict[str, np.ndarray]:
    """The curves of each label, shape ``(seeds, 1 + jobsets)``."""
    found: dict[str, list[list[float]]] = {}
    for curve in curves:
        found.setdefault(curve.label, []).append(curve.waits)
    return {label: np.array(waits) for label, waits in found.items()}


def write_curves(path: Path, curves: Sequence[Curve]) -> None:
    """Write curves, a line for each jobset; the file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
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
