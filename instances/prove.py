"""Prove the optimum of every bundled instance with two independent exact solvers; write optima.csv.

Run it from the checkout: ``python instances/prove.py``. It takes about half a minute.
"""

from __future__ import annotations

import csv
from pathlib import Path

from transom import Stop, solve
from transom.cli.instances import read_instances
from transom.files import whole_file

HERE = Path(__file__).resolve().parent
OBJECTIVES = {
    "classes/pisinger_50.jsonl": None,
    "windows/lublin.jsonl": None,
    "windows/lublin_dras.jsonl": None,
    "windows/lublin_wait.jsonl": None,
    "windows/replay.jsonl.gz": "wait",
}
"""The files, and for windows what a job is worth; knapsacks state their values."""

COLUMNS = ("file", "line", "objective", "digest", "items", "capacity", "scale", "optimum", "proved_by")
SOLVERS = ("dp", "cpsat")


def prove() -> list[dict[str, object]]:
    """One row per instance, in the order of the files and their lines."""
    rows: list[dict[str, object]] = []
    for name, objective in OBJECTIVES.items():
        for label, problem in read_instances([HERE / name], objective=objective):
            results = [solve(problem, solver, Stop(seconds=60)) for solver in SOLVERS]
            values = {result.value for result in results}
            if len(values) != 1 or any(result.status != "optimal" for result in results):
                raise SystemExit(f"{label}: not proved: {[(r.solver, r.status, r.value) for r in results]}")
            rows.append(
                {
                    "file": name,
                    "line": int(label.rpartition(":")[2]),
                    "objective": objective or "",
                    "digest": problem.digest(),
                    "items": len(problem),
                    "capacity": problem.capacity,
                    "scale": problem.scale,
                    "optimum": values.pop(),
                    "proved_by": "+".join(SOLVERS),
                }
            )
    return rows


def main() -> None:
    """Write optima.csv."""
    rows = prove()
    with whole_file(HERE / "optima.csv") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{HERE / 'optima.csv'}: {len(rows)} optima")


if __name__ == "__main__":
    main()
