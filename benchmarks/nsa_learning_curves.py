"""Figure 4 of Lan et al. (2023), measured here: how the six networks of Table II learn to repair, at equal decisions.

    python -m benchmarks.nsa_learning_curves --out out/nsa [--decisions 400000] [--seed 0] [--networks cnn-3 fcn-1]
    python -m benchmarks.nsa_learning_curves --from benchmarks/results/nsa_learning_curves.csv

Each network trains in a folder of its own below `--out`, as `transom train nsa` does; what is finished there is read,
and what was interrupted goes on. Written are the checkpoints (`OUT/NETWORK.safetensors`), all curves as one table
(`--csv`), the figure (`--figure`), smoothed by moving averages as the paper's, and, on standard output, what each
network reaches on windows that were not trained on, beside plain rules. The reward of an episode is minus the cost of
the jobs that it repairs; entropies are in per cent of the uniform policy's. `results/nsa/` and
`results/nsa_learning_curves.csv` beside this file are from this command.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from transom._system.files import atomic_write
from transom.cli.output.console import number, print_table, progress
from transom.errors import TransomError
from transom.learned.repair.networks import NETWORKS
from transom.plot import save
from transom.plot.style import new_figure, policy_styles, styled, thousands

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from transom.learned.checkpoints import Card
    from transom.learned.repair.training import Update

_COLUMNS = ("network", "decisions", "cost", "share")

Curves = Mapping[str, np.ndarray]
"""By network: decisions, mean cost of an episode, share of the largest entropy; shape ``(updates, 3)``."""


def trained(network: str, decisions: int, seed: int, out: Path) -> tuple[np.ndarray, Card]:
    """Train a network in ``out/NETWORK``, or read what is finished there: its curve, and the card of its checkpoint."""
    from transom.learned.repair.evaluation import evaluate_and_save
    from transom.learned.repair.training import RepairTrainer
    from transom.learned.repair.training_settings import Training
    from transom.learned.training.trainer import train

    trainer = RepairTrainer(Training(network=network, decisions=decisions, seed=seed), out / network)
    with progress() as bars:
        task = bars.add_task(network, total=decisions, completed=trainer.decisions)

        def print_row(row: Update) -> None:
            bars.update(task, completed=min(row.decisions, decisions))

        train(trainer, report=print_row)
    card = evaluate_and_save(trainer, network, out)[0].card
    return np.array([(row.decisions, row.cost, row.share) for row in trainer.curve]), card


def moving_average(values: np.ndarray, width: int) -> np.ndarray:
    """Means of the last ``width`` values, of all where there are fewer."""
    sums = np.concatenate(([0.0], values.cumsum()))
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - width, 0)
    return (sums[ends] - sums[begins]) / (ends - begins)


@styled
def figure(curves: Curves, width: int) -> Figure:
    """The curves, and the entropies below."""
    drawn = new_figure(4.0)
    above, below = drawn.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for network, style in policy_styles(list(curves)).items():
        decisions, cost, share = curves[network].T
        above.plot(decisions, -moving_average(cost, width) / 1000, label=network, **style)
        below.plot(decisions, 100 * moving_average(share, width), **style)
    above.set_ylabel("reward of an episode [1000]")
    above.legend(ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1))
    below.set_ylabel("entropy [%]")
    below.set_ylim(0, 105)
    below.set_xlabel("decisions")
    for axes in (above, below):
        axes.grid(axis="y")
    thousands(below.xaxis)
    return drawn


def read_curves(path: Path) -> dict[str, np.ndarray]:
    """What :func:`write_curves` wrote."""
    curves: dict[str, list[list[float]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            curves.setdefault(row["network"], []).append([float(row[name]) for name in _COLUMNS[1:]])
    return {network: np.array(rows) for network, rows in curves.items()}


def write_curves(path: Path, curves: Curves) -> None:
    """All curves as one table."""
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for network, rows in curves.items():
            writer.writerows([network, int(decisions), round(cost), round(share, 4)] for decisions, cost, share in rows)


def print_cards(decisions: int, cards: Mapping[str, Card]) -> None:
    """What each network reached, beside plain rules on the same windows."""
    rules = list(next(iter(cards.values())).scores)
    rows = [
        (name, f"{card.parameters:,}", number(card.seconds, 0), *(number(card.scores[rule], 0) for rule in rules))
        for name, card in cards.items()
    ]
    print(f"mean cost of the repaired jobs after {decisions:,} decisions, windows that were not trained on:")
    print_table("", ("network", "weights", "seconds", *rules), rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, and print and draw what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/nsa"))
    parser.add_argument("--decisions", type=int, default=400_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--from", type=Path, dest="curves", help="draw these curves, train nothing")
    parser.add_argument("--csv", type=Path, help="by default OUT/learning_curves.csv")
    parser.add_argument("--figure", type=Path, help="by default OUT/learning_curves.png")
    parser.add_argument("--smooth", type=int, default=10, help="updates of a moving average")
    given = parser.parse_args(arguments)
    if given.curves is not None:
        curves = read_curves(given.curves)
    else:
        curves, cards = {}, {}
        for network in given.networks:
            curves[network], cards[network] = trained(network, given.decisions, given.seed, given.out)
        write_curves(given.csv or given.out / "learning_curves.csv", curves)
        print_cards(given.decisions, cards)
    print(f"figure: {save(figure(curves, given.smooth), given.figure or given.out / 'learning_curves.png')}")
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except TransomError as error:
        raise SystemExit(f"error: {error}") from None
