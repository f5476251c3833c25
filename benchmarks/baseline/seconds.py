"""CPU seconds of commands, and of replays and solvers within a process."""

from __future__ import annotations

import gzip
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.baseline.checkout import LUBLIN, ROOT, Checkout

COMMANDS = {
    "simulate, fcfs-easy": "simulate {lublin} --policy fcfs-easy",
    "the quickstart's first": "simulate {lublin} --policy fcfs-easy --policy fcfs-conservative --policy saf-easy "
    "--out {temporary}/first --force",
    "solve scas by auto": "solve {tjap} --problem scas",
    "solve scas by scas-dp": "solve {tjap} --problem scas --solver scas-dp",
    "solve free by auto": "solve {tjap} --problem free",
    "solve knapsack by auto": "solve {windows}",
    "solve knapsack by dp": "solve {windows} --solver dp --out {temporary}/result.jsonl",
    "check a knapsack": "check {windows} {temporary}/result.jsonl",
    "solve selection by auto": "solve {selection}",
    "solve csp by csp-dp": "solve {csp} --solver csp-dp",
    "solvers": "solvers",
    "--help": "--help",
}
COLD = ("simulate, fcfs-easy", "the quickstart's first", "solve scas by auto")
INSTANCES = {
    "tjap": "tjap/small.jsonl",
    "windows": "windows/lublin.jsonl",
    "selection": "selection/replay.jsonl.gz",
    "csp": "csp/random.jsonl.gz",
}
ROUNDS = 3


def seconds_of_commands(checkouts: list[Checkout]) -> list[dict[str, float]]:
    """CPU seconds of each command in each checkout, in turn: the least of some runs, after one that does not count."""
    found: list[dict[str, float]] = [{} for _ in checkouts]
    with tempfile.TemporaryDirectory() as temporary:
        places = {"lublin": str(LUBLIN), "temporary": temporary}
        for name, path in INSTANCES.items():  # the first instance alone
            places[name] = f"{temporary}/{name}.jsonl"
            data = (ROOT / "instances" / path).read_bytes()
            text = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
            Path(places[name]).write_text(text.partition("\n")[0] + "\n")
        for name, command in COMMANDS.items():
            words = ["-m", "transom", *command.format(**places).split()]
            for each in range(ROUNDS + 1):
                for checkout, seconds in zip(checkouts, found, strict=True):
                    taken, _ = checkout.run(*words)
                    if each:
                        seconds[name] = round(min(taken, seconds.get(name, math.inf)), 3)
            if name in COLD:
                for checkout, seconds in zip(checkouts, found, strict=True):
                    with tempfile.TemporaryDirectory() as empty:
                        seconds[f"{name}, no kernels"] = round(checkout.run(*words, XDG_CACHE_HOME=empty)[0], 2)
    return found


def speeds(checkouts: list[Checkout]) -> list[dict[str, float]]:
    """CPU seconds of each work in each checkout, in turn."""
    found: list[dict[str, float]] = [{} for _ in checkouts]
    for _ in range(ROUNDS):
        for checkout, seconds in zip(checkouts, found, strict=True):
            _, done = checkout.run(str(Path(__file__).with_name("works.py")))
            for name, taken in json.loads(done.stdout).items():
                seconds[name] = min(taken, seconds.get(name, math.inf))
    return found


def compare_seconds(
    stored: dict[str, float],
    checkout: Checkout,
    against: Checkout | None,
    measure: Callable[[list[Checkout]], list[dict[str, float]]],
) -> int:
    """Print ratios, and their geometric mean; they count where both sides ran in turn."""
    then, now = measure([against, checkout]) if against else (stored, *measure([checkout]))
    ratios = {name: now[name] / then[name] for name in now if then.get(name)}
    for name, ratio in ratios.items():
        mark = "  slower by more than 25 %" if against and ratio > 1.25 else ""
        print(f"{name:36}{then[name]:>10.3f} s{now[name]:>10.3f} s{ratio:>8.2f}{mark}")
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    print(f"geometric mean {mean:.3f}" + ("" if against else "; for information: not of one moment (--against)"))
    return int(mean > 1.1) + sum(ratio > 1.25 for ratio in ratios.values()) if against else 0
