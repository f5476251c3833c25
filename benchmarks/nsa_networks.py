"""Figure 5 of Lan et al. (2023): the six networks with 500 to 1,000 steps against annealing with twice as many.

    python -m benchmarks.nsa_networks --stored --figure out/figures/nsa_figure_5.png
    python -m benchmarks.nsa_networks --table out/networks.csv          # measure; goes on where it was interrupted

Rules as in ``benchmarks.nsa_tables``: as coded; cost is the mean of every third window (``--every``) of each epoch. The
networks are those of ``benchmarks.nsa_learning_curves``, trained with equal numbers of steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.nsa_epochs import (
    Method,
    Row,
    Table,
    arguments,
    brief,
    complete,
    mean_of,
    run_command,
    setting_of,
    show,
    unequal,
)
from benchmarks.nsa_tables import AS_CODED, LEARNED, improvement
from transom.cli.output.console import number
from transom.learned.checkpoints import read_card
from transom.plot import costs_by_steps, save

STEPS = (500, 600, 700, 800, 900, 1000)
NETWORKS = ("fcn-1", "fcn-2", "fcn-3", "cnn-1", "cnn-2", "cnn-3")
PLAIN = ("uniform", "first fit", "cheapest")
"""Rules beside the networks, as the cards name them."""
MODELS = Path("benchmarks/results/nsa")  # seen from the checkout, so that results name no place of one machine


def methods(models: Path, every: int) -> list[Method]:
    """Annealing with twice the steps, and every network with every number of steps."""
    found = [Method(_rival(steps), "free", f"sa:steps={2 * steps},{AS_CODED}") for steps in STEPS]
    for network in NETWORKS:
        model = models / f"{network}.safetensors"
        found += [
            Method(_title(network, steps), "free", f"nsa:steps={steps},model={model},{LEARNED}") for steps in STEPS
        ]
    return [method._replace(every=every) for method in found]


def print_table(table: Table, markdown: bool) -> None:
    """Costs, times, and how much less each network costs than annealing with twice the steps."""
    rivals = [table.of(_rival(steps)) for steps in STEPS]
    lines = [
        ["SA, twice the steps"]
        + [f"{number(_cost(rows), 0)} in {brief(mean_of(rows, lambda row: row.mean))}" for rows in rivals]
    ]
    for network in NETWORKS:
        cells = []
        for steps, rival in zip(STEPS, rivals, strict=True):
            rows = table.of(_title(network, steps))
            if not rows:
                break
            gain = improvement(rival, rows).mean()
            took = mean_of(rows, lambda row: row.mean)
            cells.append(f"{number(_cost(rows), 0)} in {brief(took)} ({gain:+.2f} %)")
        if cells:
            lines.append([network, *cells])
    show("", ["cost, ms (less than SA)", *(f"{steps:,} steps" for steps in STEPS)], lines, markdown)


def print_cards(models: Path, markdown: bool) -> None:
    """What each network had learnt, as its card says, beside plain rules: mean cost of the jobs of a repair."""
    cards = {network: read_card(models / f"{network}.safetensors") for network in NETWORKS}
    scores = cards[NETWORKS[0]].scores
    lines = [
        [network, number(card.parameters, 0), number(card.decisions, 0), number(card.seconds, 0)]
        + [number(card.scores[rule], 0) for rule in ("argmax", "sampled")]
        for network, card in cards.items()
    ]
    lines += [[rule, "-", "-", "-", "-", number(scores[rule], 0)] for rule in PLAIN]
    columns = ["first nodes", "weights", "decisions", "training [s]", "likeliest", "drawn"]
    show("" if markdown else "Mean cost of a repair on windows that were not trained on", columns, lines, markdown)


def draw(table: Table, path: Path) -> Path:
    """Figure 5."""
    lines = {
        network: [_cost(table.of(_title(network, steps))) for steps in STEPS]
        for network in NETWORKS
        if all(table.of(_title(network, steps)) for steps in STEPS)
    }
    rival = [_cost(table.of(_rival(steps))) for steps in STEPS]
    epochs = table.of(_rival(STEPS[0]))
    told = f"{len(epochs)} epochs, {sum(row.windows for row in epochs)} windows"
    return save(costs_by_steps(STEPS, lines, rival, "SA, twice the steps", told), path)


def _cost(rows: Sequence[Row]) -> float:
    """The mean of a window."""
    return sum(row.total for row in rows) / sum(row.windows for row in rows)


def _title(network: str, steps: int) -> str:
    return f"{network}: {steps}"


def _rival(steps: int) -> str:
    return f"SA: {2 * steps}"


def main(words: Sequence[str] | None = None) -> int:
    """Measure what is missing, print the table, draw the figure."""
    parser = arguments(__doc__, "networks")
    parser.add_argument("--every", type=int, default=3, help="solve each n-th window of an epoch")
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of the six checkpoints")
    parser.add_argument("--figure", type=Path, help="draw it there: .png, .pdf or .svg")
    return run_command(parser, run, words)


def run(options: argparse.Namespace) -> None:
    """Do what the command line says."""
    table = Table(options.table)
    if not options.stored:
        complete(table, setting_of(options), methods(options.models, options.every))
    if note := unequal(table):
        print(f"{note}\n")
    print_cards(options.models, options.markdown)
    print_table(table, options.markdown)
    if options.figure:
        print(f"figure: {draw(table, options.figure)}")


if __name__ == "__main__":
    raise SystemExit(main())
