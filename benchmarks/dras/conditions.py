"""What must hold of the agents on the test months, read from stored rows: exit status 1 where something does not."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.dras.methods import DQL, FCFS, GROWING, SAF, SJF, WAITING
from benchmarks.dras.rows import Row, read_rows
from benchmarks.dras.tables import by_seed, estimate
from benchmarks.dras.trained import Trained, read_trained
from transom.cli.output.console import print_table

LONGEST_TRAINING = 600.0
"""Seconds of one core that a training may take."""

SEEDS, COPIES = 5, 10
"""How many seeds and jittered copies the protocol asks for."""


class Condition(NamedTuple):
    """A condition, the figure that was measured, and whether it holds; ``required`` unless it is a stretch."""

    text: str
    measured: str
    holds: bool
    required: bool = True


def conditions(rows: Sequence[Row], trained: Sequence[Trained]) -> list[Condition]:
    """The conditions for DRAS on the test months.

    A figure of a seed is the mean over the jittered copies, that of a rule as well.

    Parameters
    ----------
    rows : of the protocol.
    trained : how the agents were trained.
    """
    seconds = [each.seconds for each in trained]
    found = [
        Condition(
            f"training takes at most {LONGEST_TRAINING:.0f} s of one core",
            f"longest of {len(seconds)}: {max(seconds, default=float('nan')):.0f} s",
            bool(seconds) and max(seconds) <= LONGEST_TRAINING,
        ),
        _complete(rows),
        _below(rows, WAITING, "mean_wait", "mean wait"),
        _mean_wait_near_sjf(rows, WAITING, True),
        _below(rows, WAITING, "mean_bounded_slowdown", "bounded slowdown"),
        _slowdown_below_rules(rows, WAITING, True),
        _longest_wait(rows),
        _stretch(rows),
    ]
    if any(row.label == DQL for row in rows):
        found += [
            _below(rows, DQL, "mean_wait", "mean wait", False),
            _mean_wait_near_sjf(rows, DQL, False),
            _below(rows, DQL, "mean_bounded_slowdown", "bounded slowdown", False),
            _slowdown_below_rules(rows, DQL, False),
        ]
    return found


def _complete(rows: Sequence[Row]) -> Condition:
    copies = {row.jitter for row in rows if row.label == WAITING}
    seeds = by_seed(rows, WAITING, "mean_wait")
    whole = all(
        {row.jitter for row in rows if (row.label, row.agent) == (WAITING, seed)} == copies for seed in seeds
    )  # no seed misses a copy
    return Condition(
        f"{WAITING}: {SEEDS} seeds and {COPIES} jittered copies",
        f"{len(seeds)} seeds, {len(copies)} copies",
        len(seeds) >= SEEDS and len(copies) >= COPIES and whole,
    )


def _below(rows: Sequence[Row], label: str, figure: str, name: str, required: bool = True) -> Condition:
    base = estimate(rows, FCFS, figure).mean
    cuts = sorted(100 * (1 - each / base) for each in by_seed(rows, label, figure).values())
    return Condition(
        f"{label}: {name} at least 60 % below {FCFS} on every seed",
        " ".join(f"{cut:.1f}" for cut in cuts) + " %",
        cuts[0] >= 60,
        required,
    )


def _mean_wait_near_sjf(rows: Sequence[Row], label: str, required: bool) -> Condition:
    ratio = estimate(rows, label, "mean_wait").mean / estimate(rows, SJF, "mean_wait").mean
    text = f"{label}: mean wait at most 1.05 times {SJF}, mean over seeds"
    return Condition(text, f"{ratio:.3f}", ratio <= 1.05, required)


def _slowdown_below_rules(rows: Sequence[Row], label: str, required: bool) -> Condition:
    best = min((SJF, SAF), key=lambda rule: estimate(rows, rule, "mean_bounded_slowdown").mean)
    ratio = estimate(rows, label, "mean_bounded_slowdown").mean / estimate(rows, best, "mean_bounded_slowdown").mean
    return Condition(
        f"{label}: bounded slowdown at least 5 % below the better of {SJF} and {SAF}, mean over seeds",
        f"{100 * (1 - ratio):.1f} % below {best}",
        ratio <= 0.95,
        required,
    )


def _longest_wait(rows: Sequence[Row]) -> Condition:
    base = estimate(rows, FCFS, "max_wait").mean
    ratios = sorted(each / base for each in by_seed(rows, GROWING, "max_wait").values())
    mean = sum(ratios) / len(ratios)
    return Condition(
        f"{GROWING}: maximum wait at most 2 times {FCFS}, mean over seeds",
        f"{mean:.2f} (seeds {' '.join(f'{ratio:.2f}' for ratio in ratios)})",
        mean <= 2,
    )


def _stretch(rows: Sequence[Row]) -> Condition:
    saf = estimate(rows, SAF, "mean_wait").mean
    base = estimate(rows, FCFS, "max_wait").mean
    ratios = sorted(each / saf for each in by_seed(rows, WAITING, "mean_wait").values())
    longest = max(each / base for each in by_seed(rows, WAITING, "max_wait").values())
    return Condition(
        f"stretch: {WAITING}: mean wait below {SAF} on every seed, maximum wait at most 2 times {FCFS}",
        f"{' '.join(f'{ratio:.3f}' for ratio in ratios)}; max {longest:.2f}",
        ratios[-1] < 1 and longest <= 2,
        required=False,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--rows", type=Path, default=Path("benchmarks/results/dras/theta_2022.csv"))
    parser.add_argument("--trained", type=Path, default=Path("benchmarks/results/dras/trained.csv"))


def run(arguments: argparse.Namespace) -> int:
    """Print each condition with its figure; 1 if a required one does not hold."""
    rows, trained = read_rows(arguments.rows), read_trained(arguments.trained)
    missing = sorted({FCFS, SJF, SAF, WAITING, GROWING}.difference(row.label for row in rows))
    if missing:
        print(f"{arguments.rows}: holds no rows of {', '.join(missing)}")
        return 1
    found = conditions(rows, [each for each in trained if each.workload == rows[0].workload])
    print_table("", *condition_table(found), left=2)
    return int(any(each.required and not each.holds for each in found))


def condition_table(found: Sequence[Condition]) -> tuple[list[str], list[list[str]]]:
    """Columns and cells: each condition with its figure and verdict."""
    return ["condition", "measured", "holds"], [[each.text, each.measured, _verdict(each)] for each in found]


def _verdict(condition: Condition) -> str:
    verdict = "yes" if condition.holds else "no"
    return verdict if condition.required else f"{verdict} (not required)"
