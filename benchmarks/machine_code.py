"""What it costs in speed to build functions ahead of time, for any processor or for this one.

    python -m benchmarks.machine_code --folder out/machine_code     # keeps what it builds there, which takes minutes

The same work runs in three kinds of processes in turn: compiled in memory for this processor, built ahead of time for
this processor, and built for any, as in a wheel. CPU time, the least of `--rounds`; ratios to the first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np

from transom import Stop, read_swf, simulate, solve
from transom.cli.output.console import number, print_table
from transom.generate.instances.knapsacks import generate_knapsack
from transom.generate.instances.selections import family_selection
from transom.generate.recipes import recipe

TRACE = Path(__file__).parents[1] / "instances" / "workloads" / "lublin_5000.swf.gz"
WAYS = ("in memory", "native", "baseline")


def main() -> None:
    """Print a row for each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for what is built")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps({name: _seconds(run) for name, run in work()}))
        return
    for way in WAYS:
        (arguments.folder / way).mkdir(parents=True, exist_ok=True)
        if way != "in memory" and not list((arguments.folder / way).rglob("index.json")):
            _run(arguments.folder / way, "transom", "compile", "--processor", way)
    found: dict[str, dict[str, float]] = {way: {} for way in WAYS}
    for each in range(arguments.rounds + 1):  # the first one compiles
        for way in WAYS:
            said = _run(arguments.folder / way, "benchmarks.machine_code", "--folder", "x", "--work")
            for name, seconds in json.loads(said).items():
                if each:
                    found[way][name] = min(seconds, found[way].get(name, seconds))
    rows = [
        [name, number(1e3 * seconds, 2), *(number(found[way][name] / seconds, 3) for way in WAYS[1:])]
        for name, seconds in found[WAYS[0]].items()
    ]
    print_table("", ["work", "in memory [ms]", "native, ratio", "baseline, ratio"], rows)


def work() -> Iterator[tuple[str, Callable[[], object]]]:
    """What runs, by name."""
    trace = read_swf(TRACE)
    for policy in ("fcfs-easy", "saf-easy", "fcfs-conservative", "window:solver=dp"):
        yield policy, lambda policy=policy: simulate(trace, policy)
    rng = np.random.default_rng(1)
    knapsacks = [generate_knapsack(name, 200, 1000, rng) for name in ("uncorrelated", "circle", "subset-sum")]
    selections = [family_selection(name, rng, 16, 3, 100, 0.4) for name in ("uniform", "correlated")]
    windows = (each for seed in range(20) for each in recipe("tjap", {"periods": 60}).make(seed, 1))
    stream = list(islice((each for each in windows if len(each.sizes) > 1), 12))
    for name, problems, rule in (
        ("dp", knapsacks, None),
        ("primal-dual", knapsacks, None),
        ("sa", knapsacks, None),
        ("pareto-dp", selections, None),
        ("scas-dp", stream, "static"),
        ("sa", stream, "static"),
        ("dcas-exact", stream, "dynamic"),
        ("free-exact", stream, "free"),
    ):
        given = [each.with_rule(rule) if rule else each for each in problems]
        stop = Stop(iterations=20_000) if name == "sa" else Stop(seconds=30)
        yield (
            f"{name}, {given[0].kind}",
            lambda name=name, given=given, stop=stop: [solve(each, name, stop) for each in given],
        )


def _seconds(run: Callable[[], object]) -> float:
    run()
    least = float("inf")
    for _ in range(3):
        before = process_time()
        run()
        least = min(least, process_time() - before)
    return least


def _run(cache: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        env={**os.environ, "XDG_CACHE_HOME": str(cache.absolute())},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    main()
