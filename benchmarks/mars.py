"""MARS on the last 30 % of traces: ``python -m benchmarks.mars TRACE... --out DIR``.

Each trace gives its first 10,000 jobs by id. ``transom train mars`` sees the first 70 % of them. The test are ten
random sequences of 1,024 jobs of the others, each on an empty machine, under textbook events with EASY backfilling:
what ``transom protocol rlscheduler TRACE --rules textbook --backfill easy --after 7000`` replays. The table holds
mean bounded slowdowns (10 s); ``mars-0.5`` is MARS with costs of weight 0.5, ``mars-learned`` the network alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from transom.adapters.rlscheduler import RLScheduler
from transom.adapters.rlscheduler_protocol import compare, parse_entries
from transom.cli import run
from transom.learned.checkpoints import load
from transom.learned.mars.choosing import RULES

COSTS = (0.0, 0.5, 1.0)
_SHARE = 0.7


def tested(trace: Path, path: Path, rules: RLScheduler) -> dict[str, float]:
    """Mean bounded slowdowns on the test sequences, by policy."""
    specs = [*RULES, *(f"mars-{cost:g}=mars:model=[{path}],cost={cost:g}" for cost in COSTS)]
    specs.append(f"mars-learned=mars-learned:model=[{path}]")
    workload, protocol = rules.read(trace, None)
    entries = parse_entries([each if "=" in each else f"{each}={each}" for each in specs], "easy", True)
    return {line["policy"]: line["bounded_slowdown"] for line in compare(entries, workload, protocol, True)}


def main(arguments: list[str] | None = None) -> None:
    """Train on the first part of each trace, test on the other, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the trainings, which go on there")
    parser.add_argument("--first", type=int, default=10_000, help="jobs of each trace")
    parser.add_argument("--length", type=int, default=1024, help="jobs of a test sequence")
    parser.add_argument("--seed", type=int, default=1, help="of the trainings and of the test sequences")
    parser.add_argument("--train", default="--updates 40 --relative-to sjf", help="more options of transom train mars")
    asked = parser.parse_args(arguments)
    cut = round(_SHARE * asked.first)
    rules = RLScheduler(first=asked.first, after=cut, length=asked.length, seed=asked.seed)
    found: dict[str, dict[str, float]] = {}
    for trace in asked.traces:
        name = trace.name.split(".")[0]
        folder = asked.out / name
        words = ["train", "mars", str(trace), "--first", str(cut), "--seed", str(asked.seed), "--out", str(folder)]
        if status := run([*words, *asked.train.split(), "--json"]):
            raise SystemExit(status)
        card: Any = load(folder / "mars.safetensors", "mars").card
        print(json.dumps({"trace": name, **card.settings, **card.scores, "rules": card.rules}), file=sys.stderr)
        found[name] = tested(trace, folder / "mars.safetensors", rules)
    print("|".join(["", " policy ", *(f" {name} " for name in found), ""]))
    print("|---|" + "---:|" * len(found))
    for policy in next(iter(found.values())):
        print("|".join(["", f" `{policy}` ", *(f" {each[policy]:,.2f} " for each in found.values()), ""]))
    above = {name: 100 * (each["mars-0"] / min(each[rule] for rule in RULES) - 1) for name, each in found.items()}
    print(
        "|".join(["", " `mars-0` above the best heuristic [%] ", *(f" {value:+.1f} " for value in above.values()), ""])
    )


if __name__ == "__main__":
    main()
