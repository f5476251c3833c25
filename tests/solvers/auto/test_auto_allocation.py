"""What ``auto`` does with allocations: it does not give up what one of its solvers can prove."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest

from transom import Stop, solve
from transom.models import Allocation, FatTree


@pytest.mark.reference
def test_a_window_that_takes_more_than_its_first_share_is_proved(shared: Path) -> None:
    with gzip.open(shared / "instances" / "nsa_code_epochs_1-5.jsonl.gz", "rt") as file:
        line = json.loads(list(file)[221])
    tree = FatTree.uniform(line["nodes"], line["leaf_nodes"], line["pod_nodes"])
    sizes = np.array([job["nodes"] for job in line["jobs"]], np.int64)
    problem = Allocation(tree, np.array(line["idle"]), sizes, "dynamic", True)
    result = solve(problem, "auto", Stop(seconds=10), clock=time.process_time)
    assert result.status == "optimal"
    assert result.value == solve(problem, "dcas-exact", Stop()).value
