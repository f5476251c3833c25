"""What F1 to F4 come to on each clock: sequences of RLScheduler's protocol under textbook events.

python -m benchmarks.clocks lublin_256.swf.gz
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from transom import simulate
from transom.adapters.locked_reading import read_locked
from transom.adapters.rlscheduler import RLScheduler
from transom.cli.output.console import number, print_table
from transom.simulation.output.metrics import summary

RULES = ("f1", "f2", "f3", "f4", "f1-easy", "f2-easy", "f3-easy", "f4-easy")


def main() -> None:
    """Replay every sequence under every rule on both clocks, and print the means over the sequences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--seed", type=int, default=1, help="of the protocol: which sequences")
    arguments = parser.parse_args()
    workload = read_locked(arguments.trace, None).workload
    protocol = RLScheduler(seed=arguments.seed)
    by_id = np.argsort(workload.jobs.id)
    parts = [workload.take(by_id[start : start + protocol.length]) for start in protocol.starts(len(workload))]
    cells = []
    for clock in ("trace", "sequence"):
        figures = [
            [summary(simulate(part, f"{rule}:clock={clock}"))["mean_bounded_slowdown"] for part in parts]
            for rule in RULES
        ]
        cells.append([clock, *(number(float(np.mean(each)), 1) for each in figures)])
    title = f"{workload.name}: mean bounded slowdown, {len(parts)} sequences of {protocol.length} jobs, textbook events"
    print_table(title, ["clock", *RULES], cells)


if __name__ == "__main__":
    main()
