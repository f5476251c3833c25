"""Figures 7 and 8 and the paper's Table IV: waiting times by size of the job and by how it came to start."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.dras.methods import PAPER, agents, rules
from benchmarks.dras.rows import add_workload, workload_of
from transom import simulate
from transom.cli.output.console import number, print_table, progress
from transom.plot import save, wait_by_mode, wait_by_size
from transom.simulation import Schedule
from transom.simulation.output.breakdowns import by_size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    add_workload(parser)
    parser.add_argument("--agents", type=Path, required=True, help="folder with VARIANT/SEED/*.safetensors")
    parser.add_argument("--seed", type=int, default=1, help="of the agents that are shown")
    parser.add_argument("--out", type=Path, default=Path("out/dras"), help="folder of the figures")


def run(arguments: argparse.Namespace) -> None:
    """Replay the methods of the paper once, without jitter, and draw."""
    workload = workload_of(arguments)
    chosen = [method for method in (*rules(), *agents(arguments.agents)) if method.agent in (None, arguments.seed)]
    by_label = {method.label: method for method in chosen}
    shown: list[Schedule] = []
    with progress() as bars:
        for label in bars.track([each for each in PAPER if each in by_label], description="replays"):
            shown.append(simulate(workload, by_label[label].spec, label=label))
    sizes = [by_size(schedule) for schedule in shown]
    classes = [name for name in sizes[0] if sizes[0][name].jobs]
    for what, unit in (("mean_wait", "mean wait [h]"), ("max_wait", "longest wait [h]")):
        cells = [
            [schedule.policy, *(number(getattr(size[name], what) / 3600, 1) for name in classes)]
            for schedule, size in zip(shown, sizes, strict=True)
        ]
        print_table(f"{workload.name}: {unit} by nodes of the job", ["method", *classes], cells)
    print(f"figure: {save(wait_by_size(shown), arguments.out / 'wait_by_size.png')}")
    print(f"figure: {save(wait_by_mode(shown), arguments.out / 'wait_by_mode.png')}")
