"""Prove the optimum of every bundled instance by independent exact methods, and keep it in the library.

Run it from the checkout: ``python -m instances.prove``. What the library says is proved already is not proved again,
unless ``--again``; interrupted, it goes on where it was. From nothing it takes some minutes. Entries that are
not made here stay as they are.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from instances.fronts import enumerated_front, values_of
from transom import Stop, solve
from transom.bench.best_known.entering import improved, new_entries
from transom.bench.best_known.library import INDEX, Entry, Library, better, has_library, read_library, write_library
from transom.errors import UnsupportedError
from transom.io.instances import ReadOptions
from transom.models import Allocation, Selection

HERE = Path(__file__).resolve().parent
SOURCE = "instances.prove"
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
    Set("tjap/fragmented_2000.jsonl.gz", ALLOCATIONS, large=True),
    Set("csp/stream.jsonl.gz", ("csp",)),
    Set("csp/random.jsonl.gz", ("csp",)),
    Set("selection/families.jsonl.gz", ("selection",)),
    Set("selection/six.jsonl.gz", ("selection",)),
    Set("selection/terms.jsonl.gz", ("selection",)),
    Set("selection/pairs.jsonl.gz", ("selection",)),
    Set("selection/replay.jsonl.gz", ("selection",)),
    Set("selection/replay_waited.jsonl.gz", ("selection",)),
    Set("placement/small.jsonl", ("placement",)),
    Set("placement/three.jsonl", ("placement",)),
    Set("placement/alibaba.jsonl.gz", ("placement",)),
)

METHODS = {
    "knapsack": ("dp", "cpsat"),
    "scas": ("scas-dp", "scas-cpsat"),
    "dcas": ("dcas-exact",),
    "free": ("free-exact", "free-cpsat"),
    "csp": ("csp-dp", "csp-cpsat"),
    "selection": ("exhaustive:limit=60", "pareto-dp", "epsilon"),
    "placement": ("placement-exact", "cpsat", "scip"),
}
"""Exact methods by problem; ``epsilon`` takes two or three objectives."""

LARGE = {"scas": ("scas-lagrangian", "scas-flow")}
"""Where those above do not reach."""

NEEDED = {"knapsack": 2, "scas": 2, "dcas": 1, "free": 1, "csp": 2, "selection": 2, "placement": 2}
"""How many methods have to prove it; the second ones for ``dcas`` and ``free`` reach only a part."""

SECONDS = {"exhaustive": 120.0, "pareto-dp": 120.0, "epsilon": 10.0, "free-cpsat": 3.0}  # of a method; else 60
_IDLE, _JOBS = 10, 3  # what is enumerated has at most so many
_FRONT_JOBS = 14


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


def settled(entry: Entry) -> bool:
    """Whether as many methods as are needed have proved it."""
    return entry.proved and len(entry.proved_by) >= NEEDED[entry.problem]


def proved(entry: Entry, problem: Any, free: float | None, large: bool) -> Entry:
    """An entry after all methods had their turn.

    ``free`` is the optimum of the same window under the free rule, where it is proved.

    Raises
    ------
    Contradiction : two methods disagree.
    """
    methods = LARGE if large and entry.problem in LARGE else METHODS
    for spec in methods[entry.problem]:
        name = spec.partition(":")[0]
        try:
            result = solve(problem, spec, Stop(seconds=SECONDS.get(name, 60.0)))
        except UnsupportedError:
            continue
        entry = improved(entry, problem, result, SOURCE)
    by = tuple(by for by in counted(entry, problem, free) if entry.proved and by not in entry.proved_by)
    return msgspec.structs.replace(entry, proved_by=(*entry.proved_by, *by))


def counted(entry: Entry, problem: Any, free: float | None) -> Iterator[str]:
    """What proves an optimum without a solver: going through everything, or an optimum of less restricted windows.

    Raises
    ------
    SystemExit : another optimum comes out of it.
    """
    value = entry.value
    if entry.problem == "dcas" and value is not None:
        if len(problem.idle) <= _IDLE and len(problem) <= _JOBS:
            if not close(enumerated(problem), value):
                raise SystemExit(f"{entry.place}: dcas: {value} is not the optimum, {enumerated(problem)} is")
            yield "enumeration"
        if free is not None and better(value, free, "min"):
            raise SystemExit(f"{entry.place}: dcas: {value} is better than the free optimum {free}")
        if free is not None and close(value, free):
            yield "free-exact"
    if isinstance(problem, Selection) and len(problem) <= _FRONT_JOBS:
        result = entry.result()
        if result is not None and enumerated_front(problem) != values_of(result.solution):
            raise SystemExit(f"{entry.place}: the front is not that of all choices")
        yield "enumeration"


def all_entries(known: Library, each: Set, problem: str) -> list[Entry]:
    """The entries of a set and a problem, new or known."""
    of_set = (each.name, problem, each.objective)
    old = [entry for entry in known.entries if (entry.file, entry.problem, entry.objective) == of_set]
    return [*old, *new_entries(known, [HERE / each.name], ReadOptions(problem, each.objective))]


def prove(known: Library, again: bool) -> Iterator[Entry]:
    """Every entry once, proved if it is not yet."""
    for each in SETS:
        free: dict[int | None, float | None] = {}  # proved optima by line
        for problem in each.problems:
            for entry in prove_set(known, each, problem, free, again):
                if problem == "free" and entry.proved:
                    free[entry.line] = entry.value
                yield entry


def prove_set(
    known: Library, each: Set, problem: str, free: dict[int | None, float | None], again: bool
) -> Iterator[Entry]:
    """The entries of a set and a problem, those that are proved already first."""
    entries = all_entries(known, each, problem)
    yield from (entry for entry in entries if settled(entry) and not again)
    for entry, posed in known.problems(entry for entry in entries if again or not settled(entry)):
        if isinstance(posed, str):
            raise SystemExit(f"{entry.place}: {posed}; 'transom library remove' forgets it")
        made = proved(entry, posed, free.get(entry.line), each.large)
        if not settled(made):
            print(f"{made.place}: {problem} is not proved, {made.value} found", file=sys.stderr)
        yield made


def main() -> None:
    """Bring the library up to date."""
    known = read_library(HERE) if has_library(HERE) else Library(HERE, ())
    made: list[Entry] = []
    try:
        for entry in prove(known, "--again" in sys.argv[1:]):
            if made and entry.file != made[-1].file:
                write_library(known.with_entries(made))
            made.append(entry)
    except KeyboardInterrupt:
        raise SystemExit("interrupted: what was proved is kept") from None
    finally:
        write_library(known.with_entries(made))
    print(f"{HERE / INDEX}: {len(made)} entries, {sum(entry.proved for entry in made)} proved")


if __name__ == "__main__":
    main()
