"""Prove the optimum of every bundled instance by independent exact methods; write optima.csv, and the fronts.

Run it from the checkout: ``python -m instances.prove``. What optima.csv holds already is not proved again, unless
``--again``; interrupted, it goes on where it was. From nothing it takes some minutes.
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from instances.fronts import Fronts, proved_front
from transom import Stop, solve
from transom.bench.instances import read_instances
from transom.files import whole_file
from transom.models import Allocation, Selection
from transom.result import Result

HERE = Path(__file__).resolve().parent
ALLOCATIONS = ("scas", "free", "dcas")  # the free optimum is a bound for the dynamic one


class Set(NamedTuple):
    """A file, the problems that are made of it, for windows what a job is worth, and whether it is large."""

    name: str
    problems: tuple[str, ...] = ("knapsack",)
    objective: str | None = None
    large: bool = False


SETS = (
    Set("classes/pisinger_50.jsonl"),
    Set("windows/lublin.jsonl"),
    Set("windows/lublin_dras.jsonl"),
    Set("windows/lublin_wait.jsonl"),
    Set("windows/replay.jsonl.gz", objective="wait"),
    Set("tjap/small.jsonl", ALLOCATIONS),
    Set("tjap/paper_stream.jsonl.gz", ALLOCATIONS),
    Set("tjap/code_stream.jsonl.gz", ALLOCATIONS),
    Set("tjap/fragmented_2000.jsonl.gz", ("scas",), large=True),
    Set("csp/stream.jsonl.gz", ("csp",)),
    Set("csp/random.jsonl.gz", ("csp",)),
    Set("selection/families.jsonl.gz", ("selection",)),
    Set("selection/six.jsonl.gz", ("selection",)),
    Set("selection/terms.jsonl.gz", ("selection",)),
    Set("selection/pairs.jsonl.gz", ("selection",)),
    Set("selection/replay.jsonl.gz", ("selection",)),
    Set("selection/replay_waited.jsonl.gz", ("selection",)),
)

COLUMNS = ("file", "line", "problem", "objective", "digest", "items", "capacity", "scale", "optimum", "proved_by")
KEY = COLUMNS[:5]
Row = dict[str, str]

METHODS = {
    "knapsack": ("dp", "cpsat"),
    "scas": ("scas-dp", "scas-cpsat"),
    "dcas": ("dcas-exact",),
    "free": ("free-exact", "free-cpsat"),
    "csp": ("csp-dp", "csp-cpsat"),
}
LARGE = {**METHODS, "scas": ("scas-lagrangian", "scas-flow")}
NEEDED = {"knapsack": 2, "scas": 2, "dcas": 1, "free": 1, "csp": 2}
"""How many methods have to prove it; the second ones for ``dcas`` and ``free`` reach only a part."""

SECONDS = {"free-cpsat": 3.0}  # of a method that proves what it can; else 60
_IDLE, _JOBS = 10, 3  # what is enumerated has at most so many


def close(a: float, b: float) -> bool:
    """Whether two totals are the same but for the order in which they were summed up."""
    return math.isclose(a, b, rel_tol=1e-9)


def enumerated(problem: Allocation) -> float:
    """The dynamic optimum from the words of the rule: every order, every start."""
    best, size = math.inf, len(problem.idle)

    def place(order: tuple[int, ...], owner: list[int]) -> None:
        nonlocal best
        if not order:
            best = min(best, problem.value(owner))
            return
        left, nodes = [i for i in range(size) if owner[i] < 0], int(problem.sizes[order[0]])
        for start in range(len(left) if problem.wrap else len(left) - nodes + 1):
            placed = list(owner)
            for k in range(nodes):
                placed[left[(start + k) % len(left)]] = order[0]
            place(order[1:], placed)

    for order in itertools.permutations(range(len(problem))):
        place(order, [-1] * size)
    return best


def proofs(
    label: str, problem: Any, free: float | None, large: bool, fronts: dict[str, Result]
) -> tuple[float | None, list[str]]:
    """The optimum, None if too few methods prove it, and the methods that do; a front goes to ``fronts``.

    ``free`` is the optimum of the same window under the free rule, where it is known.
    """
    kind = problem.kind
    if isinstance(problem, Selection):
        result, by = proved_front(label, problem)
        if result is None:
            return None, by
        fronts[result.instance] = result
        return result.value, by
    methods = (LARGE if large else METHODS)[kind]
    results: list[Result] = [solve(problem, name, Stop(seconds=SECONDS.get(name, 60.0))) for name in methods]
    proved = {result.solver: result.value for result in results if result.status == "optimal"}
    values = [value for value in proved.values() if value is not None]
    by = list(proved)
    if kind == "dcas" and values:
        if len(problem.idle) <= _IDLE and len(problem) <= _JOBS:
            values.append(enumerated(problem))
            by.append("enumeration")
        if free is not None and close(values[0], free):
            by.append("free-exact")  # what is free cannot be better, and is not
    better = [r for r in results if r.value is not None and values and _beats(r.value, values[0], problem.sense)]
    if better or not all(close(values[0], value) for value in values):
        raise SystemExit(f"{label}: the methods disagree: {[(r.solver, r.status, r.value) for r in results]} {values}")
    return (values[0] if len(by) >= NEEDED[kind] else None), by


def _beats(value: float, optimum: float, sense: str) -> bool:
    return not close(value, optimum) and (value > optimum) == (sense == "max")


def capacity(problem: Any) -> int | str:
    """What items are packed into: a capacity, one for each resource, idle nodes, entries."""
    if isinstance(problem, Selection):
        return "/".join(map(str, problem.capacity.tolist()))
    if isinstance(problem, Allocation):
        return len(problem.idle)
    return int(getattr(problem, "capacity", getattr(problem, "length", 0)))


def rows(known: dict[tuple[str, ...], Row], fronts: Fronts) -> Iterator[Row]:
    """One row per instance and problem, in the order of the files and their lines."""
    for each in SETS:
        kept = fronts.of(each.name) if "selection" in each.problems else {}
        read = [list(read_instances([HERE / each.name], problem, each.objective)) for problem in each.problems]
        for same in zip(*read, strict=True):
            free: float | None = None
            for label, problem in same:
                line = label.rpartition(":")[2]
                row = dict(
                    zip(KEY, (each.name, line, problem.kind, each.objective or "", problem.digest()), strict=True)
                )
                found = known.get(tuple(row.values()))
                if found is None or (problem.kind == "selection" and row["digest"] not in kept):
                    optimum, by = proofs(label, problem, free, each.large, kept)
                    if optimum is None:
                        print(f"{label}: {problem.kind} is not proved", file=sys.stderr)
                        continue
                    facts = (len(problem), capacity(problem), getattr(problem, "scale", 1), optimum, "+".join(by))
                    found = {**row, **{name: str(fact) for name, fact in zip(COLUMNS[5:], facts, strict=True)}}
                if problem.kind == "free":
                    free = float(found["optimum"])
                yield found


def read_rows(path: Path) -> dict[tuple[str, ...], Row]:
    """The rows of optima.csv by what they are for."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {tuple(row[name] for name in KEY): row for row in csv.DictReader(file) if set(KEY) <= row.keys()}


def write_rows(path: Path, made: list[Row], known: dict[tuple[str, ...], Row]) -> None:
    """Write what is proved by now, and what was before."""
    keys = {tuple(row[name] for name in KEY) for row in made}
    with whole_file(path) as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(made + [row for key, row in known.items() if key not in keys])


def main() -> None:
    """Write optima.csv and the fronts."""
    path, fronts = HERE / "optima.csv", Fronts(HERE)
    known = {} if "--again" in sys.argv[1:] else read_rows(path)
    made: list[Row] = []
    try:
        for row in rows(known, fronts):
            if made and row["file"] != made[-1]["file"]:
                write(path, made, known, fronts)
            made.append(row)
        known = {}  # what is not made any more is not kept
    except KeyboardInterrupt:
        raise SystemExit("interrupted: what was proved is kept") from None
    finally:
        write(path, made, known, fronts)
    print(f"{path}: {len(made)} optima")


def write(path: Path, made: list[Row], known: dict[tuple[str, ...], Row], fronts: Fronts) -> None:
    """Write what is proved by now: the fronts first, without which their rows count for nothing."""
    order: dict[str, list[str]] = {}
    for row in [*made, *known.values()]:
        digests = order.setdefault(row["file"], []) if row["problem"] == "selection" else []
        if row["digest"] not in digests:
            digests.append(row["digest"])
    fronts.write(order)
    write_rows(path, made, known)


if __name__ == "__main__":
    main()
