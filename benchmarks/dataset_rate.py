"""How many instances a minute a data set gets: ``python -m benchmarks.dataset_rate [--workers N]``.

For each recipe a data set of one shape is made, shards, splits, compression, digests and card included, in a folder
that is removed afterwards. A first run of one instance each leaves out compilation and imports.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from transom.generate.dataset.dataset import make_dataset
from transom.generate.dataset.plan import DatasetPlan, DatasetSet, Source
from transom.generate.dataset.workers import on_this_machine
from transom.generate.recipes import recipe as made_by

WORKLOAD = {"jobs": 1000, "nodes": 256, "load": 0.95}
SHAPES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "knapsack, 50 items": ("knapsack", 5000, {"class": "all", "items": 50}),
    "knapsack, windows of 50 jobs": ("knapsack", 20, {"class": "windows", "workload": WORKLOAD}),
    "selection, 20 jobs": ("selection", 5000, {"family": "all"}),
    "selection, replayed": ("selection", 20, {"workload": WORKLOAD, "resources": "bb=[normal:load=0.9]"}),
    "tjap, stream": ("tjap", 20, {}),
    "tjap, 2,000 nodes": (
        "tjap",
        2000,
        {"family": "fragmented", "nodes": 2000, "idle": 600, "jobs": 12, "mean": 25, "longest": 64, "k": 20},
    ),
    "tjap, 20,000 nodes": ("tjap", 500, {"family": "fragmented"}),
    "csp, 120 entries": ("csp", 3000, {"length": 120, "arcs": 8, "sizes": 4}),
    "window, replayed": ("window", 20, {"workload": WORKLOAD, "resources": "bb=[normal:load=0.9]"}),
    "workload, 1,000 jobs": ("workload", 200, WORKLOAD),
}


def rate(recipe: str, number: int, parameters: dict[str, Any], workers: int) -> float:
    """Instances a minute."""
    counted = "epochs" if made_by(recipe, parameters).sequential else "count"
    for many in (1, number):
        of = DatasetSet(recipe=recipe, parameters=parameters, **{counted: many})
        plan = DatasetPlan(format="", name="", licence="", sets=(of,), shard=500)
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            made = make_dataset(Source(plan=plan, folder="."), Path(folder), partial(on_this_machine, workers))
            seconds = time.perf_counter() - begun
    return made.count / seconds * 60


def main() -> None:
    """Print a line for each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1, help="processes; their start is part of the time")
    workers = parser.parse_args().workers
    for title, (recipe, number, parameters) in SHAPES.items():
        print(f"{title:30} {rate(recipe, number, parameters, workers):12,.0f} instances a minute", flush=True)


if __name__ == "__main__":
    main()
