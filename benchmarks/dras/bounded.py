"""Agents beside a rule and the tuned policy, with and without a bound on waiting, on months that none has seen.

Each trace is split as `python -m benchmarks.tune` splits it. The bound is the longest wait under fcfs-easy on the first
part, where the tuned policy is chosen as well (seed 0); all are judged on the rest. A cell is the mean bounded slowdown
and the longest wait [h]. The folder of --kernel is made by, for each trace,

    transom train kernel TRACE.swf.gz --backfill easy --generations 40 --seed 1 --out FOLDER/TRACE
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.tune import TEST, TRACES, terms
from transom import simulate
from transom.simulation import policy_names
from transom.simulation.output.metrics import summary
from transom.simulation.output.verification import check_schedule
from transom.simulation.runs import stand
from transom.traces import Workload, read_swf
from transom.tune import choose, split
from transom.tune.tuning import TODAY

OWN = "theta_2022"
"""The trace whose first months the shipped agents were trained on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("trace", nargs="*", choices=[[], *TEST], help="by default all of benchmarks.tune")
    parser.add_argument("--evaluations", type=int, default=2500, help="replays of each search")
    parser.add_argument("--out", type=Path, default=Path("out/bounded"), help="folder that keeps the searches")
    parser.add_argument("--kernel", type=Path, help="folder with TRACE/kernel.safetensors")


def run(arguments: argparse.Namespace) -> None:
    """Print a table of comma-separated values: a line a policy, a column a trace."""
    names, lines = arguments.trace or list(TEST), {}
    for name in names:
        parts = split(read_swf(TRACES / f"{name}.swf.gz"), TEST[name])
        bound = int(simulate(parts.tuning, TODAY).wait.max())
        journal = arguments.out / f"{name}.evaluations.jsonl"
        journal.parent.mkdir(parents=True, exist_ok=True)
        tuned = choose(parts.tuning, terms(arguments.evaluations, 0, "default"), journal).policy
        print(f"{name}: bound {bound / 3600:.0f} h, tuned {tuned}", file=sys.stderr, flush=True)
        kernel = None if arguments.kernel is None else arguments.kernel / name / "kernel.safetensors"
        for label, spec in policies(name, bound, tuned, kernel):
            lines.setdefault(label, {})[name] = judged(parts.test, spec)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["policy", *names])
    table.writerows([label, *(cells.get(name, "") for name in names)] for label, cells in lines.items())


def policies(trace: str, bound: int, tuned: str, kernel: Path | None) -> Iterator[tuple[str, str]]:
    """What is compared, by label."""
    specs = {name: name for name in ("fcfs-easy", "sjf-easy", "f4-easy", "saf-easy", "mars")}
    specs |= {name: f"{name}:anywhere={'no' if trace == OWN else 'yes'}" for name in ("dras-pg", "dras-dql")}
    if kernel is not None:
        specs["kernel"] = f"kernel:model=[{kernel}],backfill=easy"
    for name, spec in specs.items():
        yield f"`{name}`", spec
        if name not in ("fcfs-easy", "sjf-easy", "f4-easy"):
            yield f"`{name}`, bounded", f"{spec}{',' if ':' in spec else ':'}max_wait={bound}"
    yield "tuned", tuned
    if "bounded-easy" in policy_names():
        yield "`bounded-easy`", "bounded-easy"


def judged(workload: Workload, spec: str) -> str:
    """Replay, verify, and give both figures."""
    schedule = simulate(workload, spec)
    stand(check_schedule(workload, schedule))
    figures = summary(schedule)
    return f"{figures['mean_bounded_slowdown']:,.1f} / {figures['max_wait'] / 3600:,.0f}"
