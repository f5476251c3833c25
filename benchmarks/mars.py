"""MARS on the last 30 % of traces: ``python -m benchmarks.mars TRACE... --out DIR [--more-seeds 2,3]``.

Each trace gives its first 10,000 jobs by id. ``transom train mars`` sees the first 70 % of them. The test are ten
random sequences of 1,024 jobs of the others, each on an empty machine, under textbook events with EASY backfilling:
what ``transom protocol rlscheduler TRACE --rules textbook --backfill easy --after 7000`` replays. The table holds
mean bounded slowdowns (10 s); ``mars-0.5`` is MARS with costs of weight 0.5, ``mars-learned`` the network alone.
Further seeds of the training are tested on the same sequences; a second table holds MARS by seed, and their median.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from transom.adapters.rules.rlscheduler import RLScheduler
from transom.adapters.rules.rlscheduler_protocol import compare, parse_entries
from transom.cli import run
from transom.learned.checkpoints import load
from transom.learned.mars.choosing import RULES
from transom.traces import Workload

COSTS = (0.0, 0.5, 1.0)
SHARE = 0.7


def tested(specs: Iterable[str], workload: Workload, protocol: RLScheduler) -> dict[str, float]:
    """Mean bounded slowdowns on the test sequences, by label of the policy."""
    entries = parse_entries([each if "=" in each else f"{each}={each}" for each in specs], "easy", True)
    return {line["policy"]: line["bounded_slowdown"] for line in compare(entries, workload, protocol, True)}


def trained(sources: list[str], folder: Path, options: list[str]) -> Path:
    """Train MARS in a folder, say what came of it on the standard error, and give the checkpoint."""
    if status := run(["train", "mars", *sources, *options, "--out", str(folder), "--json"]):
        raise SystemExit(status)
    path = folder / "mars.safetensors"
    card: Any = load(path, "mars").card
    facts = {"training": str(folder), **card.settings, **card.scores, "rules": card.rules, "seconds": card.seconds}
    print(json.dumps(facts), file=sys.stderr)
    return path


def print_row(name: str, cells: Iterable[str]) -> None:
    """Print a row of a table."""
    print("|".join(["", f" {name} ", *(f" {cell} " for cell in cells), ""]), flush=True)


def print_by_seed(seeds: list[int], found: dict[str, dict[str, float]], more: dict[str, list[float]]) -> None:
    """Print MARS of every seed, the median, and how far that is above the best heuristic."""
    print_row("trace", ["best heuristic", *(f"seed {seed}" for seed in seeds), "median", "above the best [%]"])
    print("|---|---|" + "---:|" * (len(seeds) + 2))
    for name, each in found.items():
        best = min(RULES, key=each.__getitem__)
        values = [each["mars-0"], *more[name]]
        above = 100 * (median(values) / each[best] - 1)
        cells = [*(f"{value:,.2f}" for value in (*values, median(values))), f"{above:+.1f}"]
        print_row(name, [f"`{best}`, {each[best]:,.2f}", *cells])


def main(arguments: list[str] | None = None) -> None:
    """Train on the first part of each trace, test on the other, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the trainings, which go on there")
    parser.add_argument("--first", type=int, default=10_000, help="jobs of each trace")
    parser.add_argument("--length", type=int, default=1024, help="jobs of a test sequence")
    parser.add_argument("--seed", type=int, default=1, help="of the trainings and of the test sequences")
    parser.add_argument("--more-seeds", default="", help="of further trainings, with commas between")
    parser.add_argument("--train", default="--updates 40 --relative-to sjf", help="more options of transom train mars")
    asked = parser.parse_args(arguments)
    cut = round(SHARE * asked.first)
    rules = RLScheduler(first=asked.first, after=cut, length=asked.length, seed=asked.seed)
    seeds = [int(each) for each in asked.more_seeds.split(",") if each]
    found: dict[str, dict[str, float]] = {}
    more: dict[str, list[float]] = {}
    for trace in asked.traces:
        name = trace.name.split(".")[0]
        options = ["--first", str(cut), *asked.train.split()]
        workload, protocol = rules.read(trace, None)
        path = trained([str(trace)], asked.out / name, [*options, "--seed", str(asked.seed)])
        makers = [f"mars-{cost:g}=mars:model=[{path}],cost={cost:g}" for cost in COSTS]
        specs = [*RULES, *makers, f"mars-learned=mars-learned:model=[{path}]"]
        found[name] = tested(specs, workload, protocol)
        more[name] = []
        for seed in seeds:
            other = trained([str(trace)], asked.out / f"{name}-seed-{seed}", [*options, "--seed", str(seed)])
            more[name].append(tested([f"mars=mars:model=[{other}]"], workload, protocol)["mars"])
    print_row("policy", found)
    print("|---|" + "---:|" * len(found))
    for policy in next(iter(found.values())):
        print_row(f"`{policy}`", [f"{each[policy]:,.2f}" for each in found.values()])
    above = [100 * (each["mars-0"] / min(each[rule] for rule in RULES) - 1) for each in found.values()]
    print_row("`mars-0` above the best heuristic [%]", [f"{value:+.1f}" for value in above])
    if seeds:
        print()
        print_by_seed([asked.seed, *seeds], found, more)


if __name__ == "__main__":
    main()
