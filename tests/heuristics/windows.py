"""The reference windows of the topology-aware paper, for the tests of heuristics."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from transom.models import AUTHORS, Allocation, FatTree


def windows(shared: Path, name: str, rule: str, every: int = 1) -> list[Allocation]:
    """Every so many windows of a file, wrap-around on, cost model ``authors``."""
    with gzip.open(shared / "instances" / f"{name}.jsonl.gz", "rt") as lines:
        documents = [json.loads(line) for line in lines][::every]
    return [
        Allocation(
            FatTree.uniform(window["nodes"], window["leaf_nodes"], window["pod_nodes"]),
            window["idle"],
            [job["nodes"] for job in window["jobs"]],
            rule,
            True,
            AUTHORS,
        )
        for window in documents
    ]
