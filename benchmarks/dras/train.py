"""Train every agent of the protocol: each variant from each seed, by ``transom train dras``."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from transom.cli.output.console import note
from transom.errors import SpecError

VARIANTS: dict[str, tuple[str, str]] = {
    "waiting": ("", "keep=no"),
    "growing": (
        "--agent ppo:outlier=25,entropy=-0.03 --decisions 800000",
        "reward=[waiting:growth=1,tau=86400,power=5],learning_rate=0.01,validate_every=4,bound=2.2",
    ),
    "dql": ("--agent dql", "batch=2048,validate_every=20,keep=no"),
    "decima": ("", "levels=1"),
    "slowdown": ("", "reward=slowdown"),
    "eq1": ("", "reward=capability"),
    "eq2": ("", "reward=capacity"),
    "untrained": ("--decisions 0", ""),
    "untrained-reselect": ("--decisions 0", "keep=no"),
}
"""Options and settings of ``transom train dras`` by the folder that the agents lie in; all else is the default."""

MONTHS = ("--months", "1-2", "--validation", "1-3")
"""Month 3 alone is too light to choose snapshots on."""


def command(trace: Path, variant: str, seed: int, out: Path, epoch: int = 0) -> list[str]:
    """Arguments of ``transom`` for one training."""
    place = out / variant / str(seed)
    options, settings = VARIANTS[variant]
    stated = ["overlap=yes", *([f"epoch={epoch}"] if epoch else []), *([settings] if settings else [])]
    words = [*MONTHS, *shlex.split(options), "--settings", ",".join(stated), "--seed", str(seed), "--out", str(place)]
    return ["train", "dras", str(trace), *words]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("trace", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder of the agents")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--dry", action="store_true", help="print the commands alone")
    parser.add_argument("--epoch", type=int, default=0, help="second 0 of the trace in Unix time: its UnixStartTime")


def run(arguments: argparse.Namespace) -> None:
    """Train what is not there yet; what was interrupted goes on.

    Raises
    ------
    SpecError : a training failed.
    """
    for variant in arguments.variants:
        for seed in range(1, arguments.seeds + 1):
            words = command(arguments.trace, variant, seed, arguments.out, arguments.epoch)
            if arguments.dry:
                print(shlex.join(["transom", *words]))
                continue
            note(shlex.join(["transom", *words]))
            done = subprocess.run([sys.executable, "-c", "from transom.cli import main; main()", *words])
            if done.returncode == 130:
                raise KeyboardInterrupt
            if done.returncode:
                raise SpecError(f"{variant}, seed {seed}: the training ended with status {done.returncode}")
