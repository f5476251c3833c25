"""Figure 4 of MARS: ``python -m benchmarks.mars_curves TRACE [--rates 1e-4,1e-3,1e-2] [--figure FILE.png]``.

A training of MARS on the first 70 % of the first 10,000 jobs, once for each learning rate of the actor. Every five
updates the network, picking the likeliest jobs, replays the sequences of the validation, which lie in the part it
learns from, and ten sequences of the last 30 %, those of ``benchmarks.mars``. The table and the picture hold mean
bounded slowdowns (10 s). The test chooses nothing. Trainings begin anew each time and are not kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import torch

from benchmarks.mars import SHARE, print_row
from transom.adapters.rules.rlscheduler import RLScheduler
from transom.learned.mars.process import sequence_of
from transom.learned.mars.rollouts import greedy
from transom.learned.mars.settings import MarsTraining
from transom.learned.mars.training import MarsTrainer
from transom.plot.style import new_figure, policy_styles, save, styled
from transom.traces import Workload


class Curve(NamedTuple):
    """Mean bounded slowdowns after so many updates: on the part learned from, and on the test."""

    updates: list[int]
    training: list[float]
    test: list[float]


def curve(settings: MarsTraining, part: Workload, test: list[Workload]) -> Curve:
    """Train, and watch both parts."""
    watched = [sequence_of(each) for each in test]
    made = Curve([], [], [])
    with TemporaryDirectory() as folder:
        trainer = MarsTrainer(settings, part, Path(folder))
        while True:
            weights = trainer.learner.network.weights()
            made.updates.append(trainer.updates)
            made.training.append(trainer.curve[-1].validation)
            made.test.append(float(np.mean([greedy(weights, each, settings.slots, 0.0) for each in watched])))
            if trainer.done:
                return made
            while trainer.update() is None:
                pass


@styled
def draw(curves: dict[float, Curve], path: Path) -> None:
    """A line for each learning rate, once on the part learned from and once on the test."""
    figure = new_figure(2.4)
    left, right = figure.subplots(1, 2)
    styles = policy_styles([f"learning rate {rate:g}" for rate in curves])
    for (name, style), each in zip(styles.items(), curves.values(), strict=True):
        left.plot(each.updates, each.training, marker=".", label=name, **style)
        right.plot(each.updates, each.test, marker=".", **style)
    left.set(title="the first 70 %, learned from", ylabel="mean bounded slowdown")
    right.set(title="the last 30 %, the test")
    for axes in (left, right):
        axes.set_xlabel("updates")
    figure.legend(loc="outside upper right", ncols=len(curves))
    save(figure, path)


def main(arguments: list[str] | None = None) -> None:
    """Train at each learning rate, print the table and draw the picture."""
    usual = MarsTraining()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--rates", default="1e-4,1e-3,1e-2", help="learning rates of the actor")
    parser.add_argument("--figure", type=Path, help="picture of the curves")
    parser.add_argument("--first", type=int, default=10_000, help="jobs of the trace")
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--every", type=int, default=usual.validate_every, help="updates between two looks")
    parser.add_argument("--batch", type=int, default=usual.batch, help="sequences of an update")
    parser.add_argument("--length", type=int, default=usual.length, help="jobs of those")
    parser.add_argument("--watched-length", type=int, default=1024, help="jobs of the sequences that are watched")
    parser.add_argument("--relative-to", default="sjf")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    cut = round(SHARE * asked.first)
    rules = RLScheduler(first=asked.first, after=cut, length=asked.watched_length, seed=asked.seed)
    workload, _ = rules.read(asked.trace, None)
    by_id = np.argsort(workload.jobs.id)
    part = workload.take(by_id[:cut])
    test = [workload.take(by_id[start : start + rules.length]) for start in rules.starts(len(workload))]
    settings = {"validation_length": asked.watched_length, "validate_every": asked.every}
    settings |= {name: getattr(asked, name) for name in ("updates", "batch", "length", "relative_to", "seed")}
    curves = {
        rate: curve(MarsTraining(**settings, learning_rate=rate), part, test)
        for rate in map(float, asked.rates.split(","))
    }
    print_row("updates", [f"{rate:g}: {what}" for rate in curves for what in ("training", "test")])
    print("|---:|" + "---:|" * (2 * len(curves)))
    for row, updates in enumerate(next(iter(curves.values())).updates):
        print_row(
            f"{updates}", [f"{values[row]:.2f}" for each in curves.values() for values in (each.training, each.test)]
        )
    if asked.figure:
        draw(curves, asked.figure)


if __name__ == "__main__":
    main()
