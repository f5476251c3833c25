"""What predicted runtimes are worth: EASY++ against EASY, and rules by predictions against the same by walltimes.

    python -m benchmarks.predictions                    # the traces in ../shared/traces, jittered copies and all
    python -m benchmarks.predictions TRACE... --copies 1 --csv FILE

A row is a policy on a trace: mean bounded slowdown and longest wait [h], means and maxima over copies of the trace
whose submissions moved by up to a minute; the slowdown relative to the rule by walltimes; and the CPU time of that rule
over that of the policy, the best of three replays of the trace itself. "by runtimes" orders by the real runtimes, which
nobody knows: the bound on what predictions for the order can give. The constants of `shrunk` were chosen on KTH-SP2 and
HPC2N; all other traces are unseen. Last, geometric means of the relative slowdowns.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from time import process_time
from typing import NamedTuple

import numpy as np

from transom.heuristics.priority_rules import F4
from transom.models import JobTable
from transom.models.arrays import FloatArray, IntArray
from transom.models.job import WALLTIME
from transom.simulation import RulePolicy, simulate
from transom.simulation.output.metrics import summary
from transom.traces import Workload, read_swf

TRACES = Path(__file__).parents[2] / "shared" / "traces"
CHOSEN_ON = ("KTH-SP2", "HPC2N")
PAIRS = {
    "fcfs-easy": ("easy++", "easy++:predict=shrunk", "easy++:reserve=walltime"),
    "f4-easy": (
        "f4-easy:predict=recent",
        "f4-predicted-easy",
        "f4-predicted-easy:use=both",
        "f4-predicted-easy:use=both,reserve=predicted",
        "by runtimes",
    ),
}
"""Rules by walltimes, and what is compared with each."""


@dataclass(frozen=True)
class ByRuntimes:
    """F4 of the real runtimes; ``runtime`` is by the jobs' places in ``ids``, which ascend."""

    ids: IntArray
    runtime: IntArray
    timeless = True

    def __call__(self, jobs: JobTable, now: int, origin: int, /) -> FloatArray:
        data = jobs.data.copy()
        data[:, WALLTIME] = self.runtime[np.searchsorted(self.ids, jobs.id)]
        return F4()(JobTable(data, jobs.depends_on), now, origin)


class Row(NamedTuple):
    """A policy on a trace: mean bounded slowdown, longest wait [h], slowdown and speed relative to its baseline."""

    trace: str
    policy: str
    slowdown: float
    longest: float
    relative: float
    speed: float


def policy_of(spec: str, workload: Workload) -> str | RulePolicy:
    """The policy of a row."""
    if spec != "by runtimes":
        return spec
    by_id = np.argsort(workload.jobs.id)
    return RulePolicy(ByRuntimes(workload.jobs.id[by_id], workload.runtime[by_id]), "easy")


def measured(spec: str, copies: list[Workload]) -> tuple[float, float, float]:
    """Mean bounded slowdown, longest wait [h] and CPU time [s]."""
    told = [summary(simulate(each, policy_of(spec, each))) for each in copies]
    took = []
    for _ in range(3):
        begin = process_time()
        simulate(copies[0], policy_of(spec, copies[0]))
        took.append(process_time() - begin)
    slowdown = geometric_mean(each["mean_bounded_slowdown"] for each in told)
    return slowdown, max(each["max_wait"] for each in told) / 3600, min(took)


def compare(path: Path, count: int) -> list[Row]:
    """Print and return the rows of a trace."""
    trace = read_swf(path)
    copies = [trace, *(trace.jittered(60, np.random.default_rng(seed)) for seed in range(1, count))]
    rows = []
    for baseline, others in PAIRS.items():
        base = measured(baseline, copies)
        for spec in (baseline, *others):
            slowdown, longest, took = base if spec == baseline else measured(spec, copies)
            row = Row(trace.name, spec, slowdown, longest, slowdown / base[0], base[2] / took)
            print(
                f"{row.trace:<28}{spec:<46}{slowdown:>8.1f}{longest:>8.0f}{row.relative:>8.2f}{row.speed:>8.2f}",
                flush=True,
            )
            rows.append(row)
    return rows


def main() -> None:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path, default=sorted(TRACES.glob("*.swf.gz")))
    parser.add_argument("--copies", type=int, default=3, help="of each trace, the first one as it is")
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    print(f"{'trace':<28}{'policy':<46}{'slowdown':>8}{'longest':>8}{'rel.':>8}{'speed':>8}")
    rows = [row for path in arguments.traces for row in compare(path, arguments.copies)]
    for spec in dict.fromkeys(row.policy for row in rows if row.policy not in PAIRS):
        kept = [row.relative for row in rows if row.policy == spec and not row.trace.startswith(CHOSEN_ON)]
        every = [row.relative for row in rows if row.policy == spec]
        unseen = f", on unseen ones {geometric_mean(kept):.3f} ({len(kept)})" if kept else ""
        print(f"{spec}: {geometric_mean(every):.3f} on {len(every)} traces{unseen}")
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            csv.writer(file).writerows([Row._fields, *rows])


if __name__ == "__main__":
    main()
