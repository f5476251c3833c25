"""Replays and solvers that are timed within a process; a script, because it runs with the code of any checkout."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

from transom import (
    Stop,
    read_allocations,
    read_knapsacks,
    read_placements,
    read_selections,
    read_swf,
    simulate,
    solve,
)

INSTANCES = Path(__file__).resolve().parents[2] / "instances"


def work() -> Iterator[tuple[str, Callable[[], object]]]:
    """What is timed within a process."""
    trace = read_swf(INSTANCES / "workloads" / "lublin_5000.swf.gz")
    window = "window:solver=dp,seconds=none"
    for policy in ("fcfs-easy", "wfp3-easy", "fcfs-conservative", "slurm-backfill", window, "dras-pg:anywhere=yes"):
        yield policy, partial(simulate, trace, policy)
    knapsacks = [
        *islice(read_knapsacks(INSTANCES / "classes" / "pisinger_50.jsonl"), 12),
        *islice(read_knapsacks(INSTANCES / "windows" / "lublin_wait.jsonl"), 12),
    ]
    selections = list(islice(read_selections(INSTANCES / "selection" / "replay.jsonl.gz"), 12))
    placements = list(islice(read_placements(INSTANCES / "placement" / "alibaba.jsonl.gz"), 12))
    stream = list(islice(read_allocations(INSTANCES / "tjap" / "paper_stream.jsonl.gz"), 40))
    given: dict[str, list[Any]] = {
        **dict.fromkeys(("dp", "primal-dual"), knapsacks),
        "pareto-dp": selections,
        "deepjs": placements,
        "scas-dp": [each.with_rule("static") for each in stream],
        "dcas-exact": [each.with_rule("dynamic") for each in stream],
        "free-exact": [each.with_rule("free") for each in stream],
    }
    for solver, problems in given.items():
        yield solver, partial(_each, partial(solve, solver=solver, stop=Stop(seconds=30)), problems)


def _each(function: Callable[[Any], object], problems: list[Any]) -> None:
    for problem in problems:
        function(problem)


def timed() -> None:
    """Print CPU seconds of each work: the least of three times 0.2 s of work, after a call that does not count."""

    def seconds(action: Callable[[], object], times: int) -> float:
        before = process_time()
        for _ in range(times):
            action()
        return (process_time() - before) / times

    found = {}
    for name, action in work():
        seconds(action, 1)
        times = max(1, math.ceil(0.2 / max(seconds(action, 1), 1e-3)))
        found[name] = round(min(seconds(action, times) for _ in range(3)), 6)
    print(json.dumps(found))


if __name__ == "__main__":
    timed()
