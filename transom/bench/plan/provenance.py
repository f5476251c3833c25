"""The facts that every row states, however its run ended."""

from __future__ import annotations

from time import time
from typing import Any

from transom._system.source_digest import source_digest
from transom.bench.plan.machine import load, machine
from transom.bench.plan.task import Task
from transom.result import versions

COPIED = ("what", "set", "label", "instance", "problem", "name", "spec", "stop", "seed", "threads", "weights", "clock")


def provenance(task: Task) -> dict[str, Any]:
    """The facts of a :class:`~transom.bench.plan.task.Row` that do not depend on how the run goes.

    ``begun`` and ``load`` are of this moment.
    """
    copied = {name: getattr(task, name) for name in COPIED}
    return {
        **copied,
        "key": task.key(),
        "begun": time(),
        "load": load(),
        "machine": machine(),
        "versions": versions(),
        "code": source_digest(),
    }
