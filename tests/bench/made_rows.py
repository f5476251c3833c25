"""Rows of a store, made by hand."""

from __future__ import annotations

from typing import Any

from transom.bench.plan.task import Row, Task
from transom.stop import Stop


def row(name: str, instance: str = "i", **facts: Any) -> Row:
    """A run of a solver under a budget of 1 s, by default one that came to its end without a solution.

    A value makes it ``feasible``; the key is that of the task.
    """
    base: dict[str, Any] = {
        "set": "made", "label": f"{instance}.json", "instance": instance, "problem": "knapsack", "spec": name,
        "stop": Stop(seconds=1.0), "seed": 0, "threads": 1, "what": "solve",
    }  # fmt: skip
    run = {"sense": "max", "size": 3, "outcome": "ok", "seconds": 0.5, "wall": 0.5, "reason": "finished"}
    merged = {**base, **run, **facts}
    if merged.get("value") is not None:
        merged.setdefault("status", "feasible")
    task = Task(name=name, document=b"null", **{each: merged[each] for each in base})
    return Row(name=name, **{"key": task.key(), **merged})


def curve(*points: tuple[float, float | None, float | None]) -> dict[str, Any]:
    """The curve of a run with the value and bound that it ends with."""
    return {"curve": points, "value": points[-1][1], "bound": points[-1][2]}
